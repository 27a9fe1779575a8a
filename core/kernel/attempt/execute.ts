/** Runs the handler once, under its timeout and context. */

import { door } from '../../base/lazy.ts';
import { currentContext, withContext } from '../app/context.ts';
import { type Isolation, insideIsolate } from '../app/isolation.ts';
import type { HandlerContext } from '../app/job.ts';
import { attemptFacts } from './announce.ts';
import type { OwnContext } from './around-handler.ts';
import { type Admitted, type Maybe, stepsOf, type Verdict } from './attempt.ts';
import { contextOf } from './context.ts';
import { type Output, outputOf } from './output.ts';
import { abortReason, type Run } from './run.ts';
import { afterFailure, mayBegin, rejected, release } from './verdict.ts';

const around = door(() => import('./around-handler.ts'));

/** Never throws or rejects. Returns when the handler ends or the run is ended from outside, whichever comes first. */
export function execute(it: Admitted): Maybe<Verdict> {
  const { app, run, job } = it;
  if (run.cause) return afterEnd(it, abortReason(run.cause));
  try {
    const ctx = contextOf(it);
    const isolation = insideIsolate() ? null : job.isolation;
    run.began = !isolation; // an isolate reports its own begin
    const returned =
      app.middleware.attempt.length > 0 || job.use.length > 0
        ? inMiddleware(it, isolation, ctx)
        : isolation
          ? inIsolate(it, isolation, ctx)
          : runInContext(it, ctx);
    if (!isThenable(returned)) return acked(it, outputOf(returned));
    // Not an async function, which would take 50 % more memory per job.
    return untilEnded(it, returned).then(
      (value) => {
        letGo(run);
        return acked(it, isolation ? (value as Output) : outputOf(value));
      },
      (error) => {
        letGo(run);
        return thrown(it, error);
      },
    );
  } catch (error) {
    return thrown(it, error);
  }
}

function acked(it: Admitted, { text, problem }: Output): Verdict {
  // The handler has caught the error that parked it.
  if (it.run.steps?.parked) return afterEnd(it, it.run.steps.parked.error);
  if (problem === null) return { verb: 'ack', outcome: 'acked', output: text };
  const message = `The job succeeded, but its output is not kept: ${problem}.`;
  it.app.events.emit({ type: 'job.warning', ...attemptFacts(it), message });
  return { verb: 'ack', outcome: 'acked', output: null, problem };
}

/** In a verdict `null` means "no error", so a thrown `null` or `undefined` becomes an error. */
function thrown(it: Admitted, error: unknown): Verdict {
  return afterEnd(it, error ?? new Error(`The handler threw ${String(error)}.`));
}

/** The verdict on a run that failed or was ended from outside. */
function afterEnd(it: Admitted, error: unknown): Verdict {
  switch (it.run.cause) {
    case 'lease-lost':
      return { verb: 'nothing', outcome: 'requeued', error };
    case 'cancelled':
      return rejected('cancelled', error);
    case 'shutdown':
      return release(0, error);
    default:
      return goingOn(it, error) ?? afterFailure(it, error);
  }
}

/** The verdict on a job that continues after its last finished step; `null` = it has failed. */
function goingOn({ run }: Admitted, error: unknown): Verdict | null {
  const { steps, cause } = run;
  // A parked handler goes on later, even if it has caught the error and thrown another one.
  if (steps?.parked) return steps.parked.end();
  // The attempt timed out, but got further than the previous one.
  return steps !== null && steps.done > 0 && cause === 'timeout' ? release(1, error) : null;
}

/** A separate function, so that other jobs need no closure. Continues in a later turn, when `execute` can already end the run. */
async function inMiddleware(it: Admitted, isolation: Isolation | null, ctx: OwnContext): Promise<unknown> {
  const { aroundHandler } = await around((code) => code);
  return aroundHandler(it, ctx, isolation !== null, () =>
    isolation ? inIsolate(it, isolation, ctx) : it.job.run(it.payload, ctx),
  );
}

async function inIsolate(it: Admitted, isolation: Isolation, ctx: HandlerContext): Promise<Output> {
  // The payload before the schema, because a schema's output may not be cloneable.
  return stepsOf(it.app).isolate(it.app, it.job, isolation, it.envelope.payload, ctx, {
    begin: () => mayBegin(it),
    used(bytes) {
      it.run.memoryBytes = bytes;
    },
  });
}

/** Most jobs have no context, and skip the async storage. */
function runInContext({ job, envelope, payload }: Admitted, ctx: HandlerContext): unknown {
  if (envelope.context == null && currentContext() === undefined) return job.run(payload, ctx);
  return withContext(ctx.context, () => job.run(payload, ctx));
}

/** Settles like `returned`, or rejects when the run is ended. */
function untilEnded<T>(it: Admitted, returned: PromiseLike<T>): Promise<T> {
  const { run } = it;
  return new Promise((resolve, reject) => {
    // `reject` itself, without a closure: with a closure all objects of an attempt outlived the young generation (50 of 190 MB over
    // 20,000 jobs instead of 4), and the garbage collector took as much time as the job.
    run.onEnd = reject;
    if (run.ended) reject(abortReason(run.cause!)); // ended by the handler itself, before its first wait
    returned.then(resolve, reject);
    endInTime(it);
  });
}

function letGo(run: Run): void {
  run.onEnd = null;
  run.stopTimer?.();
  run.steps?.end();
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return value instanceof Promise || typeof (value as PromiseLike<unknown> | null)?.then === 'function';
}

/**
 * The timeouts of attempts. A timer costs as much as the rest of a short attempt, and keeps its objects alive. So it is made only at
 * the end of the turn in which the handler began: a handler that ends within this turn needs no timer.
 */
let begun: Admitted[] = [];

/** Ends the run at its deadline. No timer is made if the handler ends within this turn. */
function endInTime(it: Admitted): void {
  if (begun.push(it) === 1) setImmediate(startTimers);
}

function startTimers(): void {
  const all = begun;
  begun = [];
  for (const { app, run, job, startedAt } of all) {
    if (run.onEnd === null) continue;
    // Counted from startedAt: a slow key store or schema must not move the end past `deadlineAt`.
    const leftMs = startedAt + job.timeoutMs - app.clock.now();
    if (leftMs > 0) run.stopTimer = app.clock.after(leftMs, () => run.end('timeout'));
    else run.end('timeout');
  }
}
