/** What errors of all SDKs of Azure have in common. */

import { toError } from '../../core/base/failure.ts';

/** When every address of a host refuses, the error has no text of its own, only those of its parts. */
export function messageOf(error: unknown): string {
  const { message, name } = toError(error);
  if (message !== '') return message;
  return error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : name;
}
