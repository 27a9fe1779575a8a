/** The only file that imports the SDK. It is loaded on first use: that takes ten times as long as all the rest. */

import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { guarded } from '../lambda/guard.ts';
import type { S3PayloadsOptions } from './options.ts';

export interface S3Api {
  put(key: string, bytes: Uint8Array): Promise<void>;
  get(key: string, maxBytes: number): Promise<Uint8Array | null>;
  delete(key: string): Promise<void>;
}

const timeouts = { connectionTimeout: 2_000, requestTimeout: 30_000, throwOnRequestTimeout: true };

export function openS3({ bucket: Bucket, client: given, region, endpoint }: S3PayloadsOptions): S3Api {
  const settings: S3ClientConfig = { requestHandler: timeouts };
  if (region !== undefined) settings.region = region;
  if (endpoint !== undefined) Object.assign(settings, { endpoint, forcePathStyle: true });
  const client = guarded((given as S3Client | undefined) ?? new S3Client(settings));
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
