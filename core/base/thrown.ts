/** Thrown values as data that survives a structured clone, for the way between a worker and an isolate. */

import { type ErrorCode, errorCodes } from './error-codes.ts';
import {
  LongshoreError,
  type PayloadIssue,
  PermanentError,
  RateLimitedError,
  RetryAfterError,
  SnoozeError,
} from './errors.ts';
import { messageOf, toError } from './failure.ts';

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

const mostCauses = 5;

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

const isText = (x: unknown): boolean => typeof x === 'string';
const isTextOrNull = (x: unknown): boolean => x === null || isText(x);

/** For data from code that is not trusted. */
export function isThrown(data: unknown, depth = 0): data is Thrown {
  if (typeof data !== 'object' || data === null) return false;
  const { kind, name, message, stack, code, retryAfterMs, issues, cause } = data as Record<string, unknown>;
  return (
    [kind, name, message].every(isText) &&
    isTextOrNull(stack) &&
    (isTextOrNull(code) || typeof code === 'number') &&
    typeof retryAfterMs === 'number' &&
    (cause === null || (depth < mostCauses && isThrown(cause, depth + 1))) &&
    (issues === null ||
      (Array.isArray(issues) && issues.every((issue) => isText(issue?.path) && isText(issue.message))))
  );
}
