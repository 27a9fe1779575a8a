import type { AttemptError } from '../contract/outcome.ts';
import { LongshoreError } from './errors.ts';

const longestMessage = 2_000;
const longestStack = 4_000;

/** What a handler threw, as plain data that can be stored. */
export function reportError(error: unknown): AttemptError {
  if (error instanceof LongshoreError)
    return { code: error.code, message: cut(error.message, longestMessage) };
  const message = cut(messageOf(error), longestMessage);
  const stack = stackOf(error);
  return { code: 'HANDLER', message, ...(stack !== null && { stack: cut(stack, longestStack) }) };
}

/** Anything can be thrown, even what has no text: a report that throws would leave the job unsettled. */
function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message || error.name) : String(error);
  } catch {
    return 'The handler threw a value that has no text.';
  }
}

function stackOf(error: unknown): string | null {
  try {
    return error instanceof Error && typeof error.stack === 'string' ? error.stack : null;
  } catch {
    return null;
  }
}

/** `CODE: message`, the one-line form for listings and logs. */
export function errorText(error: AttemptError | null): string {
  return error ? `${error.code}: ${error.message}` : '';
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(messageOf(error));
}

/** A driver's error as ours, so that callers meet one class. */
export function backendError(during: string, cause: unknown): LongshoreError {
  return cause instanceof LongshoreError
    ? cause
    : new LongshoreError('BACKEND', `The backend failed during ${during}: ${toError(cause).message}`, {
        cause,
      });
}

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;
