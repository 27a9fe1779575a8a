import type { ErrorCode } from './error-codes.ts';

export type { ErrorCode };

/** One thing that is wrong with a payload. */
export interface PayloadIssue {
  /** `items.0.price`; `payload` for the whole. */
  readonly path: string;
  readonly message: string;
}

/**
 * Lets `instanceof` recognise an error that another copy of this package created. Workspaces and bundles may hold several copies, and a
 * handler's errors decide what happens to its job. A user's subclass keeps the usual `instanceof`.
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

/** The error class of Longshore. `message` says what is wrong and what to do. Programs should compare `code`, which is stable. */
export class LongshoreError extends Error {
  readonly code: ErrorCode;
  /** With `PAYLOAD` from a schema: the faults, path by path. */
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

/** Throw it in a handler when no retry can help: the job goes to the dead letters at once. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
}
branded(PermanentError, 'PermanentError');

/** Throw it in a handler to retry after `retryAfterMs` (at most 366 days) instead of the delay of the job's policy. */
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
 * Throw it in a handler to run the job later. Unlike `RetryAfterError` it is no failure and spends no attempt. So only `expiresInMs` ends a job
 * that always snoozes.
 */
export class SnoozeError extends RetryAfterError {
  override readonly name: string = 'SnoozeError';

  constructor(delayMs: number, message = `snoozed for ${delayMs} ms`) {
    super(delayMs, message);
  }
}
branded(SnoozeError, 'SnoozeError');

/** Thrown by `ctx.rateLimited()`: all jobs under the same rate wait too. */
export class RateLimitedError extends SnoozeError {
  override readonly name = 'RateLimitedError';
}
branded(RateLimitedError, 'RateLimitedError');

export function config(message: string): LongshoreError {
  return new LongshoreError('CONFIG', message);
}

/** `value` as a short, safe part of an error message: its type and, for simple values, its text. */
export function shown(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
  if (value === null || ['number', 'boolean', 'undefined', 'bigint'].includes(typeof value))
    return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
