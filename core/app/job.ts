import { checkInteger, checkQueue, isName, namePattern } from '../base/checks.ts';
import { config, type LongshoreError, shown } from '../base/errors.ts';
import type { SqlTransaction } from '../contract/queue.ts';
import type { JobContext } from '../envelope/envelope.ts';
import { type Isolation, isolationOf, type Placement } from './isolation.ts';
import type { EnqueuedJob, EnqueueOptions, Priority } from './options.ts';
import { priorityOf } from './options.ts';
import { exponential, type RetryPolicy } from './retry.ts';
import type { SchemaInput, SchemaOutput, StandardSchema } from './schema.ts';

/** What a handler is told about its run: plain data. */
export interface RunFacts {
  readonly id: string;
  readonly job: string;
  readonly queue: string;
  /** 1 = first run. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** The attempt before this one ended without a result: its worker died or lost the lease. */
  readonly previouslyCrashed: boolean;
  readonly idempotencyKey: string | null;
  /** Tenant, actor, request and trace of whoever enqueued the job. */
  readonly context: JobContext;
  /** Epoch ms at which the attempt is over, whatever the handler does. */
  readonly deadlineAt: number;
}

/** What a handler gets beside its payload. */
export interface HandlerContext extends RunFacts {
  /** Aborts at the timeout, on cancel, at the end of a shutdown and when the lease is lost. */
  readonly signal: AbortSignal;
  /** Shown by `status()`. Resolves to `false` when this run no longer owns the job. */
  progress(done: number, total?: number, message?: string): Promise<boolean>;
  /** Goes to the log with the job's facts; values of fields that look like secrets are masked. */
  log(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /**
   * For a job with `transaction: true`: what is written here is committed together with the ack and the idempotency key, or not
   * at all, so its effect happens exactly once. Throws `CONFIG` for other jobs. `enqueue(…, { tx })` joins it.
   */
  readonly tx: SqlTransaction;
  /** Enqueues another job on the same backend, with this job's context unless `options` names another. */
  enqueue<Input>(job: Job<Input>, payload: NoInfer<Input>, options?: EnqueueOptions): Promise<EnqueuedJob>;
}

/** A job as the rest of the code sees it; `Input` is what may be enqueued. */
export interface Job<Input = unknown> {
  readonly name: string;
  readonly queue: string;
  readonly schema: StandardSchema<Input, unknown>;
  readonly maxRetries: number;
  readonly retry: RetryPolicy;
  readonly timeoutMs: number;
  readonly priority: number;
  /** A job not begun so long after it was enqueued is not run any more; `null` = always. */
  readonly expiresInMs: number | null;
  /** How long a finished idempotency key is remembered. */
  readonly idempotencyKeepMs: number;
  /** Both take the schema's output; `defineJob` has checked the types. */
  readonly keyOf: ((payload: unknown) => string | null) | null;
  readonly run: (payload: unknown, ctx: HandlerContext) => unknown;
  /** Its handler writes in a transaction of the queue's database. */
  readonly transaction: boolean;
  /** The thread or process that `run` is called in; `null` = the worker's own event loop. */
  readonly isolation: Isolation | null;
}

export interface JobDefinition<S extends StandardSchema<unknown, unknown>> {
  /** 1 to 128 of `A-Z a-z 0-9 . _ -`; part of the stored message, so renaming a job orphans what is queued. */
  readonly name: string;
  /** @default 'default' */
  readonly queue?: string;
  /** Any Standard Schema (zod, valibot, arktype). Checked when enqueued and again before the run. */
  readonly payload: S;
  /** Runs after the first. @default 3 */
  readonly maxRetries?: number;
  /** @default exponential(): 30 s, doubling, at most 1 h */
  readonly retry?: RetryPolicy;
  /** @default 300_000 */
  readonly timeoutMs?: number;
  /** @default 'normal' */
  readonly priority?: Priority;
  /** Two jobs of one tenant with the same key have one effect. `null` = no key for this payload. */
  readonly idempotencyKey?: (payload: SchemaOutput<S>) => string | null;
  /** @default 86_400_000 (a day) */
  readonly idempotencyKeepMs?: number;
  readonly expiresInMs?: number;
  /**
   * Gives the handler `ctx.tx`, a transaction in the queue's database that also holds the ack. It is open while the handler runs, so
   * such a handler should be short. Needs a backend with transactions. @default false
   */
  readonly transaction?: boolean;
  readonly handle: (payload: SchemaOutput<S>, ctx: HandlerContext) => unknown;
}

export function defineJob<S extends StandardSchema<unknown, unknown>>(
  definition: JobDefinition<S> & Placement,
): Job<SchemaInput<S>> {
  const { name, queue = 'default', payload, handle } = definition;
  const { maxRetries = 3, timeoutMs = 300_000, expiresInMs = null } = definition;
  const { idempotencyKeepMs = 86_400_000 } = definition;
  if (!isName(name)) throw config(`A job's name must match ${namePattern}, got ${shown(name)}.`);
  checkQueue(queue);
  if (typeof payload?.['~standard']?.validate !== 'function') {
    throw config(
      `Job "${name}" expects a Standard Schema as payload (zod, valibot, ...), got ${shown(payload)}.`,
    );
  }
  if (typeof handle !== 'function')
    throw config(`Job "${name}" expects a handle function, got ${shown(handle)}.`);
  for (const member of ['retry', 'idempotencyKey'] as const) {
    const value: unknown = definition[member];
    if (value !== undefined && typeof value !== 'function') {
      throw config(`Job "${name}" expects ${member} to be a function, got ${shown(value)}.`);
    }
  }
  checkInteger(`maxRetries of job "${name}"`, maxRetries, 0);
  checkInteger(`timeoutMs of job "${name}"`, timeoutMs, 1);
  checkInteger(`idempotencyKeepMs of job "${name}"`, idempotencyKeepMs, 1);
  if (expiresInMs !== null) checkInteger(`expiresInMs of job "${name}"`, expiresInMs, 1);
  return {
    name,
    queue,
    schema: payload as unknown as StandardSchema<SchemaInput<S>, unknown>,
    maxRetries,
    retry: definition.retry ?? exponential(),
    timeoutMs,
    priority: priorityOf(definition.priority ?? 'normal'),
    expiresInMs,
    idempotencyKeepMs,
    keyOf: (definition.idempotencyKey as Job['keyOf']) ?? null,
    run: handle as Job['run'],
    transaction: transactionOf(name, definition),
    isolation: isolationOf(name, definition),
  };
}

function transactionOf(name: string, { transaction = false, isolate }: TransactionChoice): boolean {
  if (typeof transaction !== 'boolean')
    throw config(`Job "${name}" expects transaction to be true or false, got ${shown(transaction)}.`);
  if (transaction && isolate !== undefined)
    throw config(
      `Job "${name}" expects either transaction or isolate, got both: a transaction cannot leave its process.`,
    );
  return transaction;
}

export function noTransaction({ name }: Job, backend: { readonly name: string }): LongshoreError {
  return config(
    `Job "${name}" has a transaction, but backend "${backend.name}" offers none. Run it on postgres().`,
  );
}

interface TransactionChoice {
  readonly transaction?: boolean;
  readonly isolate?: unknown;
}
