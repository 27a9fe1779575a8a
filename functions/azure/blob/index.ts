/** Payloads that are too large for Service Bus, as blobs in a container. */

import { config, shown } from '../../../core/base/errors.ts';
import type { PayloadStore } from '../../../core/contract/store.ts';
import { serviceOf } from '../../../core/kit/service.ts';
import { checkStorage } from '../storage/access.ts';
import { storageError } from '../storage/errors.ts';
import { type BlobPayloadsOptions, openBlobs } from './sdk.ts';

export type { BlobPayloadsOptions } from './sdk.ts';

/**
 * Loads the SDK with the first large payload. The container must exist. Give the account a lifecycle rule that removes
 * leftovers after some 120 days: longer than messages and dead letters live.
 */
export function blobPayloads(options: BlobPayloadsOptions): PayloadStore {
  const { container, prefix = 'longshore/claims/' } = options;
  if (typeof container !== 'string' || !/^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$/.test(container)) {
    throw config(
      `blobPayloads() expects container to be 3 to 63 small letters, digits and single hyphens, got ${shown(container)}.`,
    );
  }
  if (typeof prefix !== 'string' || prefix.startsWith('/')) {
    throw config(
      `blobPayloads() expects prefix to be text that does not begin with "/", got ${shown(prefix)}.`,
    );
  }
  checkStorage(options, 'blobPayloads()');
  const failure = { service: 'Blob storage', where: `container ${container}` };
  const { call } = serviceOf(
    () => openBlobs(options),
    (during, error) => storageError(failure, during, error),
  );
  return {
    put: (key, bytes) => call('keeping a payload', (blobs) => blobs.put(prefix + key, bytes)),
    get: (key, maxBytes) => call('fetching a payload', (blobs) => blobs.get(prefix + key, maxBytes)),
    delete: (key) => call('removing a payload', (blobs) => blobs.delete(prefix + key)),
  };
}
