/** The shop's files in a bucket. */

import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { type Files, missing } from '../app/files.ts';

/**
 * @param bucket read with the first file, as the SDK is loaded
 * @param given instead of a client of its own
 */
export function s3Files(bucket: () => string, given?: S3Client): Files {
  let client = given;
  const sdk = () => import('@aws-sdk/client-s3');
  return {
    async read(Key, range) {
      const { GetObjectCommand, S3Client } = await sdk();
      client ??= new S3Client();
      const Range = range && `bytes=${range.start}-${range.end}`;
      const get = new GetObjectCommand({ Bucket: bucket(), Key, Range });
      const { Body } = await client.send(get).catch((error: Error) => {
        throw error.name === 'NoSuchKey' ? missing(Key) : error;
      });
      return Body as Readable;
    },
    async write(Key, Body) {
      const { PutObjectCommand, S3Client } = await sdk();
      client ??= new S3Client();
      await client.send(new PutObjectCommand({ Bucket: bucket(), Key, Body }));
    },
  };
}
