import { checkName, checkOptions, checkQueue, type OptionKinds } from '../../base/checks.ts';
import { config, type LongshoreError, shown } from '../../base/errors.ts';
import { type Priority, priorityOf } from '../../base/priority.ts';
import type { SqlTransaction } from '../../contract/queue.ts';
import type { Retention } from '../../contract/store.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import type { BatchEnd, SendBatch } from './batch.ts';
import { type Breaker, breakerOf } from './breaker.ts';
import type { SendChain } from './chain.ts';
import type {
  EmitOptions,
  ReceivedEvent,
  StepContext,
  StepOptions,
  TransactionStepContext,
  WaitOptions,
} from './durable.ts';
import { type KeyOf, type Limit, type Limits, limitsOf } from './flow-control.ts';
import { type Isolation, isolationOf, leastMemoryMb, type Placement } from './isolation.ts';
import type { Jsonified } from './jsonified.ts';
import type { EnqueuedJob, EnqueueOptions } from './options.ts';
import { exponential, type RetryPolicy } from './retry.ts';
import type { SchemaInput, SchemaOutput, StandardSchema } from './schema.ts';
import { type Uniqueness, type UniqueRule, uniqueRuleOf } from './unique.ts';

/** Facts about one run, as plain data. */
export interface RunFacts {
  readonly id: string;
  readonly job: string;
  readonly queue: string;
  /** 1 = first run. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** The previous attempt ended without a result: its worker died or lost the lease. */
  readonly previouslyCrashed: boolean;
  readonly idempotencyKey: string | null;
  /** Tenant, actor, request and trace of the code that enqueued the job. */
  readonly context: JobContext;
  /** When the attempt ends, even if the handler is still running. Epoch ms. */
  readonly deadlineAt: number;
}

/** The result of a step after a round trip through JSON. */
export type StepResult<T> = [T] extends [undefined] ? T : Jsonified<T>;

/** The second argument of a handler. */
export interface HandlerContext extends RunFacts {
  /** Aborts on a timeout, on a cancel, when a shutdown has waited `drainMs`, and when the lease is lost. */
  readonly signal: AbortSignal;
  /**
   * Reports progress, which `status()` shows. Resolves to `false` if this attempt no longer owns the job. Throws `OPTION` for a number
   * that is not finite. A `message` is cut to 1,000 characters.
   */
  progress(done: number, total?: number, message?: string): Promise<boolean>;
  /** Writes a log line with the job's facts. On your own servers, values of fields that look like secrets are masked. */
  log(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /**
   * Call it when a service answers "too many requests". It throws: this job and all jobs that share its rate (`rate` of the job or its
   * queue) start again after `delayMs`, and no attempt is spent. Without a rate only this job waits.
   */
  rateLimited(delayMs: number): never;
  /**
   * Runs `work` once and stores its result, which must be plain JSON data. A later attempt gets the stored result and does not run `work` again. If
   * `work` throws, nothing is stored. If the worker dies during a step, the step runs again with the same `idempotencyKey`. `name`: 1 to 100
   * characters, unique within an attempt. If an attempt runs out of time (`timeoutMs`, or the limit of a function), the job continues after its
   * last step; the attempt is not counted if it finished a step. Throws `CONFIG` for a repeated name, or without a store for steps.
   *
   * With `{ transaction: true }` the step gets `tx`: its writes and the stored result commit together, so the effect happens exactly
   * once. Throws `CONFIG` if the queue has no transactions or does not store the steps itself.
   */
  step<T>(
    name: string,
    work: (step: TransactionStepContext) => T,
    options: { readonly transaction: true },
  ): Promise<StepResult<Awaited<T>>>;
  step<T>(
    name: string,
    work: (step: StepContext) => T,
    options?: StepOptions,
  ): Promise<StepResult<Awaited<T>>>;
  /**
   * Ends the attempt. The job continues from here after `time`: a number of ms, or a string like `90s`, `2h`, `3d`; at most 366 days.
   * Meanwhile the job holds no slot and no lease, and spends no attempt. Sleeps are identified by their order.
   */
  sleep(time: number | string): Promise<void>;
  /**
   * Ends the attempt. The job continues from here when `emit` sends the event, or with `null` after `timeoutMs`. As with `sleep`, the job
   * holds nothing meanwhile.
   */
  waitFor<Payload = unknown>(event: string, options: WaitOptions): Promise<ReceivedEvent<Payload> | null>;
  /** As `client.emit()`. */
  emit(event: string, payload?: unknown, options?: EmitOptions): Promise<number>;
  /**
   * As `client.batch`. The default id is derived from this job's id and `name`, so that the next attempt continues the same batch.
   */
  readonly batch: SendBatch;
  /**
   * Ends the attempt. The job continues from here when all children of the batch have ended, or with `null` after `timeoutMs`. As with
   * `sleep`, the job holds nothing meanwhile. Throws `NOT_FOUND` for an unknown batch.
   */
  waitForBatch<Result = unknown>(
    batch: string | { readonly id: string },
    options: Pick<WaitOptions, 'timeoutMs' | 'name'>,
  ): Promise<BatchEnd<Result> | null>;
  /** As `client.chain`. Without an id, each call starts a new chain. */
  readonly chain: SendChain;
  /** Enqueues another job, on that job's own backend. It gets this job's context unless `options.context` is given. */
  enqueue<Input>(job: Job<Input>, payload: NoInfer<Input>, options?: EnqueueOptions): Promise<EnqueuedJob>;
}

/** The second argument of a handler of a job with `transaction: true`. */
export interface TransactionContext extends HandlerContext {
  /**
   * Your writes commit together with the ack and the idempotency key, or not at all: the effect happens exactly once. `enqueue(…, { tx })`
   * joins it. In a job without a transaction, reading it throws `CONFIG`: use a step with a transaction.
   */
  readonly tx: SqlTransaction;
}

/**
 * Runs around one attempt. `next()` runs the next middleware or the handler, and resolves with its result. It rejects with the handler's
 * error, and when the attempt is stopped. The return value of a middleware replaces the job's output, unless it is `undefined`. An
 * error of a middleware counts as the handler's error. Reading `ctx.tx` throws `CONFIG` in a job without a transaction.
 */
export type AttemptMiddleware = (ctx: TransactionContext, next: () => Promise<unknown>) => unknown;

/** A defined job. `Input` is the type of its payload, `Output` the handler's return type, often a promise. */
export interface Job<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly queue: string;
  /** The name of its backend; `null` = the backend of its queue. */
  readonly backend: string | null;
  readonly schema: StandardSchema<Input, unknown>;
  readonly maxRetries: number;
  readonly retry: RetryPolicy;
  readonly timeoutMs: number;
  readonly priority: number;
  /** The job expires if it has not started this many ms after it was enqueued; `null` = never. */
  readonly expiresInMs: number | null;
  /** How long a completed idempotency key is kept, ms. */
  readonly idempotencyKeepMs: number;
  /** `keyOf` and `run` take the schema's output; `defineJob` has checked the types. */
  readonly keyOf: ((payload: unknown) => string | null) | null;
  readonly run: (payload: unknown, ctx: HandlerContext) => Output;
  /** Its limits across all workers; `null` = none. */
  readonly limits: readonly Limit[] | null;
  /** When a new job counts as a duplicate of an active one; `null` = never. */
  readonly unique: UniqueRule<KeyOf<never>> | null;
  /** Stops the jobs of this name while they keep failing; `null` = no breaker. */
  readonly breaker: Breaker | null;
  /** Middleware around the handler, inside the app's middleware. */
  readonly use: readonly AttemptMiddleware[];
  /** The record keeps the payload after the job is done. */
  readonly keepPayload: boolean;
  /** How long its records are kept; `null`, or a missing member = the retention of the store. */
  readonly retention: Partial<Retention> | null;
  /** The handler gets a transaction of the queue's database. */
  readonly transaction: boolean;
  /** The thread or process in which `run` is called; `null` = the worker's own event loop. */
  readonly isolation: Isolation | null;
}

