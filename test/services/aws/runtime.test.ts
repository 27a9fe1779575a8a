/** The real bundle in AWS's own runtime client, behind a poller that keeps AWS's rules. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetQueueAttributesCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../core/base/clock.ts';
import { type Client, connect } from '../../../core/index.ts';
import { sqs } from '../../../functions/aws/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { bundle } from '../../../local/package/bundle.ts';
import { createPoller, type Poller } from '../../../local/simulate/lambda/poller.ts';
import { type Runtime, startRuntime } from '../../../local/simulate/lambda/runtime.ts';
import { type Endpoint, openEndpoint } from './endpoint.ts';
import { app } from './runtime-app.ts';

let endpoint: Endpoint;
let folder: string;
let runtime: Runtime;
let poller: Poller;
let client: Client;
let url: string;
let queueUrl: string;
const ends = app.jobs.get('ends')!;
const env = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };

beforeAll(async () => {
  endpoint = await openEndpoint();
  folder = await mkdtemp(join(tmpdir(), 'longshore-lambda-'));
  await bundle(join(import.meta.dirname, 'runtime-main.ts'), folder, { node: 24 });
  url = await endpoint.createQueue(`r${process.pid}-mail`, { VisibilityTimeout: '3' });
  await endpoint.createQueue(`r${process.pid}-mail-dlq`);
  queueUrl = url.slice(0, -'mail'.length);
  const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] });
  const arn = (await endpoint.client.send(command)).Attributes!.QueueArn!;
  runtime = await startRuntime({
    folder,
    handler: 'main.worker',
    env: { ...env, QUEUE_URL: queueUrl, SQS_ENDPOINT: endpoint.url },
  });
  await runtime.ready();
  poller = createPoller({
    client: endpoint.client,
    url,
    arn,
    clock: systemClock,
    batchSize: 10,
    invoke: (event, context) => runtime.invoke(event, context.getRemainingTimeInMillis()),
  });
  client = connect(app, sqs({ queueUrl, client: endpoint.client }), { store: memory().stores! });
});
afterAll(async () => {
  await runtime?.stop();
  await client?.close();
  await endpoint?.stop();
  await rm(folder, { recursive: true, force: true });
});

const enqueue = (how: string) => client.enqueue(ends, { how });

/** Polls until something comes; SQS hides what has failed for whole seconds. */
async function poll(timeoutMs = 20_000) {
  for (;;) {
    const polled = await poller.poll(timeoutMs);
    if (polled.taken > 0) return polled;
    await sleep(50);
  }
}

