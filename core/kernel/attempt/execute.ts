/** Runs the handler once, under its timeout and context. */

import { config } from '../../base/errors.ts';
import type { SqlTransaction } from '../../contract/queue.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import { currentContext, withContext } from '../app/context.ts';
import type { StepOptions } from '../app/durable.ts';
import { type Isolation, insideIsolate } from '../app/isolation.ts';
import type { HandlerContext } from '../app/job.ts';
import type { EnqueueOptions } from '../app/options.ts';
import { attemptFacts } from './announce.ts';
import type { Admitted, Maybe, Verdict } from './attempt.ts';
import { endInTime } from './deadline.ts';
import { type Output, outputOf } from './output.ts';
import { progressOf } from './progress.ts';
import { rateLimited } from './rate-limited.ts';
import { abortReason, type Run } from './run.ts';
import { afterFailure, mayBegin, rejected, release } from './verdict.ts';

const durable = () => import('../../features/steps/handler.ts');
const isolates = () => import('../../features/sandbox/run-isolated.ts');

/** Never throws or rejects. Settles when the handler ends or the run is ended from outside, whichever is first. */
export function execute(it: Admitted): Maybe<Verdict> {
  const { app, run, job } = it;
  if (run.cause) return afterEnd(it, abortReason(run.cause));
  try {
    const ctx = new AttemptContext(it);
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

let aroundHandler: typeof import('./around-handler.ts').aroundHandler | null = null;

/** Loads the code once: an import() costs more than the attempt. A function of its own: the others pay for no closure. */
async function inMiddleware(
  it: Admitted,
  isolation: Isolation | null,
  ctx: AttemptContext,
): Promise<unknown> {
  const around = await (aroundHandler ?? import('./around-handler.ts').then((code) => code.aroundHandler));
  aroundHandler = around;
  return around(it, ctx, isolation !== null, () =>
    isolation ? inIsolate(it, isolation, ctx) : it.job.run(it.payload, ctx),
  );
}

async function inIsolate(it: Admitted, isolation: Isolation, ctx: HandlerContext): Promise<Output> {
  const { runIsolated } = await isolates();
  // The payload as it travelled: a schema's output may be something that cannot cross to another thread.
  return runIsolated(it.app, it.job, isolation, it.envelope.payload, ctx, {
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

const noContext: JobContext = Object.freeze({});

/** A class, because most handlers use few of these: functions are made when asked for, not per job. */
class AttemptContext implements HandlerContext {
  readonly id: string;
  readonly job: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly previouslyCrashed: boolean;
  readonly idempotencyKey: string | null;
  context: JobContext;
  readonly deadlineAt: number;
  readonly #it: Admitted;

  constructor(it: Admitted) {
    const { run, envelope, job, number, startedAt } = it;
    this.#it = it;
    this.id = envelope.identifier;
    this.job = job.name;
    this.queue = run.lease.queue;
    this.attempt = number;
    this.maxAttempts = envelope.maxRetries + 1;
    // Some queues do not know; then the record of the attempt before may.
    this.previouslyCrashed = run.lease.interrupted || run.recording?.interrupted === true;
    this.idempotencyKey = envelope.idempotencyKey ?? null;
    this.context = envelope.context ?? noContext;
    this.deadlineAt = startedAt + job.timeoutMs;
  }

  get signal(): AbortSignal {
    return this.#it.run.signal;
  }

  // Getters that return a function survive destructuring: `handle(payload, { log, enqueue })`.
  get progress(): HandlerContext['progress'] {
    const { app, ports, run } = this.#it;
    return (done, total, message) => {
      const progress = progressOf(done, total, message, app.clock.now());
      return ports.client.stores.records.progress(this.id, run.lease.token, progress);
    };
  }

  get log(): HandlerContext['log'] {
    const { app, run } = this.#it;
    const { events, clock } = app;
    return (message, fields) => {
      run.log({ at: clock.now(), message, fields });
      if (events.active)
        events.emit({ type: 'job.log', ...attemptFacts(this.#it), message, fields: fields ?? {} });
    };
  }

  get rateLimited(): HandlerContext['rateLimited'] {
    return rateLimited;
  }

  get step(): HandlerContext['step'] {
    return async (name: string, work: unknown, options?: StepOptions) =>
      (await durable()).step(this.#it, name, work, options) as never;
  }

  get sleep(): HandlerContext['sleep'] {
    return async (time) => (await durable()).sleep(this.#it, time);
  }

  get waitFor(): HandlerContext['waitFor'] {
    return async (event, options) => (await durable()).waitFor(this.#it, event, options) as never;
  }

  get emit(): HandlerContext['emit'] {
    return (event, payload, options) => this.#it.ports.client.emit(event, payload, options);
  }

  get tx(): SqlTransaction {
    const { tx } = this.#it.run;
    if (tx) return tx.sql;
    throw config(`Job "${this.job}" has no transaction. Define it with transaction: true.`);
  }

  get batch(): HandlerContext['batch'] {
    return (...batch) =>
      import('../../features/batches/in-job.ts').then((it) =>
        it.batchInJob(this.#it, this.context, ...batch),
      );
  }

  get waitForBatch(): HandlerContext['waitForBatch'] {
    return (...wait) =>
      import('../../features/batches/wait-for-batch.ts').then(
        (it) => it.waitForBatch(this.#it, ...wait) as never,
      );
  }

  get chain(): HandlerContext['chain'] {
    return this.#sending('chain');
  }

  get enqueue(): HandlerContext['enqueue'] {
    return this.#sending('enqueue');
  }

  /** With the context of this job, unless another one is given. */
  #sending(verb: 'chain' | 'enqueue'): never {
    return ((what: never, payload: never, options?: EnqueueOptions) =>
      this.#it.ports.client[verb as 'enqueue'](what, payload, {
        context: this.context,
        ...options,
      })) as never;
  }
}