export interface JobDefinition<
  S extends StandardSchema<unknown, unknown>,
  Output = unknown,
  Transaction extends boolean = boolean,
> extends Limits<SchemaOutput<S>>,
    Uniqueness<KeyOf<SchemaOutput<S>>> {
  /** 1 to 128 of `A-Z a-z 0-9 . _ -`. Every stored message contains it: rename a job only when none is queued. */
  readonly name: string;
  /** The queue of its jobs. @default 'default' */
  readonly queue?: string;
  /** The name of a backend that is passed to `connect()`. @default the backend of its queue */
  readonly backend?: string;
  /** Any Standard Schema (zod, valibot, arktype). A payload is checked on enqueue and again before each attempt. */
  readonly payload: S;
  /** How many times a failed job is retried. @default 3 */
  readonly maxRetries?: number;
  /** The delays between attempts. @default exponential(): 30 s, doubling, at most 1 h */
  readonly retry?: RetryPolicy;
  /** How long an attempt may run, ms. @default 300_000 */
  readonly timeoutMs?: number;
  /** An integer from 0 (runs first) to 9, or `critical`, `high`, `normal`, `low`. @default 'normal' */
  readonly priority?: Priority;
  /** Jobs of one tenant with the same key take effect only once. `null` = no key for this payload. */
  readonly idempotencyKey?: (payload: SchemaOutput<S>) => string | null;
  /** How long a completed idempotency key is kept, ms. @default 86_400_000 (a day) */
  readonly idempotencyKeepMs?: number;
  /** The job expires if it has not started this many ms after it was enqueued, or after its delay. @default never */
  readonly expiresInMs?: number;
  /** Runs one job at a time across all workers: short for `concurrency: { limit: 1 }`. @default false */
  readonly single?: boolean;
  /** After `failures` failed attempts in a row, no job of this name starts for `openMs`; then one is tried. @default none */
  readonly breaker?: Breaker;
  /**
   * Keeps the payload in the record after the job is done, for `longshore jobs show --payload`. An offloaded payload stays in the
   * payload store until the store's lifecycle rule removes it. @default false
   */
  readonly keepPayload?: boolean;
  /**
   * How long the record is kept after the job has ended, ms: `completedMs` if it completed or was cancelled, `deadMs` if it is a dead
   * letter. 0 = the record, or the dead letter, is deleted when the job ends. @default the retention of the backend or store
   */
  readonly retention?: Partial<Retention>;
  /**
   * Gives the handler `ctx.tx`: a transaction in the queue's database, which also contains the ack. It stays open while the handler
   * runs, so keep the handler short. Needs a backend with transactions. @default false
   */
  readonly transaction?: Transaction;
  /** Middleware around each attempt of this job, the first one outermost. The app's middleware runs outside of it. */
  readonly use?: readonly AttemptMiddleware[];
  /** Runs the job. If it throws, the attempt fails and is retried. Its return value becomes the job's output, as JSON. */
  readonly handle: (
    payload: SchemaOutput<S>,
    ctx: [Transaction] extends [true] ? TransactionContext : HandlerContext,
  ) => Output;
}

