/** The example shop, played with functions in this process: what each of them asks of AWS. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { systemClock } from '../../../core/base/clock.ts';
import { connect, withContext } from '../../../core/index.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { createExampleApp } from '../../../examples/app/app.ts';
import { s3Files } from '../../../examples/aws/files.ts';
import { lanes } from '../../../examples/aws/lanes.ts';
import { setStage } from '../../../examples/demo/stage.ts';
import { badMoments, expectations, prepareSamples, sendEverything } from '../../../examples/demo/story.ts';
import { createDynamoTable, dynamoStore, lambda, sqs } from '../../../functions/aws/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { startDynamo } from '../../kit/servers/dynamo-server.ts';
import { openEndpoint } from './endpoint.ts';

export interface Source {
  /** Of SQS. */
  readonly queue: string;
  /** Of the app. */
  readonly name: string;
  /** The function that it calls. */
  readonly calls: string;
}

const bucket = 'files';
const table = 'jobs';
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const mostMs = 60_000;

/** By function: the actions of IAM, and on what. `sqs:SendMessage shop-mail` */
export async function recordCalls(
  prefix: string,
  sources: readonly Source[],
): Promise<Map<string, Set<string>>> {
  const calls = new Map<string, Set<string>>();
  const actor = new AsyncLocalStorage<string>();
  const endpoint = await openEndpoint();
  const dynamoServer = await startDynamo();
  const folder = await mkdtemp(join(tmpdir(), 'longshore-calls-'));
  const stage = await setStage(folder, badMoments);

  /** The client, of which every request is written down for who makes it. */
  function recorded<Client extends { readonly middlewareStack: { add(...how: never): void } }>(
    service: string,
    client: Client,
  ): Client {
    const record =
      (next: (args: { input: Record<string, unknown> }) => unknown, { commandName = '' }) =>
      (args: { input: Record<string, unknown> }) => {
        const who = actor.getStore();
        if (who) {
          const action = commandName
            .replace(/Command$/, '')
            .replace(/^(Send|Delete|ChangeMessageVisibility)(Message)?Batch$/, '$1$2');
          const { QueueUrl, TableName, IndexName, Bucket } = args.input;
          const on = QueueUrl
            ? String(QueueUrl).split('/').at(-1)
            : Bucket
              ? 'ShopBucket/*'
              : `Table${TableName && IndexName ? `/index/${IndexName}` : ''}`;
          calls.set(who, (calls.get(who) ?? new Set()).add(`${service}:${action} ${on}`));
        }
        return next(args);
      };
    client.middlewareStack.add(...([record, { step: 'initialize', name: 'record' }] as never));
    return client;
  }

  const s3 = (forcePathStyle = true) =>
    new S3Client({ endpoint: endpoint.url, region: 'us-east-1', credentials, forcePathStyle });
  const sqsClient = recorded(
    'sqs',
    new SQSClient({ endpoint: endpoint.url, region: 'us-east-1', credentials, useQueueUrlAsEndpoint: false }),
  );
  const dynamo = recorded(
    'dynamodb',
    new DynamoDBClient({ endpoint: dynamoServer.endpoint, region: 'us-east-1', credentials }),
  );
  const files = recorded('s3', s3());
  const setUp = s3();

  try {
    await setUp.send(new CreateBucketCommand({ Bucket: bucket }));
    await createDynamoTable({ table, endpoint: dynamoServer.endpoint });
    const urls = new Map<string, string>();
    for (const { queue, name } of sources)
      for (const one of [queue, `${prefix}${name}-dlq`])
        urls.set(one, await endpoint.createQueue(one, { VisibilityTimeout: '2' }));
    const queueUrl = [...urls.values()][0]!.replace(/[^/]*$/, prefix);
    process.env.LONGSHORE_SIGNING_KEYS ??= `k:${Buffer.alloc(32, 1).toString('base64')}`;
    const inBucket = s3Files(() => bucket, files);
    let reads = 0;
    const read: typeof inBucket.read = async (name, range) => {
      if (name === 'orders.csv' && ++reads === 1) throw new Error('not now'); // the import is retried
      return inBucket.read(name, range);
    };
    const services = { ...stage.services, files: { ...inBucket, read } };
    const example = createExampleApp(services, {
      nightlyCron: '* * * * * *',
      signUpTimes: { confirmWithin: '1s', tipsAfter: '1s' },
    });
    const { app } = example;
    const backend = sqs({ queueUrl, lanes, client: sqsClient });
    const store = dynamoStore({ table, client: dynamo });
    const key = 'x'.repeat(32);
    const functions = lambda(app, { backend, store, log: false, apiKeys: [{ id: 'web', key }] });
    const client = connect(app, backend, { store });
    const expected = { ...expectations(1_000), invoices: 4, payments: 4 };
    const samples = await prepareSamples(stage, expected);
    for (const Key of ['orders.csv', ...samples.files, samples.clip])
      await setUp.send(
        new PutObjectCommand({ Bucket: bucket, Key, Body: await readFile(join(folder, Key)) }),
      );

    const ended = new Set<string>();
    app.events.on((event) => {
      if (event.type === 'job.settled' && event.outcome === 'acked') ended.add(event.job!);
    });
    const pollers = sources.map(({ queue, calls: name }) => {
      const arn = `arn:aws:sqs:us-east-1:000000000000:${queue}`;
      const invoke = (event: unknown, context: never) =>
        actor.run(name, () => functions.worker(event, context));
      const url = urls.get(queue)!;
      return createPoller({
        client: endpoint.client,
        url,
        arn,
        clock: systemClock,
        batchSize: 10,
        invoke: invoke as never,
      });
    });
    /** Until that is done, or for so long. */
    const work = async (isDone: () => boolean) => {
      for (const until = Date.now() + mostMs; !isDone() && Date.now() < until; ) {
        for (const poller of pollers) await poller.poll(30_000);
        await actor.run('schedule', functions.schedule).catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    const { renderInvoice, tenantReport, thumbnail, capturePayment, callWebhook, importOrders, importChunk } =
      example.jobs;
    const orderNo = 'H-1001';
    const file = 'orders.csv';
    const chunk = { importId: 'c', file, columns: ['a'], rows: 1, firstLine: 1, fromByte: 0, toByte: 1 };
    /** What callers of the function may have it do, over HTTP or as this. */
    await actor.run('enqueue', async () => {
      const signal = new AbortController().signal;
      await sendEverything(client, example, { expected, files: samples.files, clip: samples.clip, signal });
      await withContext({ tenantId: 'acme' }, () =>
        client.enqueue(example.jobs.tenantReport, { email: 'a@example.com' }),
      );
      const token = 'x'.repeat(16);
      await client.enqueue(example.jobs.signUp, { name: 'Ada', email: 'ada@example.com', token });
      await client.enqueue(example.jobs.importOrders, { importId: 'missing', file: 'missing.csv' });
      await client.enqueue(callWebhook, { event: 'paid', data: { orderNo } });
      await client.enqueue(importChunk, chunk);
      for (const path of ['/schedules', '/metrics', '/jobs/none', '/batches/none', '/chains/none'])
        await functions.enqueue({
          version: '2.0',
          rawPath: path,
          rawQueryString: '',
          headers: { authorization: `Bearer ${key}` },
          requestContext: { domainName: 'x', http: { method: 'GET' } },
          isBase64Encoded: false,
        });
    });
    // One job of each queue that comes from a schedule made at run time, and one message there that is forged.
    const cron = '* * * * *';
    await client.schedules.upsert({ name: 'a', cron, job: renderInvoice, payload: { orderNo } });
    await client.schedules.upsert({
      name: 'b',
      cron,
      job: tenantReport,
      payload: { email: 'a@example.com' },
    });
    await client.schedules.upsert({
      name: 'c',
      cron,
      job: thumbnail,
      payload: { file: samples.files[0]!, widthPx: 160 },
    });
    await client.schedules.upsert({ name: 'd', cron, job: capturePayment, payload: { orderNo } });
    await client.schedules.upsert({
      name: 'e',
      cron,
      job: callWebhook,
      payload: { event: 'paid', data: { orderNo } },
    });
    await client.schedules.upsert({ name: 'f', cron, job: importOrders, payload: { importId: 'f', file } });
    await client.schedules.upsert({ name: 'g', cron, job: importChunk, payload: chunk });
    await actor.run('schedule', async () => {
      for (const name of 'abcdefg') await client.schedules.runNow(name);
    });
    for (const { queue } of sources)
      await endpoint.client.send(
        new SendMessageCommand({ QueueUrl: urls.get(queue)!, MessageBody: 'forged' }),
      );
    await work(() => ended.size === app.jobs.size);
    const operator = createOperator(client, { actor: 'test', from: 'test' });
    for (const name of app.jobs.keys()) await operator.jobs.pause(name);
    await client.enqueue(example.jobs.importOrders, { importId: 'paused', file: 'orders.csv' });
    await client.enqueue(example.jobs.capturePayment, { orderNo: 'H-1001' });
    let rounds = 0;
    await work(() => ++rounds > 3);
    calls.set('jobs that ended', ended);
    await client.close();
  } finally {
    await stage.close();
    for (const one of [sqsClient, dynamo, files, setUp]) one.destroy();
    await endpoint.stop();
    await dynamoServer.close();
    await rm(folder, { recursive: true, force: true });
  }
  return calls;
}
