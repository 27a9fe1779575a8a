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

/** Never throws or rejects. Settles when the handler ends or the run is ended from outside, whichever is first. */
export function execute(it: Admitted): Maybe<Verdict> {
  const { app, run, job } = it;
  if (run.cause) return afterEnd(it, abortReason(run.cause));
  try {
    const ctx = contextOf(it);
    const isolation = insideIsolate() ? null : job.isolation;
    run.began = !isolation; // an isolate says so itself
    const returned =
      app.middleware.attempt.length > 0 || job.use.length > 0
        ? inMiddleware(it, isolation, ctx)
        : isolation
          ? inIsolate(it, isolation, ctx)
          : runInContext(it, ctx);
    if (!isThenable(returned)) return acked(it, outputOf(returned));
    // Not an async function: that would keep half as much memory again for each job.
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
  // The handler has caught what ended it.
  if (it.run.steps?.parked) return afterEnd(it, it.run.steps.parked.error);
  if (problem === null) return { verb: 'ack', outcome: 'acked', output: text };
  const message = `The job succeeded, but its output is not kept: ${problem}.`;
  it.app.events.emit({ type: 'job.warning', ...attemptFacts(it), message });
  return { verb: 'ack', outcome: 'acked', output: null, problem };
}

/** `null` stands for "no error" in a verdict, so what was thrown must not be it. */
function thrown(it: Admitted, error: unknown): Verdict {
  return afterEnd(it, error ?? new Error(`The handler threw ${String(error)}.`));
}

/** The run failed, or was ended from outside. */
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

/** Of a job with steps that goes on after the last one that is done: nothing has failed. */
function goingOn({ run }: Admitted, error: unknown): Verdict | null {
  const { steps, cause } = run;
  // Whatever became of the error that said so.
  if (steps?.parked) return steps.parked.end();
  // Its time is over, and it has come further than the attempt before.
  return steps !== null && steps.done > 0 && cause === 'timeout' ? release(1, error) : null;
}

/** A function of its own: the others pay for no closure. In a later turn than `execute`, which by then can end the run. */
async function inMiddleware(it: Admitted, isolation: Isolation | null, ctx: OwnContext): Promise<unknown> {
  const { aroundHandler } = await around((code) => code);
  return aroundHandler(it, ctx, isolation !== null, () =>
    isolation ? inIsolate(it, isolation, ctx) : it.job.run(it.payload, ctx),
  );
}

async function inIsolate(it: Admitted, isolation: Isolation, ctx: HandlerContext): Promise<Output> {
  // The payload as it travelled: a schema's output may be something that cannot cross to another thread.
  return stepsOf(it.app).isolate(it.app, it.job, isolation, it.envelope.payload, ctx, {
    begin: () => mayBegin(it),
    used(bytes) {
      it.run.memoryBytes = bytes;
    },
  });
}

/** Most jobs have no context and run inside none: they do without the async storage. */
function runInContext({ job, envelope, payload }: Admitted, ctx: HandlerContext): unknown {
  if (envelope.context == null && currentContext() === undefined) return job.run(payload, ctx);
  return withContext(ctx.context, () => job.run(payload, ctx));
}

/** Settles like `returned`, or rejects when the run is ended. */
function untilEnded<T>(it: Admitted, returned: PromiseLike<T>): Promise<T> {
  const { run } = it;
  return new Promise((resolve, reject) => {
    // `reject` itself, without a closure around it: a closure would let all that an attempt touches outlive the young
    // generation (50 of 190 MB over 20,000 jobs instead of 4), and the garbage collector would cost as much as the job.
    run.onEnd = reject;
    if (run.ended) reject(abortReason(run.cause!)); // by the handler's own doing, before it first waited
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
 * The timeouts of attempts. A timer costs as much as the rest of a short attempt, and keeps alive what it refers to. So it
 * is made only when the turn of the event loop in which the handler began is over: a handler that ends within it needs none.
 */
let begun: Admitted[] = [];

/** Ends the run at its deadline, unless it has let go by the end of this turn. */
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
