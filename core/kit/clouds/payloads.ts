/** Payloads as objects in a cloud's storage. The first large payload loads the SDK. */

import { config, shown } from '../../base/errors.ts';
import type { PayloadStore } from '../../contract/store.ts';
import { serviceOf } from '../service.ts';

/**
 * Throws `CONFIG` for an invalid prefix.
 * @param caller named in the error, like `s3Payloads()`
 * @param failure what to throw instead of the SDK's own error
 */
export function cloudPayloads(
  caller: string,
  prefix: string | undefined = 'longshore/claims/',
  open: () => Promise<PayloadStore>,
  failure: (during: string, error: unknown) => Error,
): PayloadStore {
  if (typeof prefix !== 'string' || prefix.startsWith('/'))
    throw config(`${caller} expects prefix to be text that does not begin with "/", got ${shown(prefix)}.`);
  const { call } = serviceOf(open, failure);
  return {
    put: (key, bytes) => call('keeping a payload', (objects) => objects.put(prefix + key, bytes)),
    get: (key, maxBytes) => call('fetching a payload', (objects) => objects.get(prefix + key, maxBytes)),
    delete: (key) => call('removing a payload', (objects) => objects.delete(prefix + key)),
  };
}
