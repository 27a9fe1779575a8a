/** The messages between a worker and its isolate: plain data that survives a structured clone. */

import {
  type ErrorCode,
  errorCodes,
  LongshoreError,
  type PayloadIssue,
  PermanentError,
  RateLimitedError,
  RetryAfterError,
  SnoozeError,
} from '../../base/errors.ts';
import { messageOf, toError } from '../../base/failure.ts';
import type { EmitOptions, WaitOptions } from '../../kernel/app/durable.ts';
import type { RunFacts } from '../../kernel/app/job.ts';
import type { EnqueueOptions } from '../../kernel/app/options.ts';
import type { Output } from '../../kernel/attempt/output.ts';
import type { LogEntry } from './logging.ts';
import type { Progress } from './progress.ts';

/** An isolate runs one job at a time, so a message needs no number to say which. */
export type ToIsolate =
  | { readonly type: 'run'; readonly facts: RunFacts; readonly input: unknown }
  | { readonly type: 'abort'; readonly reason: Thrown }
  /** The worker has read this much of the log lines. */
  | { readonly type: 'read'; readonly bytes: number }
  /** Do the work of this step. */
  | { readonly type: 'work'; readonly ask: number; readonly idempotencyKey: string }
  /** Send the next items of this batch, at most `most`. */
  | { readonly type: 'pull'; readonly ask: number; readonly most: number }
  | { readonly type: 'answer'; readonly ask: number; readonly value: unknown }
  | { readonly type: 'refusal'; readonly ask: number; readonly error: Thrown };

export type Question =
  /** Everything is loaded and checked: may the handler begin? Refused if the attempt has ended meanwhile. */
  | { readonly verb: 'begin' }
  | { readonly verb: 'progress'; readonly args: Progress }
  | {
      readonly verb: 'enqueue';
      readonly job: string;
      readonly payload: unknown;
      readonly options: EnqueueOptions | undefined;
    }
  | DurableQuestion
  | FlowQuestion;

export type DurableQuestion =
  /** Answered with the stored result of the step. If there is none, the worker sends `work` first and waits for `did`. */
  | { readonly verb: 'step'; readonly name: string }
  | { readonly verb: 'sleep'; readonly time: number | string }
  | { readonly verb: 'waitFor'; readonly event: string; readonly options: WaitOptions }
  | {
      readonly verb: 'waitForBatch';
      readonly batch: string | { readonly id: string };
      readonly options: Pick<WaitOptions, 'timeoutMs' | 'name'>;
    }
  | {
      readonly verb: 'emit';
      readonly event: string;
      readonly payload: unknown;
      readonly options: EmitOptions | undefined;
    };

/** Jobs are sent as `{ name }`. */
export type FlowQuestion =
  | {
      readonly verb: 'batch';
      readonly name: string;
      readonly options: Readonly<Record<string, unknown>>;
      /** The handler's `map` has turned each item into a child. */
      readonly maps: boolean;
      /** The handler's `items`, if they are not iterable: the worker refuses them. */
      readonly items?: unknown;
    }
  | {
      readonly verb: 'chain';
      readonly links: unknown;
      readonly payload: unknown;
      readonly options: Readonly<Record<string, unknown>>;
    };

/** One item of a batch. */
export interface SentItem {
  /** The name of its job; `null` = the job of the batch. */
  readonly job: string | null;
  /** JSON; `null` = nothing. */
  readonly payload: string | null;
  readonly options: unknown;
  /** Why the item cannot be sent; `null` = it can. */
  readonly error: Thrown | null;
}

/** Items in one message; the worker holds no more than these at a time. */
export const mostItems = 100;
/** Characters of the payloads in one message, as JSON. Only the last payload may exceed it. */
export const mostItemChars = 262_144;

/** Characters of the result of one step, as JSON. All steps of a job together have the same limit. */
export const mostStepChars = 262_144;

export type FromIsolate =
  | ({ readonly type: 'log' } & LogEntry)
  /** Log lines are dropped. */
  | { readonly type: 'overflow' }
  | { readonly type: 'ask'; readonly ask: number; readonly question: Question }
  /** The work of a step has returned. `text`: JSON; `null` = it returned nothing. */
  | { readonly type: 'did'; readonly ask: number; readonly text: string | null }
  /** The work of a step has thrown. */
  | { readonly type: 'undone'; readonly ask: number; readonly error: Thrown }
  /** Items of a batch. `done`: these are the last ones. `error`: the iterable has thrown. */
  | {
      readonly type: 'items';
      readonly ask: number;
      readonly items: readonly SentItem[];
      readonly done: boolean;
      readonly error: Thrown | null;
    }
  | ({ readonly type: 'returned'; readonly output: Output } & MemoryUse)
  /** `spoiled`: nothing more can run in this isolate. */
  | ({ readonly type: 'failed'; readonly error: Thrown; readonly spoiled: boolean } & MemoryUse)
  /** An uncaught error is about to end the process. */
  | { readonly type: 'crashing'; readonly error: Thrown };

