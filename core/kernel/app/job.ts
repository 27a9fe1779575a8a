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
  /** The attempt before this one ended without a result: its worker died or lost the lease. */
  readonly previouslyCrashed: boolean;
  readonly idempotencyKey: string | null;
  /** Tenant, actor, request and trace of the code that enqueued the job. */
  readonly context: JobContext;
  /** Epoch ms. The attempt ends then, even when the handler is still at work. */
  readonly deadlineAt: number;
}

/** The result of a step after a round trip through JSON. */
export type StepResult<T> = [T] extends [undefined] ? T : Jsonified<T>;

/** The second argument of a handler. */
export interface HandlerContext extends RunFacts {
  /** Aborts on timeout, on cancel, when a shutdown has waited `drainMs`, and when the lease is lost. */
  readonly signal: AbortSignal;
  /**
   * `status()` shows it. Resolves to `false` when this run no longer owns the job. Throws `OPTION` for what is no finite number; of
   * `message` the first 1,000 characters are kept.
   */
  progress(done: number, total?: number, message?: string): Promise<boolean>;
  /** Writes a log line with the job's facts. On machines of your own, values of fields that look like secrets are masked. */
  log(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /**
   * Throws: the service that the job calls has said "wait". This job and all that share its rate (`rate` of the job or its queue) begin
   * again after `delayMs`, and no attempt is spent. Without a rate only this job waits.
   */
  rateLimited(delayMs: number): never;
  /**
   * Runs `work` and remembers what it returns: plain JSON data. A later attempt of the job gets that back and does not run it again. A step that was
   * running when its worker died runs again; `idempotencyKey` is then the same. One that throws is not remembered. `name` is of 1
   * to 100 characters, and each step of an attempt has its own. An attempt whose time is over (`timeoutMs`, or that of a function) goes on after its
   * last step, and is not counted if it has done one. Throws `CONFIG` for a name that comes twice and without a store for steps.
   *
   * With `{ transaction: true }` the step is given `tx`: what it writes there and the memory of the step commit together, so the effect
   * happens exactly once. Throws `CONFIG` where the queue has no transactions, or does not keep the steps.
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
   * Ends the attempt. The job continues from here after this time (366 days at most): a number of ms, or a string like `90s`, `2h`, `3d`.
   * Meanwhile it holds no slot and no lease, and spends no attempt. Sleeps are identified by their order.
   */
  sleep(time: number | string): Promise<void>;
  /**
   * Ends the attempt, and the job goes on from here when `emit` brings the event, or with `null` when it has not come in time. As with `sleep`
   * it costs nothing meanwhile.
   */
  waitFor<Payload = unknown>(event: string, options: WaitOptions): Promise<ReceivedEvent<Payload> | null>;
  /** As `client.emit()`. */
  emit(event: string, payload?: unknown, options?: EmitOptions): Promise<number>;
  /**
   * For a job with `transaction: true`. Your writes commit together with the ack and the idempotency key, or not at all:
   * the effect happens exactly once. `enqueue(…, { tx })` joins it. Throws `CONFIG` for other jobs: their steps may have one each.
   */
  readonly tx: SqlTransaction;
  /**
   * As `client.batch`. Without an id it gets one that is made of this job's and of `name`: a further attempt goes on where this one has
   * ended.
   */
  readonly batch: SendBatch;
  /**
   * Ends the attempt, and the job goes on from here when all children of the batch have ended, or with `null` when they have not in time. As
   * with `waitFor` it costs nothing meanwhile. Throws `NOT_FOUND` for a batch that is not known.
   */
  waitForBatch<Result = unknown>(
    batch: string | { readonly id: string },
    options: Pick<WaitOptions, 'timeoutMs' | 'name'>,
  ): Promise<BatchEnd<Result> | null>;
  /** As `client.chain`. Without an id each call starts another one. */
  readonly chain: SendChain;
  /** Enqueues another job on the backend that it belongs to. It carries this job's context unless `options.context` is given. */
  enqueue<Input>(job: Job<Input>, payload: NoInfer<Input>, options?: EnqueueOptions): Promise<EnqueuedJob>;
}

/**
 * Stands around one attempt. `next()` runs what is inside it, in the end the handler, and resolves with what that returned; it rejects with
 * the handler's error, and when the attempt is stopped. A middleware's return value replaces the job's output, unless it
 * is `undefined`; its error counts as the handler's error.
 */
export type AttemptMiddleware = (ctx: HandlerContext, next: () => Promise<unknown>) => unknown;

/** A defined job. `Input` is the type of payload that may be enqueued, `Output` what the handler returns: often a promise. */
export interface Job<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly queue: string;
  /** The backend that it is enqueued on; `null` = that of its queue. */
  readonly backend: string | null;
  readonly schema: StandardSchema<Input, unknown>;
  readonly maxRetries: number;
  readonly retry: RetryPolicy;
  readonly timeoutMs: number;
  readonly priority: number;
  /** A job that has not begun this many ms after it was enqueued expires; `null` = never. */
  readonly expiresInMs: number | null;
  /** How long a completed idempotency key is remembered, ms. */
  readonly idempotencyKeepMs: number;
  /** `keyOf` and `run` take the schema's output; `defineJob` has checked the types. */
  readonly keyOf: ((payload: unknown) => string | null) | null;
  readonly run: (payload: unknown, ctx: HandlerContext) => Output;
  /** Its limits across all workers; `null` = none. */
  readonly limits: readonly Limit[] | null;
  /** When an active job makes a new one a duplicate; `null` = never. */
  readonly unique: UniqueRule<KeyOf<never>> | null;
  /** Stops its jobs while they fail anyway; `null` = nothing does. */
  readonly breaker: Breaker | null;
  /** Around the handler, inside those of the app. */
  readonly use: readonly AttemptMiddleware[];
  /** The record keeps the payload also when the job is done. */
  readonly keepPayload: boolean;
  /** How long its records are kept; `null`, or a member that is missing = as the store does it. */
  readonly retention: Partial<Retention> | null;
  /** The handler writes in a transaction of the queue's database. */
  readonly transaction: boolean;
  /** The thread or process that `run` is called in; `null` = the worker's own event loop. */
  readonly isolation: Isolation | null;
}

