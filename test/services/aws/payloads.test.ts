/** Large payloads in S3, on the S3 of fauxqs with the real SDK. */

import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import { ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing, PermanentError } from '../../../core/index.ts';
import { lambda, s3Payloads } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { describePayloads } from '../../testing/laws/payload-store.ts';
import { openBench, type SqsBench } from './bench.ts';
import { type Endpoint, openEndpoint } from './endpoint.ts';

let endpoint: Endpoint;
let client: S3Client;
let count = 0;
let opened: SqsBench | null = null;

beforeAll(async () => {
  endpoint = await openEndpoint();
  client = s3(endpoint.url);
});
afterEach(async () => {
  await opened?.close();
  opened = null;
});
afterAll(async () => {
  vi.useRealTimers();
  client.destroy();
  await endpoint.stop();
});

const s3 = (url: string) =>
  new S3Client({
    endpoint: url,
    forcePathStyle: true,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
  });

const prefix = 'shop/claims/';

async function openBucket() {
  const bucket = `claims-${process.pid}-${++count}`;
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const cut = s3('http://127.0.0.1:1');
  const list = async () => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
    return Contents.map(({ Key }) => Key!);
  };
  return {
    bucket,
    payloads: s3Payloads({ bucket, prefix, client }),
    peer: s3Payloads({ bucket, prefix, client }),
    unreachable: s3Payloads({ bucket, prefix, client: cut }),
    keys: async () => (await list()).map((key) => key.slice(prefix.length)),
    async close() {
      for (const Key of await list()) await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }));
      await client.send(new DeleteBucketCommand({ Bucket: bucket }));
      cut.destroy();
    },
  };
}

describePayloads('s3Payloads()', { open: openBucket }, { describe, it });

async function open() {
  const bucket = await openBucket();
  const sqs = await openBench(endpoint, { attributes: { VisibilityTimeout: '360' } });
  opened = sqs;
  const { clock } = sqs.time;
  const ran: number[] = [];
  const job = defineJob({
    name: 'report',
    queue: 'mail',
    payload: z.object({ text: z.string(), dies: z.boolean() }),
    async handle({ text, dies }) {
      ran.push(text.length);
      if (dies) throw new PermanentError('no');
      return { length: text.length };
    },
  });
  const app = createApp({
    jobs: [job],
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    clock,
  });
  const store = { ...memoryStore({ clock }), payloads: bucket.payloads };
  const { worker } = lambda(app, { backend: sqs.backend, store, log: false });
  const { url, arn } = sqs;
  const poller = createPoller({ client: endpoint.client, url, arn, clock, batchSize: 10, invoke: worker });
  return { ...sqs, bucket, ran, job, store, poller, client: connect(app, sqs.backend, { store }) };
}

const text = 'x'.repeat(3_000_000);

describe('a job that is too large for SQS', () => {
  it('travels with a key and a digest, and leaves nothing behind', async () => {
    const t = await open();
    const { id } = await t.client.enqueue(t.job, { text, dies: false });
    expect(await t.bucket.keys()).toEqual([expect.stringMatching(`^${id}\\.[0-9a-f]{16}$`)]);
    expect(await t.poller.poll(60_000)).toEqual({ taken: 1, done: 1, thrown: null });
    expect(t.ran).toEqual([text.length]);
    expect(await t.bucket.keys()).toEqual([]);
    expect(await t.client.status(id)).toMatchObject({ status: 'completed', output: { length: text.length } });
    await t.bucket.close();
  });

  it('that comes once more after it is done is not run, and is no dead letter', async () => {
    const t = await open();
    await t.client.enqueue(t.job, { text, dies: false });
    const { Messages } = await endpoint.client.send(
      new ReceiveMessageCommand({ QueueUrl: t.url, MessageAttributeNames: ['All'], VisibilityTimeout: 0 }),
    );
    const [{ Body, MessageAttributes } = {}] = Messages!;
    expect(Body!.length).toBeLessThan(1_000);
    await t.poller.poll(60_000);
    const copy = { QueueUrl: t.url, MessageBody: Body, MessageAttributes };
    await endpoint.client.send(new SendMessageCommand(copy));
    expect(await t.poller.poll(60_000)).toEqual({ taken: 1, done: 1, thrown: null });
    expect(t.ran).toHaveLength(1);
    expect(await t.backend.admin.deadLetters.list({})).toEqual([]);
    await t.bucket.close();
  });

  it('keeps its payload as a dead letter', async () => {
    const t = await open();
    const { id } = await t.client.enqueue(t.job, { text, dies: true });
    await t.poller.poll(60_000);
    expect(await t.bucket.keys()).toHaveLength(1);
    expect(await t.backend.admin.deadLetters.retry([id])).toBe(1);
    expect(await t.poller.poll(60_000)).toMatchObject({ done: 1 });
    expect(t.ran).toEqual([text.length, text.length]);
    await t.bucket.close();
  });

  it('is still refused where the store keeps no payloads', async () => {
    const t = await open();
    const without = connect(t.client.app, t.backend, { store: memoryStore() });
    await expect(without.enqueue(t.job, { text, dies: false })).rejects.toMatchObject({ code: 'LIMIT' });
    await t.bucket.close();
  });
});

describe('what s3Payloads() is given', () => {
  it.each([
    [{}, /bucket to be the name of a bucket, got undefined/],
    [{ bucket: 'a b' }, /got "a b"/],
    [{ bucket: 'claims', prefix: '/x' }, /prefix to be text that does not begin with "\/"/],
  ])('is refused with CONFIG: %o', (options, message) => {
    expect(() => s3Payloads(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(message) }),
    );
  });

  it('is asked about when it is wrong: a bucket that is not there', async () => {
    const payloads = s3Payloads({ bucket: 'nowhere-at-all', client });
    await expect(payloads.put('a', new Uint8Array(1))).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/bucket nowhere-at-all.*Create the bucket/),
    });
  });
});
