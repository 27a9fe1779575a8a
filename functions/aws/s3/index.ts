/** Payloads that are too large for SQS, as objects in a bucket. */

import { config, shown } from '../../../core/base/errors.ts';
import { optional } from '../../../core/base/optional.ts';
import type { PayloadStore } from '../../../core/contract/store.ts';
import { serviceOf } from '../../../core/kit/service.ts';
import { endpointFor, openClient, type Remedies, type SdkClient, sdkError } from '../sdk-client.ts';

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
    () => openS3(options),
    (during, error) => sdkError(`S3 failed while ${during} (bucket ${bucket})`, error, remedies),
  );
  return {
    put: (key, bytes) => call('keeping a payload', (s3) => s3.put(prefix + key, bytes)),
    get: (key, maxBytes) => call('fetching a payload', (s3) => s3.get(prefix + key, maxBytes)),
    delete: (key) => call('removing a payload', (s3) => s3.delete(prefix + key)),
  };
}

const remedies: Remedies = {
  NoSuchBucket: 'Create the bucket, or correct its name.',
  // Without the permission to list, S3 answers this for a missing object too.
  AccessDenied:
    'Allow s3:GetObject, s3:PutObject and s3:DeleteObject on its objects, and s3:ListBucket on itself.',
};

const timeoutMs = 30_000;

async function openS3({
  bucket: Bucket,
  client: given,
  ...target
}: S3PayloadsOptions): Promise<PayloadStore> {
  const sdk = await import('@aws-sdk/client-s3').catch(optional('@aws-sdk/client-s3'));
  const { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } = sdk;
  const forcePathStyle = target.endpoint !== undefined;
  const create = (settings: object) => new sdk.S3Client({ ...settings, forcePathStyle });
  const client = openClient(
    given,
    target,
    endpointFor('S3', target),
    timeoutMs,
    '@aws-sdk/client-s3',
    create,
  );
  return {
    async put(Key, Body) {
      await client.send(new PutObjectCommand({ Bucket, Key, Body, ContentType: 'application/json' }));
    },
    async get(Key, maxBytes) {
      try {
        const { Body, ContentLength = 0 } = await client.send(new GetObjectCommand({ Bucket, Key }));
        if (ContentLength > maxBytes) {
          await Body?.transformToWebStream().cancel();
          return new Uint8Array();
        }
        return (await Body?.transformToByteArray()) ?? new Uint8Array();
      } catch (error) {
        if ((error as Error).name === 'NoSuchKey') return null;
        throw error;
      }
    },
    async delete(Key) {
      await client.send(new DeleteObjectCommand({ Bucket, Key }));
    },
  };
}

/** An `S3Client` of `@aws-sdk/client-s3`. */
export type S3Client = SdkClient;

export interface S3PayloadsOptions {
  readonly bucket: string;
  /** What stands before every key; a lifecycle rule can name it. @default 'longshore/claims/' */
  readonly prefix?: string;
  /** @default one of our own, set up by the usual AWS variables */
  readonly client?: S3Client;
  readonly region?: string;
  /** Instead of AWS; the bucket's name then stands in the path. */
  readonly endpoint?: string;
}