export interface JobDefinition<S extends StandardSchema<unknown, unknown>, Output = unknown>
  extends Limits<SchemaOutput<S>>,
    Uniqueness<KeyOf<SchemaOutput<S>>> {
  /** 1 to 128 of `A-Z a-z 0-9 . _ -`. It is part of every stored message: rename a job only when none is queued. */
  readonly name: string;
  /** @default 'default' */
  readonly queue?: string;
  /** One of those that `connect()` is given by name. @default that of its queue */
  readonly backend?: string;
  /** Any Standard Schema (zod, valibot, arktype). Payloads are checked when enqueued and again before the run. */
  readonly payload: S;
  /** How often a failed job runs again. @default 3 */
  readonly maxRetries?: number;
  /** @default exponential(): 30 s, doubling, at most 1 h */
  readonly retry?: RetryPolicy;
  /** @default 300_000 */
  readonly timeoutMs?: number;
  /** @default 'normal' */
  readonly priority?: Priority;
  /** Jobs of one tenant with the same key have one effect. `null` = no key for this payload. */
  readonly idempotencyKey?: (payload: SchemaOutput<S>) => string | null;
  /** @default 86_400_000 (a day) */
  readonly idempotencyKeepMs?: number;
  readonly expiresInMs?: number;
  /** One at a time over all workers: short for `concurrency: { limit: 1 }`. @default false */
  readonly single?: boolean;
  /** After this number of failures in a row no job of this name starts for `openMs`; then one is tried. @default none */
  readonly breaker?: Breaker;
  /**
   * Keeps the payload for people (`longshore jobs show --payload`) as long as the record of the job, also when it is done. One that was
   * offloaded stays in the payload store until its lifecycle rule removes it. @default false
   */
  readonly keepPayload?: boolean;
  /**
   * How long the record of a job is kept after an attempt has ended it: `completedMs` of one that completed or was cancelled, `deadMs`
   * of a dead letter. 0 = the record goes when the job ends; a dead letter too. @default the retention of the backend or store
   */
  readonly retention?: Partial<Retention>;
  /**
   * Gives the handler `ctx.tx`: a transaction in the queue's database that also holds the ack. It stays open while the handler runs,
   * so keep the handler short. Needs a backend with transactions. @default false
   */
  readonly transaction?: boolean;
  /** Middleware around each attempt of this job, the first one outermost. That of the app stands around it. */
  readonly use?: readonly AttemptMiddleware[];
  readonly handle: (payload: SchemaOutput<S>, ctx: HandlerContext) => Output;
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

export function defineJob<S extends StandardSchema<unknown, unknown>, Output>(
  definition: JobDefinition<S, Output> & Placement,
): Job<SchemaInput<S>, Output> {
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
    run: handle as Job<never, Output>['run'],
    use,
    keepPayload: definition.keepPayload ?? false,
    retention: retentionOf(name, definition.retention),
    transaction: transactionOf(name, definition),
    isolation: isolationOf(name, definition),
  };
}

/** A thousand years: beyond that, times are no longer whole numbers everywhere. */
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
