/** What a job costs in DynamoDB, as docs/aws.md says it. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Stores } from '../../../core/contract/store.ts';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { createDynamoTable, dynamoStore, lambda } from '../../../functions/aws/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { type DynamoServer, startDynamo } from '../../kit/servers/dynamo-server.ts';
import { benchesHere } from '../aws/bench.ts';
import { meterUnits } from './units.ts';

const benches = benchesHere();
const minute = 60_000;
let server: DynamoServer;
beforeAll(async () => {
  server = await startDynamo();
});
afterAll(() => server.close());

let count = 0;
async function open() {
  const bench = await benches.open({ attributes: { VisibilityTimeout: '360' } });
  const { clock } = bench.time;
  const table = `costs-${++count}`;
  const { endpoint } = server;
  await createDynamoTable({ table, endpoint });
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const dynamo = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
  const units = meterUnits(dynamo, new DynamoDBClient({ endpoint, region: 'us-east-1', credentials }));
  const requests: Record<string, number> = {};
  dynamo.middlewareStack.add(
    (next, { commandName = '' }) =>
      (args) => {
        requests[commandName] = (requests[commandName] ?? 0) + 1;
        return next(args);
      },
    { step: 'initialize', name: 'count' },
  );
  const job = defineJob({ name: 'job', queue: 'mail', payload: z.object({}), handle: () => 'done' });
  const keyed = defineJob({
    name: 'keyed',
    queue: 'mail',
    payload: z.object({ n: z.number() }),
    idempotencyKey: ({ n }) => `k${n}`,
    handle: () => 'done',
  });
  const app = createApp({
    jobs: [job, keyed],
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    clock,
  });
  const wholeStore = () => dynamoStore({ table, client: dynamo, clock });
  const store = () => {
    const { metrics: _, texts: __, ...rest } = wholeStore(); // written once a minute, not with each job
    return rest;
  };
  const { backend, url, arn } = bench;
  const client = connect(app, backend, { store: store() });
  return {
    job,
    keyed,
    client,
    wholeStore,
    units,
    /** Polls with a function that has just started. */
    async poll(of: Partial<Stores> = store()) {
      const { worker } = lambda(app, { backend, store: of, log: false });
      const poller = createPoller({
        client: benches.endpoint.client,
        url,
        arn,
        clock,
        batchSize: 10,
        invoke: worker,
      });
      return poller.poll(minute);
    },
    spent() {
      const all = { ...requests };
      for (const name of Object.keys(requests)) delete requests[name];
      return all;
    },
  };
}

describe('DynamoDB', () => {
  it('is asked once by a cold function which jobs are paused, and takes three writes and two reads for a job', async () => {
    const t = await open();
    await t.client.enqueueMany(
      t.job,
      Array.from({ length: 10 }, () => ({})),
    );
    expect(await t.poll()).toMatchObject({ done: 10 });
    const first = t.spent();
    expect(t.units().write).toBe(50);
    await t.client.enqueueMany(
      t.job,
      Array.from({ length: 10 }, () => ({})),
    );
    expect(await t.poll()).toMatchObject({ done: 10 });
    expect(t.spent()).toEqual({ PutItemCommand: 30, GetItemCommand: 21 });
    expect(first).toEqual({ PutItemCommand: 30, GetItemCommand: 21 });
    const page = readFileSync(join(import.meta.dirname, '../../../docs/aws.md'), 'utf8');
    expect(page).toMatch(/\| a job that succeeds \|.*\| 3 writes, 2 reads \|/);
  });

  it('is never asked for a list by a cold function, not even when the table is new', async () => {
    const t = await open();
    await t.client.enqueueMany(t.job, [{}]);
    expect(await t.poll(t.wholeStore())).toMatchObject({ done: 1 });
    const asked = t.spent();
    expect(asked).toMatchObject({ GetItemCommand: 3 });
    expect(Object.keys(asked).sort()).toEqual(['GetItemCommand', 'PutItemCommand']);
  });

  it('takes two writes and two reads more with an idempotency key', async () => {
    const t = await open();
    await t.client.enqueueMany(t.keyed, [{ n: 0 }]);
    await t.poll();
    t.spent();
    t.units();
    await t.client.enqueueMany(
      t.keyed,
      Array.from({ length: 10 }, (_, n) => ({ n: n + 1 })),
    );
    await t.poll();
    expect(t.spent()).toEqual({ PutItemCommand: 50, GetItemCommand: 41 });
    expect(t.units().write).toBe(70);
  });

  it('is asked for one item more where a job is paused', async () => {
    const t = await open();
    await createOperator(t.client, { from: 'test', actor: 'test' }).jobs.pause('keyed');
    await t.client.enqueueMany(t.job, [{}]);
    t.spent();
    expect(await t.poll()).toMatchObject({ done: 1 });
    expect(t.spent()).toMatchObject({ GetItemCommand: 4 });
  });
});
