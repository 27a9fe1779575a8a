/** Payloads that are too large for SQS, as objects in a bucket. */

import { config, shown } from '../../../core/base/errors.ts';
import { optional } from '../../../core/base/optional.ts';
import type { PayloadStore } from '../../../core/contract/store.ts';
import { cloudPayloads } from '../../../core/kit/clouds/payloads.ts';
import { endpointFor, openClient, type Remedies, type SdkClient, sdkError } from '../sdk-client.ts';

/**
 * Loads the SDK with the first large payload. Give the bucket a lifecycle rule that removes leftovers after some 30 days, which must be longer
 * than messages and dead letters live.
 */
export function s3Payloads(options: S3PayloadsOptions): PayloadStore {
  const { bucket } = options;
  if (typeof bucket !== 'string' || !/^[A-Za-z0-9._:/-]{3,}$/.test(bucket)) {
    throw config(`s3Payloads() expects bucket to be the name of a bucket, got ${shown(bucket)}.`);
  }
  return cloudPayloads(
    's3Payloads()',
    options.prefix,
    () => openS3(options),
    (during, error) => sdkError(`S3 failed while ${during} (bucket ${bucket})`, error, remedies),
  );
}

const remedies: Remedies = {
  NoSuchBucket: 'Create the bucket, or correct its name.',
  // Without the permission to list, S3 also answers this for a missing object.
  AccessDenied:
    'Allow s3:GetObject, s3:PutObject and s3:DeleteObject on its objects, and s3:ListBucket on itself.',
};

const timeoutMs = 30_000;

async function openS3(options: S3PayloadsOptions): Promise<PayloadStore> {
  const { bucket: Bucket } = options;
  const sdk = await import('@aws-sdk/client-s3').catch(optional('@aws-sdk/client-s3'));
  const { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } = sdk;
  const forcePathStyle = options.endpoint !== undefined;
  const service = { sdk: '@aws-sdk/client-s3', goesTo: endpointFor('S3', options), timeoutMs };
  const client = openClient(
    options,
    service,
    (settings) => new sdk.S3Client({ ...settings, forcePathStyle }),
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
  /** Prefix of every key; use it in a lifecycle rule. @default 'longshore/claims/' */
  readonly prefix?: string;
  /** @default a new client, configured by the usual AWS variables */
  readonly client?: S3Client;
  readonly region?: string;
  /** Another server than AWS; the bucket's name is then in the path. */
  readonly endpoint?: string;
}
