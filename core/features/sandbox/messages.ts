/** What a worker and its isolate say to each other: plain data that survives a structured clone. */

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
  /** So much of the log lines was read. */
  | { readonly type: 'read'; readonly bytes: number }
  /** The step that this asks for is to be done. */
  | { readonly type: 'work'; readonly ask: number; readonly idempotencyKey: string }
  /** The next items of the batch that this asks for are wanted, at most so many. */
  | { readonly type: 'pull'; readonly ask: number; readonly most: number }
  | { readonly type: 'answer'; readonly ask: number; readonly value: unknown }
  | { readonly type: 'refusal'; readonly ask: number; readonly error: Thrown };

export type Question =
  /** Whether the handler may begin, now that all is loaded and checked. Refused when the attempt has ended meanwhile. */
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
  /** Answered with what is remembered of it, after `did` where it was not done yet. */
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

/** Jobs are `{ name }`. */
export type FlowQuestion =
  | {
      readonly verb: 'batch';
      readonly name: string;
      readonly options: Readonly<Record<string, unknown>>;
      /** Each item was made a child by the handler's `map`. */
      readonly maps: boolean;
      /** What the handler gave that is no iterable. */
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
  /** The name of its job; `null` = that of the batch. */
  readonly job: string | null;
  /** JSON; `null` = nothing. */
  readonly payload: string | null;
  readonly options: unknown;
  /** What keeps it from being a child. */
  readonly error: Thrown | null;
}

/** In one message, and in the worker's memory at a time. */
export const mostItems = 100;
/** Of the payloads in one message, as JSON; the last one may reach beyond. */
export const mostItemChars = 262_144;

/** Of the result of one step, as JSON: all steps of a job together may not have more. */
export const mostStepChars = 262_144;

export type FromIsolate =
  | ({ readonly type: 'log' } & LogEntry)
  /** Lines are left out. */
  | { readonly type: 'overflow' }
  | { readonly type: 'ask'; readonly ask: number; readonly question: Question }
  /** The work of a step has returned this: JSON, or nothing. */
  | { readonly type: 'did'; readonly ask: number; readonly text: string | null }
  /** It has thrown. */
  | { readonly type: 'undone'; readonly ask: number; readonly error: Thrown }
  /** So much of a batch: `done` at the end of its items, `error` where they have stopped. */
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
  /** The last words of a process that an uncaught error is about to end. */
  | { readonly type: 'crashing'; readonly error: Thrown };

export interface MemoryUse {
  /** In use when the attempt has ended. */
  readonly heapBytes: number;
  /** Of a process the most that was ever resident; of a thread `heapBytes`, because it shares its process. */
  readonly peakBytes: number;
}

/** Something that was thrown, as data. */
export interface Thrown {
  readonly kind: 'permanent' | 'retry-after' | 'snooze' | 'rate-limited' | 'longshore' | 'error' | 'value';
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  /** A LongshoreError's code, or what Node and many libraries put on theirs (`ECONNRESET`). */
  readonly code: string | number | null;
  readonly retryAfterMs: number;
  readonly issues: readonly PayloadIssue[] | null;
  /** What caused it; those beyond the fifth are left out. */
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
 * The same class again where it is ours or the language's; any other error keeps name, message, stack and code, and so does one of
 * ours with a delay or a code that is none.
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
