/** Every code Longshore can raise; `docs/errors.md` explains each, and a test keeps the two equal. */
export const errorCodes = [
  'CONFIG',
  'OPTION',
  'PAYLOAD',
  'ENVELOPE',
  'PAYLOAD_STORE',
  'SIGNATURE',
  'UNKNOWN_KEY',
  'WRONG_QUEUE',
  'EXPIRED',
  'UNKNOWN_JOB',
  'LIMIT',
  'BATCH',
  'QUEUE_FULL',
  'TIMEOUT',
  'CANCELLED',
  'CRASH_LOOP',
  'LEASE_LOST',
  'BACKEND',
  'CORRUPT',
  'STORAGE_FULL',
  'READ_ONLY',
  'SCHEMA_VERSION',
  'HANDLER',
  'REQUEST',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'TOKEN',
  'NOT_FOUND',
  'CONFLICT',
  'RATE_LIMIT',
  'INTERNAL',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** One thing that is wrong with a payload. */
export interface PayloadIssue {
  /** `items.0.price`; `payload` for the whole. */
  readonly path: string;
  readonly message: string;
}

/**
 * Marks what a class makes, so that `instanceof` knows it though another copy of this package has made it: workspaces and bundles may have
 * several, and a handler's errors decide what happens to its job. A user's subclass keeps its own `instanceof`.
 */
function branded(Class: abstract new (...given: never[]) => Error, name: string): void {
  const brand = Symbol.for(`longshore.${name}`);
  Object.defineProperty(Class.prototype, brand, { value: true });
  Object.defineProperty(Class, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== Class) return Function.prototype[Symbol.hasInstance].call(this as never, value);
      return typeof value === 'object' && value !== null && brand in value;
    },
  });
}

/**
 * The one error class. `message` says what was expected, what came and what to do;
 * `code` is stable and is what programs should compare.
 */
export class LongshoreError extends Error {
  readonly code: ErrorCode;
  /** With `PAYLOAD`, when a schema has refused: what is wrong, path by path. */
  declare readonly issues?: readonly PayloadIssue[];

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; issues?: readonly PayloadIssue[] } = {},
  ) {
    super(message, options);
    this.name = 'LongshoreError';
    this.code = code;
    if (options.issues) this.issues = options.issues;
  }
}

branded(LongshoreError, 'LongshoreError');

/** Thrown by a handler: no retry can help, so the job goes to the dead letters at once. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
}
branded(PermanentError, 'PermanentError');

/** Thrown by a handler: try again after `retryAfterMs` (366 days at most), whatever the job's policy says. */
export class RetryAfterError extends Error {
  override readonly name: string = 'RetryAfterError';
  readonly retryAfterMs: number;

  constructor(
    retryAfterMs: number,
    message = `retry after ${retryAfterMs} ms`,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    if (!Number.isFinite(retryAfterMs) || retryAfterMs < 0) {
      throw config(`Expected a delay of 0 ms or more, got ${retryAfterMs}.`);
    }
    this.retryAfterMs = retryAfterMs;
  }
}
branded(RetryAfterError, 'RetryAfterError');

/**
 * Thrown by a handler: not now. Like `RetryAfterError`, but no attempt is spent, and nothing has failed. So nothing ends a job that
 * snoozes for ever, but its `expiresInMs`.
 */
export class SnoozeError extends RetryAfterError {
  override readonly name: string = 'SnoozeError';

  constructor(delayMs: number, message = `snoozed for ${delayMs} ms`) {
    super(delayMs, message);
  }
}
branded(SnoozeError, 'SnoozeError');

/** Thrown by `ctx.rateLimited()`: all jobs that share the job's rate wait too. */
export class RateLimitedError extends SnoozeError {
  override readonly name = 'RateLimitedError';
}
branded(RateLimitedError, 'RateLimitedError');

export function config(message: string): LongshoreError {
  return new LongshoreError('CONFIG', message);
}

/** `value` as a short, safe piece of an error message: its type and, for simple values, its text. */
export function shown(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
  if (value === null || ['number', 'boolean', 'undefined', 'bigint'].includes(typeof value))
    return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
