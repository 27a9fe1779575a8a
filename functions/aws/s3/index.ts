/** Payloads that are too large for SQS, as objects in a bucket. */

import { config, shown } from '../../../core/base/errors.ts';
import type { PayloadStore } from '../../../core/contract/store.ts';
import { serviceOf } from '../../../core/kit/service.ts';
import type { S3PayloadsOptions } from './options.ts';

export type { S3Client, S3PayloadsOptions } from './options.ts';

/**
 * Loads the SDK with the first large payload. Give the bucket a lifecycle rule that removes leftovers after some 30 days:
 * longer than messages and dead letters live.
 */
export function s3Payloads(options: S3PayloadsOptions): PayloadStore {
  const { bucket, prefix = 'longshore/claims/' } = options;
  if (typeof bucket !== 'string' || !/^[A-Za-z0-9._:/-]{3,}$/.test(bucket)) {
    throw config(`s3Payloads() expects bucket to be the name of a bucket, got ${shown(bucket)}.`);
  }
  if (typeof prefix !== 'string' || prefix.startsWith('/')) {
    throw config(
      `s3Payloads() expects prefix to be text that does not begin with "/", got ${shown(prefix)}.`,
    );
  }
  const { call } = serviceOf(
    async () => (await import('./sdk.ts')).openS3(options),
    async (during, error) => (await import('./errors.ts')).s3Error(during, bucket, error),
  );
  return {
    put: (key, bytes) => call('keeping a payload', (s3) => s3.put(prefix + key, bytes)),
    get: (key, maxBytes) => call('fetching a payload', (s3) => s3.get(prefix + key, maxBytes)),
    delete: (key) => call('removing a payload', (s3) => s3.delete(prefix + key)),
  };
}
