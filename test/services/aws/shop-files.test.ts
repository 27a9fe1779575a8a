/** The example's files in a bucket, on the S3 of fauxqs with the real SDK. */

import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe } from 'vitest';
import { s3Files } from '../../../examples/aws/files.ts';
import { describeFiles } from '../../unit/examples/shop-files.ts';
import { type Endpoint, openEndpoint } from './endpoint.ts';

let endpoint: Endpoint;
const clients: S3Client[] = [];
beforeAll(async () => {
  endpoint = await openEndpoint();
});
afterAll(async () => {
  for (const client of clients) client.destroy();
  await endpoint.stop();
});

function connect(): S3Client {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new S3Client({
    endpoint: endpoint.url,
    forcePathStyle: true,
    region: 'eu-central-1',
    credentials,
  });
  clients.push(client);
  return client;
}

describe('s3Files()', () => {
  let count = 0;
  describeFiles(async () => {
    const bucket = `shop-${process.pid}-${++count}`;
    await connect().send(new CreateBucketCommand({ Bucket: bucket }));
    return [s3Files(() => bucket, connect()), s3Files(() => bucket, connect())];
  });
});
