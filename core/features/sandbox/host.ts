/** One attempt in an isolate, from the worker's side: start it, answer the handler's questions, stop it. */

import { packError, unpackError } from '../../base/thrown.ts';
import type { App } from '../../kernel/app/app.ts';
import type { Isolation } from '../../kernel/app/isolation.ts';
import type { HandlerContext, Job } from '../../kernel/app/job.ts';
import type { EnqueueOptions } from '../../kernel/app/options.ts';
import type { AttemptSide } from '../../kernel/attempt/attempt.ts';
import type { Output } from '../../kernel/attempt/output.ts';
import { abortReason } from '../../kernel/attempt/run.ts';
import { createCallsOutside } from './calls-outside.ts';
import type { Isolate } from './isolate.ts';
import { countRead, overflow } from './logging.ts';
import type { FromIsolate } from './messages.ts';
import { createPool, type Pool } from './pool.ts';
import { lastOnly, type Progress } from './progress.ts';

/** From the abort of `ctx.signal` to the kill. Shorter than the second for which a draining worker waits. */
const graceMs = 500;
/** A thread that is still alive this long after its kill runs code that cannot be interrupted. */
const stuckMs = 5_000;
const mib = 1024 * 1024;

type Sent = [job: string, payload: unknown, options: EnqueueOptions];

const pools = new WeakMap<App, Pool>();

export function poolOf(app: App): Pool {
  let pool = pools.get(app);
  if (!pool) {
    pool = createPool();
    pools.set(app, pool);
  }
  return pool;
}

export async function endIsolates(app: App): Promise<void> {
  await pools.get(app)?.end();
}

export function runIn(
  app: App,
  job: Job,
  isolation: Isolation,
  input: unknown,
  ctx: HandlerContext,
  { begin, used }: AttemptSide,
): Promise<Output> {
  const { signal } = ctx;
  if (signal.aborted) return Promise.reject(signal.reason);
  const pool = poolOf(app);
  const isolate = pool.take(isolation);
  return new Promise<Output>((resolve, reject) => {
    let killing: NodeJS.Timeout | undefined;
    const calls = createCallsOutside(app, isolate, ctx);
    const done = (healthy: boolean, why: unknown = abortReason('lease-lost')) => {
      calls.end(why);
      clearTimeout(killing);
      signal.removeEventListener('abort', onAbort);
      pool.give(isolate, healthy);
    };
    const onAbort = () => {
      pool.ending(isolate);
      isolate.send({ type: 'abort', reason: packError(signal.reason) });
      killing = setTimeout(() => {
        done(false, signal.reason);
        reject(signal.reason);
        warnWhenStuck(app, isolate, ctx);
      }, graceMs);
    };
    const report = lastOnly((...progress: Progress) => ctx.progress(...progress));
    const enqueue = (name: Sent[0], ...rest: [Sent[1], Sent[2]]) =>
      ctx.enqueue(app.jobs.get(name) ?? ({ name } as Job), ...rest);
    const grant = async (asked: Extract<FromIsolate, { type: 'ask' }>) => {
      switch (asked.member) {
        case 'begin':
          return begin();
        case 'progress':
          return report(...(asked.args as unknown as Progress));
        case 'enqueue':
          return enqueue(...(asked.args as Sent));
        default:
          return calls.call(asked);
      }
    };
    const hasRead = countRead((bytes) => isolate.send({ type: 'read', bytes }));
    isolate.onMessage = (message) => {
      switch (message.type) {
        case 'log':
          ctx.log(message.message, message.fields);
          return hasRead(message);
        case 'overflow':
          return warn(app, ctx, overflow);
        case 'ask':
          return void answer(isolate, message.ask, grant(message));
        case 'did':
        case 'undone':
          return calls.ended(message);
        case 'returned':
          used(message.peakBytes);
          done(isLight(isolation, message.heapBytes));
          return resolve(message.output);
        case 'failed':
          used(message.peakBytes);
          done(!message.spoiled && isLight(isolation, message.heapBytes));
          return reject(unpackError(message.error));
      }
    };
    isolate.onCrash = (error) => {
      done(false, error);
      reject(signal.aborted ? signal.reason : error);
    };
    signal.addEventListener('abort', onAbort);
    const { id, queue, attempt, maxAttempts, previouslyCrashed, idempotencyKey, context, deadlineAt } = ctx;
    const more = { maxAttempts, previouslyCrashed, idempotencyKey, context, deadlineAt };
    isolate.send({ type: 'run', facts: { id, job: job.name, queue, attempt, ...more }, input });
  });
}

/** Whether the isolate may be reused: memory that one job leaves behind must not count against the cap of the next. */
function isLight({ maxMemoryMb }: Isolation, heapBytes: number): boolean {
  return maxMemoryMb === null || heapBytes < (maxMemoryMb * mib) / 2;
}

async function answer(isolate: Isolate, ask: number, value: Promise<unknown>): Promise<void> {
  try {
    isolate.send({ type: 'answer', ask, value: await value });
  } catch (error) {
    isolate.send({ type: 'refusal', ask, error: packError(error) });
  }
}

function warnWhenStuck(app: App, isolate: Isolate, ctx: HandlerContext): void {
  const timer = setTimeout(() => {
    const message = `The ${isolate.isolation.kind} of this attempt was asked to end ${stuckMs} ms ago and still runs: its code cannot be interrupted. Use isolate: 'process' for this job.`;
    warn(app, ctx, message);
  }, stuckMs).unref();
  void isolate.gone.then(() => clearTimeout(timer));
}

function warn({ events }: App, { id, job, queue, attempt, context }: HandlerContext, message: string): void {
  const { tenantId = null, actorId = null, requestId = null, traceparent = null } = context;
  const facts = { id, job, queue, attempt, tenantId, actorId, requestId, traceparent };
  events.emit({ type: 'job.warning', ...facts, message });
}
