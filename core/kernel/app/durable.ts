/** Options and arguments of steps and events. */

import type { SqlTransaction } from '../../contract/queue.ts';

/** The argument of a step's function. */
export interface StepContext {
  /** Stays the same when this step of this job runs again. Pass it to a service that accepts idempotency keys. */
  readonly idempotencyKey: string;
  /** The signal of the attempt: `ctx.signal`. */
  readonly signal: AbortSignal;
}

/** The argument of the function of a step with a transaction. */
export interface TransactionStepContext extends StepContext {
  /** Its writes commit together with the step's result, or not at all. `enqueue(…, { tx })` joins it. */
  readonly tx: SqlTransaction;
}

export interface StepOptions {
  /**
   * Gives the step a transaction in the queue's database, which also stores the step's result. Needs a backend with transactions that stores
   * steps itself. @default false
   */
  readonly transaction?: boolean;
}

export interface WaitOptions {
  /** Only events with this key count: 1 to 256 characters. @default events without a key */
  readonly key?: string;
  /** The wait ends after this time: a number of ms, or a string like `90s`, `2h`, `3d`. */
  readonly timeoutMs: number | string;
  /** Needed if a job waits for the same event and key twice. @default `wait:<event>` or `wait:<event>:<key>` */
  readonly name?: string;
}

export interface ReceivedEvent<Payload = unknown> {
  readonly payload: Payload;
  /** Epoch ms. */
  readonly emittedAt: number;
}

export interface EmitOptions {
  /** Reaches only jobs that wait with this key: 1 to 256 characters. @default jobs that wait without a key */
  readonly key?: string;
  /** The event is also delivered to jobs that start to wait within this time. ms, at most 30 days. @default 0: only jobs that wait now */
  readonly keepMs?: number;
}
