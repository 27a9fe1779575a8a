import { isNativeError } from 'node:util/types';
import { type ErrorCode, LongshoreError } from './errors.ts';
import type { Events, LongshoreEvent } from './events.ts';
import { masked } from './mask.ts';

/** The error of a handler, as plain data that can be stored. */
export interface AttemptError {
  readonly code: string;
  readonly message: string;
  readonly stack?: string;
}

/** A backend that did not answer, where the app has several. */
export interface UnavailableBackend {
  readonly backend: string;
  readonly code: ErrorCode;
  /** The reason, without credentials. */
  readonly message: string;
}

const longestMessage = 2_000;
const longestStack = 4_000;
/** The longest first line of a stack; the full message is kept beside the stack. */
const longestHead = 300;
const mostFrames = 20;
const mostFramesOfCause = 6;
const mostCauses = 5;
/** Separates an error from its cause. */
export const causedBy = '\ncaused by: ';

/** These errors end attempts from outside of the handler: the stack would be Longshore's own. */
const ownEnds: readonly ErrorCode[] = [
  ...(['TIMEOUT', 'CANCELLED', 'LEASE_LOST', 'CRASH_LOOP', 'EXPIRED', 'UNKNOWN_JOB'] as const),
  ...(['SIGNATURE', 'UNKNOWN_KEY', 'WRONG_QUEUE', 'ENVELOPE'] as const),
];

export function reportError(error: unknown): AttemptError {
  const code = error instanceof LongshoreError ? error.code : 'HANDLER';
  const message = cut(messageOf(error), longestMessage);
  const stack = code !== 'HANDLER' && ownEnds.includes(code) ? null : stackText(error);
  return stack === null ? { code, message } : { code, message, stack };
}

/** The stack of a failed attempt, for logs; `null` if the event has none. */
export const stackOf = (event: LongshoreEvent): string | null =>
  event.type === 'job.settled' && event.counted && event.cause !== null
    ? (reportError(event.cause).stack ?? null)
    : null;

/** The stacks of an error and its causes, as one text; `null` if there are none. */
export function stackText(error: unknown): string | null {
  const parts: string[] = [];
  try {
    const open = [error];
    for (let at = open.shift(); isError(at) && parts.length <= mostCauses; at = open.shift()) {
      if (typeof at.stack !== 'string') break;
      parts.push(shortened(at.stack, parts.length === 0 ? mostFrames : mostFramesOfCause));
      open.push(...(at.cause === undefined ? innerOf(at) : [at.cause]));
    }
  } catch {
    // A getter of the error has thrown: use the stacks that were read before.
  }
  return parts.length > 0 ? cut(parts.join(causedBy), longestStack) : null;
}

/** A long message must not displace the frames. */
function shortened(stack: string, most: number): string {
  const frames = stack.search(/\n {4}at /);
  if (frames < 0) return cut(stack, longestHead);
  const head = cut(stack.slice(0, frames), longestHead);
  return (
    head +
    stack
      .slice(frames)
      .split('\n', most + 1)
      .join('\n')
  );
}

/** Also accepts an error of another realm: Jest runs tests in a realm of their own. */
const isError = (value: unknown): value is Error => value instanceof Error || isNativeError(value);

/** The errors inside an `AggregateError`. */
const innerOf = (error: Error): readonly unknown[] =>
  'errors' in error && Array.isArray(error.errors) ? error.errors.slice(0, mostCauses) : [];

/** Never throws, even for a value that cannot be converted to text: a report that throws would leave the job unsettled. */
export function messageOf(error: unknown): string {
  try {
    if (!isError(error)) return textOfValue(error);
    const message = String(error.message || error.name);
    const inner = error.cause === undefined ? innerOf(error).map(messageOf) : [];
    return inner.length === 0 ? message : `${message}: ${inner.join('; ')}`;
  } catch {
    return 'The handler threw a value that has no text.';
  }
}

/** SDKs throw plain objects with a message. Other objects are shown with their members, except those that look like secrets. */
function textOfValue(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if ('message' in value && typeof value.message === 'string' && value.message !== '') return value.message;
  const text = String(value);
  return text === '[object Object]' ? JSON.stringify(masked(value)) : text;
}

/** `CODE: message`, the one-line form for listings and logs. */
export function errorText(error: AttemptError | null): string {
  return error ? `${error.code}: ${error.message}` : '';
}

export function toError(error: unknown): Error {
  return isError(error) ? error : new Error(messageOf(error));
}

/** Converts a driver's error to a `LongshoreError`, so that callers see one class. */
export function backendError(during: string, cause: unknown): LongshoreError {
  return cause instanceof LongshoreError
    ? cause
    : new LongshoreError('BACKEND', `The backend failed during ${during}: ${toError(cause).message}`, {
        cause,
      });
}

/** At most `length` characters; a longer text is cut and ends with an ellipsis. */
export const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;

/** For failures of webhooks and heartbeats: their URLs are secrets. */
export const messageWithoutUrls = (error: unknown): string =>
  toError(error).message.replaceAll(/\w+:\/\/\S+/g, '[URL]');

/** Makes a write that a job does not depend on: a failure is emitted as an event and does not affect the job. `null` = it failed. */
export async function reportingFailures<T>(
  events: Events,
  during: string,
  ids: readonly string[],
  write: () => Promise<T>,
  store: 'record' | 'payload' | 'metric' | 'audit' | 'key' | 'batch' = 'record',
): Promise<T | null> {
  try {
    return await write();
  } catch (cause) {
    const message = `The ${store} store failed while ${during}: ${toError(cause).message}`;
    const error = cause instanceof LongshoreError ? cause : new LongshoreError('BACKEND', message, { cause });
    events.emit({ type: 'store.failed', during, ids, error });
    return null;
  }
}
