/** The second argument of a handler. */

import { LongshoreError, shown } from '../../base/errors.ts';
import type { Progress } from '../../contract/outcome.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import type { App } from '../app/app.ts';
import type { Installed } from '../app/installed.ts';
import type { HandlerContext, RunFacts, TransactionContext } from '../app/job.ts';
import { attemptFacts } from './announce.ts';
import type { Admitted, Maybe } from './attempt.ts';
import { rateLimited } from './rate-limited.ts';

/** Members that features add. Each is made when a handler reads it. */
export type ContextDoors = {
  readonly [Name in keyof TransactionContext]?: {
    readonly of: (it: Admitted, ctx: HandlerContext) => TransactionContext[Name];
    readonly isolated: Isolated;
  };
};

/**
 * How a handler in an isolate uses the member: it calls a function that calls the worker, or gets an error that says why there is none. `plain`:
 * arguments and results are plain data and cross as they are.
 */
export type Isolated = 'plain' | (() => Maybe<IsolatedMember>) | { readonly refuses: string };

export interface IsolatedMember {
  /** The most calls of one attempt that may be open. @default 1_000 */
  readonly most?: number;
  /** In the isolate, on a call: makes plain data of the arguments. */
  readonly send?: (ctx: HandlerContext, ...args: never[]) => SentCall;
  /** In the worker: makes the arguments for the context there. */
  readonly receive?: (worker: WorkerSide, ...args: never[]) => readonly unknown[];
}

export interface SentCall {
  readonly args: readonly unknown[];
  /** The part of the call that stays in the isolate. Returns plain data. If it throws, the call throws the same error. */
  readonly work?: (given: unknown) => unknown;
  /** Runs when the call has ended. */
  readonly end?: () => Promise<void>;
}

export interface WorkerSide {
  readonly app: App;
  /** Calls `work` in the isolate. */
  work(given: unknown): Promise<unknown>;
}

type Own = RunFacts & Pick<HandlerContext, 'signal' | 'progress' | 'log' | 'rateLimited' | 'enqueue'>;

/** All apps of a process have the same features. */
let completeFor: Installed | null = null;

export function contextOf(it: Admitted): TransactionContext & { context: JobContext } {
  const { installed } = it.app;
  if (completeFor !== installed) {
    AttemptContext.add(installed.context as ContextDoors);
    completeFor = installed;
  }
  return new AttemptContext(it) as unknown as TransactionContext;
}

const noContext: JobContext = Object.freeze({});

/** A class with getters: most handlers use few members, so their functions are made on demand and not per job. */
class AttemptContext implements Own {
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

  /** Adds the features' members as getters. A subclass would cost each attempt a second constructor. */
  static add(doors: ContextDoors): void {
    for (const [name, { of }] of Object.entries(doors))
      Object.defineProperty(AttemptContext.prototype, name, {
        configurable: true,
        get(this: AttemptContext) {
          return of(this.#it, this as unknown as HandlerContext);
        },
      });
  }

  constructor(it: Admitted) {
    const { run, envelope, job, number, startedAt } = it;
    this.#it = it;
    this.id = envelope.identifier;
    this.job = job.name;
    this.queue = run.lease.queue;
    this.attempt = number;
    this.maxAttempts = envelope.maxRetries + 1;
    // If the queue does not know, the record of the previous attempt may.
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

  get enqueue(): HandlerContext['enqueue'] {
    const { ports } = this.#it;
    return (job, payload, options) =>
      ports.client.enqueue(job, payload, { context: this.context, ...options });
  }
}

/** Longer messages are cut: a record is no place for a log. */
const mostChars = 1_000;

/** Throws `OPTION` at once, not as a rejection, because the handler may not await the call. */
function progressOf(
  done: number,
  total: number | null = null,
  message: string | null = null,
  at: number,
): Progress {
  if (!Number.isFinite(done) || !Number.isFinite(total ?? 0) || typeof (message ?? '') !== 'string') {
    const got = [done, total, message].map(shown).join(', ');
    throw new LongshoreError('OPTION', `Expected ctx.progress(number, number?, text?), got ${got}.`);
  }
  const isLong = message !== null && message.length > mostChars;
  return { done, total, message: isLong ? `${message.slice(0, mostChars - 1)}…` : message, at };
}
