/** What handlers of requests have in common, wherever they are mounted. */

import { config, LongshoreError, shown } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import type { App } from '../../kernel/app/app.ts';
import { Refusal } from './problem.ts';

/** Throws `CONFIG`. */
export function checkBasePath(basePath: string, example: string): void {
  if (/^(\/[\w.-]+)*$/.test(basePath)) return;
  throw config(
    `Expected basePath to be empty or like "${example}", without a slash at its end, got ${shown(basePath)}.`,
  );
}

/** What `authorize` of a user answers. A failure of it is no answer: it lets nobody in. */
export async function authorized<Answer>(
  authorize: (request: Request) => Answer | Promise<Answer>,
  request: Request,
  detail: string,
): Promise<Answer> {
  try {
    return await authorize(request);
  } catch (cause) {
    throw new Refusal(503, 'INTERNAL', detail, { headers: { 'retry-after': '5' }, cause });
  }
}

/** A failure that its caller is told little of, for the log of those who run the app. */
export function report(
  { events }: App,
  { status, cause, code, message }: Refusal,
  method: string,
  requestId: string,
): void {
  if (!events.active) return;
  const error =
    cause instanceof LongshoreError
      ? cause
      : new LongshoreError(code, cause === undefined ? message : toError(cause).message, { cause });
  events.emit({ type: 'http.failed', method, status, requestId, error });
}

/** What stands in a path for a name. */
export function decoded(parameter: string): string {
  try {
    return decodeURIComponent(parameter);
  } catch (cause) {
    const detail =
      'Expected a path with valid percent-encoding, got another. Encode the name with encodeURIComponent.';
    throw new Refusal(400, 'REQUEST', detail, { cause });
  }
}