export interface MemoryUse {
  /** Used heap at the end of the attempt. */
  readonly heapBytes: number;
  /** Peak resident memory of a process. For a thread the same as `heapBytes`, because it shares its process. */
  readonly peakBytes: number;
}

/** A thrown value, as data. */
export interface Thrown {
  readonly kind: 'permanent' | 'retry-after' | 'snooze' | 'rate-limited' | 'longshore' | 'error' | 'value';
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  /** The code of a LongshoreError, of Node or of a library (`ECONNRESET`). */
  readonly code: string | number | null;
  readonly retryAfterMs: number;
  readonly issues: readonly PayloadIssue[] | null;
  /** `cause` of the error; causes beyond the fifth are left out. */
  readonly cause: Thrown | null;
}

export const mostCauses = 5;

const plain = {
  ...({ kind: 'value', name: '', stack: null, code: null } as const),
  ...({ retryAfterMs: 0, issues: null, cause: null } as const),
};

export function packError(thrown: unknown, depth = 0): Thrown {
  if (!(thrown instanceof Error)) return { ...plain, message: toError(thrown).message };
  const { name, message, stack } = thrown;
  const code = (thrown as { code?: unknown }).code;
  return {
    kind: kindOf(thrown),
    name: String(name),
    message: 'errors' in thrown ? messageOf(thrown) : String(message),
    stack: typeof stack === 'string' ? stack : null,
    code: typeof code === 'string' || typeof code === 'number' ? code : null,
    retryAfterMs: thrown instanceof RetryAfterError ? thrown.retryAfterMs : 0,
    issues:
      thrown instanceof LongshoreError && Array.isArray(thrown.issues) ? thrown.issues.map(issueOf) : null,
    cause: thrown.cause === undefined || depth === mostCauses ? null : packError(thrown.cause, depth + 1),
  };
}

const issueOf = (issue: Partial<PayloadIssue> | null): PayloadIssue => ({
  path: String(issue?.path),
  message: String(issue?.message),
});

function kindOf(error: Error): Thrown['kind'] {
  if (error instanceof PermanentError) return 'permanent';
  if (error instanceof RateLimitedError) return 'rate-limited';
  if (error instanceof SnoozeError) return 'snooze';
  if (error instanceof RetryAfterError) return 'retry-after';
  return error instanceof LongshoreError ? 'longshore' : 'error';
}

const builtIn: Readonly<Record<string, ErrorConstructor>> = {
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

const withDelay = {
  'retry-after': RetryAfterError,
  snooze: SnoozeError,
  'rate-limited': RateLimitedError,
} as const;

/**
 * Makes an error of the same class, if the class is ours or the language's. Any other error becomes a plain `Error` with the same
 * name, message, stack and code; so does one of ours whose delay or code is invalid.
 */
export function unpackError(thrown: Thrown): unknown {
  const { kind, name, message, stack, code, retryAfterMs, issues, cause } = thrown;
  let error: Error;
  if (kind === 'value') return message;
  if (kind === 'permanent') error = new PermanentError(message);
  else if (Object.hasOwn(withDelay, kind) && retryAfterMs >= 0 && retryAfterMs < Infinity)
    error = new withDelay[kind as keyof typeof withDelay](retryAfterMs, message);
  else if (kind === 'longshore' && errorCodes.includes(code as ErrorCode))
    error = new LongshoreError(code as ErrorCode, message, issues ? { issues } : {});
  else {
    error = new (builtIn[name] ?? Error)(message);
    const members = code === null ? { name } : { name, code };
    for (const [member, value] of Object.entries(members)) {
      Object.defineProperty(error, member, { value, configurable: true, writable: true });
    }
  }
  const hidden = { ...(stack !== null && { stack }), ...(cause && { cause: unpackError(cause) }) };
  for (const [member, value] of Object.entries(hidden)) {
    Object.defineProperty(error, member, { value, configurable: true, writable: true });
  }
  return error;
}
