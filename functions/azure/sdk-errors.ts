/** Common parts of the errors of Azure's SDKs. */

import { toError } from '../../core/base/failure.ts';

/** If every address of a host refuses, the error has no message of its own; only its parts have. */
export function messageOf(error: unknown): string {
  const { message, name } = toError(error);
  if (message !== '') return message;
  return error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : name;
}