describe('the bundle in the runtime of AWS', () => {
  it('runs jobs and reports those that failed', async () => {
    await enqueue('end');
    await enqueue('throw');
    await enqueue('permanent');
    await endpoint.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: 'forged' }));
    expect(await poll()).toEqual({ taken: 4, done: 3, thrown: null });
    const letters = await client.backend.admin!.deadLetters.list({ queue: 'mail' });
    expect(letters.map(({ reason }) => reason).sort()).toEqual(['permanent', 'rejected']);
    expect(await poll()).toMatchObject({ taken: 1, done: 0 });
    expect(await poll()).toMatchObject({ taken: 1, done: 1 });
    expect(runtime.starts()).toBe(1);
    const settled = runtime.output.filter((line) => line.includes('job.settled'));
    expect(settled.filter((line) => line.includes('"exhausted"'))).toHaveLength(1);
  });

  it('is aborted in time before the function ends', async () => {
    await enqueue('wait');
    expect(await poll(2_000)).toEqual({ taken: 1, done: 0, thrown: null });
    expect(runtime.output.some((line) => line.includes('TIMEOUT'))).toBe(true);
    expect(runtime.starts()).toBe(1);
    for (let left = 2; left > 0; left--) await poll(2_000); // until its attempts are spent
  });

  it('loses nothing when it is killed at its deadline', async () => {
    await enqueue('block');
    expect(await poll(2_500)).toMatchObject({ taken: 1, done: 0, thrown: expect.any(Error) });
    expect(await poll()).toEqual({ taken: 1, done: 1, thrown: null });
    expect(runtime.starts()).toBe(2);
    expect(runtime.output.some((line) => line.includes('block 2'))).toBe(true);
  });

  it('takes no other job to the dead letters with one that ends its process', async () => {
    const { id } = await enqueue('exit');
    const others = await Promise.all(Array.from({ length: 9 }, () => enqueue('end')));
    const letters = () => client.backend.admin!.deadLetters.list({ queue: 'mail' });
    const before = (await letters()).map((letter) => letter.id);
    const ours = async () => (await letters()).filter((letter) => !before.includes(letter.id));
    const acked = () =>
      others.filter((one) =>
        runtime.output.some((line) => line.includes(one.id) && line.includes('"outcome":"acked"')),
      );
    while ((await ours()).length + acked().length < 10) await poll();
    expect(await ours()).toMatchObject([{ id, reason: 'crash-loop' }]);
    expect(acked()).toHaveLength(9);
  });

  it('answers what is no event of SQS with an error that says so', async () => {
    await expect(runtime.invoke({ Records: [{ eventSource: 'aws:s3' }] }, 5_000)).rejects.toThrow(
      /Expected an event of SQS, got records from "aws:s3"/,
    );
  });

  it('serves HTTP and schedules from the same file', async () => {
    for (const [handler, event, expected] of [
      ['main.schedule', {}, { enqueued: [] }],
      [
        'main.enqueue',
        {
          version: '2.0',
          rawPath: '/healthz',
          rawQueryString: '',
          headers: {},
          requestContext: { domainName: 'localhost', http: { method: 'GET' } },
          isBase64Encoded: false,
        },
        { statusCode: 200, body: '{"status":"ok"}' },
      ],
    ] as const) {
      const other = await startRuntime({
        folder,
        handler,
        env: { ...env, QUEUE_URL: queueUrl, SQS_ENDPOINT: endpoint.url },
      });
      expect(await other.invoke(event, 10_000)).toMatchObject(expected);
      await other.stop();
    }
  });
});

describe('a start', () => {
  let slow: string;
  beforeAll(async () => {
    slow = await mkdtemp(join(tmpdir(), 'longshore-lambda-'));
    const code = `await new Promise((resolve) => setTimeout(resolve, 1_500));
      export const worker = async ({ block }) => { while (block); return 'done'; };`;
    await writeFile(join(slow, 'main.mjs'), code);
  });
  afterAll(() => rm(slow, { recursive: true, force: true }));
  const startSlow = (initMs: number) => startRuntime({ folder: slow, handler: 'main.worker', env, initMs });

  it('is part of the time of an invocation only after a kill', async () => {
    const slowly = await startSlow(60_000);
    const invoke = (block: boolean) => slowly.invoke({ block }, 1_400);
    expect(await invoke(false)).toBe('done');
    await expect(invoke(true)).rejects.toThrow('Task timed out after 1.40 seconds');
    await expect(invoke(false)).rejects.toThrow('Task timed out after 1.40 seconds');
    expect(slowly.starts()).toBe(2);
    await slowly.stop();
  });

  it('that takes too long is said to, and tried again by the invocation', async () => {
    const slowly = await startSlow(100);
    await expect(slowly.ready()).rejects.toThrow('Init timed out after 0.1 seconds');
    expect(await slowly.invoke({}, 60_000)).toBe('done');
    await slowly.stop();
  });

  it('ends when it is stopped', async () => {
    const slowly = await startSlow(60_000);
    const invoked = expect(slowly.invoke({}, 60_000)).rejects.toThrow('Runtime stopped');
    await slowly.stop();
    await invoked;
    await expect(slowly.invoke({}, 60_000)).rejects.toThrow('Runtime stopped');
    expect(slowly.starts()).toBe(1);
  });
});