const kinds = {
  name: '',
  queue: '',
  backend: '',
  payload: '',
  maxRetries: 0,
  retry: 'function',
  timeoutMs: 1,
  priority: '',
  idempotencyKey: 'function',
  idempotencyKeepMs: 1,
  expiresInMs: 1,
  single: 'boolean',
  breaker: '',
  concurrency: '',
  rate: '',
  unique: '',
  debounce: '',
  keepPayload: 'boolean',
  retention: '',
  transaction: 'boolean',
  use: '',
  handle: '',
  isolate: '',
  module: '',
  maxMemoryMb: leastMemoryMb,
} satisfies OptionKinds<JobDefinition<StandardSchema> & Placement>;

/** Defines a job: its name, its payload schema and its handler. Throws `CONFIG` for invalid options. Pass the job to `createApp({ jobs })`. */
export function defineJob<
  S extends StandardSchema<unknown, unknown>,
  Output,
  Transaction extends boolean = false,
>(definition: JobDefinition<S, Output, Transaction> & Placement): Job<SchemaInput<S>, Output> {
  const { name, queue = 'default', backend = null, payload, handle } = definition;
  const { maxRetries = 3, timeoutMs = 300_000, expiresInMs = null } = definition;
  const { idempotencyKeepMs = 86_400_000, use = [] } = definition;
  const retry = definition.retry ?? exponential();
  checkName("A job's name", name);
  checkOptions(`job "${name}"`, definition, kinds);
  checkQueue(queue);
  if (typeof payload?.['~standard']?.validate !== 'function') {
    throw config(
      `Job "${name}" expects a Standard Schema as payload (zod, valibot, ...), got ${shown(payload)}.`,
    );
  }
  if (typeof handle !== 'function')
    throw config(`Job "${name}" expects a handle function, got ${shown(handle)}.`);
  if (!Array.isArray(use) || !use.every((one) => typeof one === 'function'))
    throw config(`Job "${name}" expects use to be a list of functions (ctx, next), got ${shown(use)}.`);
  const { single = false } = definition;
  if (single && definition.concurrency)
    throw config(`Job "${name}" expects either single or concurrency, got both.`);
  retry.check?.(name, maxRetries);
  return {
    name,
    queue,
    backend,
    schema: payload as unknown as StandardSchema<SchemaInput<S>, unknown>,
    maxRetries,
    retry,
    timeoutMs,
    priority: priorityOf(definition.priority ?? 'normal'),
    expiresInMs,
    idempotencyKeepMs,
    keyOf: (definition.idempotencyKey as Job['keyOf']) ?? null,
    limits: limitsOf(`job:${name}`, single ? { ...definition, concurrency: { limit: 1 } } : definition),
    unique: uniqueRuleOf(`job "${name}"`, 'function', definition) as Job['unique'],
    breaker: breakerOf(name, definition.breaker),
    run: handle as unknown as Job<never, Output>['run'],
    use,
    keepPayload: definition.keepPayload ?? false,
    retention: retentionOf(name, definition.retention),
    transaction: transactionOf(name, definition),
    isolation: isolationOf(name, definition),
  };
}

/** A thousand years: with more, some stores no longer keep times as whole numbers. */
const longestMs = 1_000 * 365 * 86_400_000;

function retentionOf(name: string, retention: unknown): Partial<Retention> | null {
  if (retention === undefined) return null;
  const isOne = typeof retention === 'object' && retention !== null && !Array.isArray(retention);
  if (!isOne)
    throw config(
      `Job "${name}" expects retention to be { completedMs, deadMs }, or one of them, got ${shown(retention)}.`,
    );
  checkOptions(`retention of job "${name}"`, retention, { completedMs: 0, deadMs: 0 });
  for (const [member, ms] of Object.entries(retention))
    if (ms > longestMs)
      throw config(`retention.${member} of job "${name}" expects at most ${longestMs}, got ${ms}.`);
  return { ...retention };
}

function transactionOf(
  name: string,
  { transaction = false, isolate }: { readonly transaction?: boolean } & Placement,
): boolean {
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
