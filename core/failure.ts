import { LongshoreError } from './errors.ts';
import type { AttemptError } from './store.ts';

const longestMessage = 2_000;
const longestStack = 4_000;

/** What a handler threw, as plain data that can be stored. */
export function reportError(error: unknown): AttemptError {
  if (!(error instanceof Error)) return { code: 'HANDLER', message: cut(String(error), longestMessage) };
  if (error instanceof LongshoreError)
    return { code: error.code, message: cut(error.message, longestMessage) };
  const message = cut(error.message || error.name, longestMessage);
  return error.stack === undefined
    ? { code: 'HANDLER', message }
    : { code: 'HANDLER', message, stack: cut(error.stack, longestStack) };
}

/** `CODE: message`, the one-line form for listings and logs. */
export function errorText(error: AttemptError | null): string {
  return error ? `${error.code}: ${error.message}` : '';
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
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
