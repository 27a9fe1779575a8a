/** The only file that imports the SDK. It is loaded on first use: that takes ten times as long as all the rest. */

import { optional } from '../../../core/base/optional.ts';
import type { PayloadStore } from '../../../core/contract/store.ts';
import { endpointFor, openClient } from '../sdk-client.ts';
import type { S3PayloadsOptions } from './options.ts';

const timeoutMs = 30_000;

export async function openS3({
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
