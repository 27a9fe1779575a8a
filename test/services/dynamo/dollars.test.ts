/** What each kind of job costs on AWS, as docs/aws.md says it: units are counted, prices are those of the page. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { createDynamoTable, dynamoStore, lambda } from '../../../functions/aws/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { type DynamoServer, startDynamo } from '../../kit/servers/dynamo-server.ts';
import { benchesHere } from '../aws/bench.ts';
import { meterUnits } from './units.ts';

const benches = benchesHere();
const minute = 60_000;
const payload = z.object({ n: z.number() });
const common = { queue: 'mail', payload, handle: () => 'done' };
const rate = { limit: 1_000, perMs: minute, smooth: true };
const kinds = {
  plain: defineJob({ name: 'plain', ...common }),
  key: defineJob({ name: 'key', ...common, idempotencyKey: ({ n }) => `k${n}` }),
  unique: defineJob({ name: 'unique', ...common, unique: { key: ({ n }) => `u${n}`, during: 'either' } }),
  concurrency: defineJob({ name: 'concurrency', ...common, concurrency: { limit: 10 } }),
  rate: defineJob({ name: 'rate', ...common, rate }),
  steps: defineJob({
    name: 'steps',
    ...common,
    async handle(_, { step }) {
      for (const name of ['a', 'b', 'c']) await step(name, () => name);
      return 'done';
    },
  }),
};
type Kind = keyof typeof kinds;

let server: DynamoServer;
beforeAll(async () => {
  server = await startDynamo();
});
afterAll(() => server.close());

/** Per job, of jobs that run one after the other in a function that has started. */
async function spentBy(kind: Kind, waits = false): Promise<{ write: number; read: number }> {
  const bench = await benches.open({ attributes: { VisibilityTimeout: '360' } });
  const { clock } = bench.time;
  const { endpoint } = server;
  const table = `dollars-${kind}-${waits}`;
  await createDynamoTable({ table, endpoint });
  const how = {
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  };
  const dynamo = new DynamoDBClient(how);
  const units = meterUnits(dynamo, new DynamoDBClient(how));
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: Object.values(kinds), signing, clock });
  const { metrics: _, texts: __, ...store } = dynamoStore({ table, client: dynamo, clock });
  const client = connect(app, bench.backend, { store });
  const { worker: invoke } = lambda(app, { backend: bench.backend, store, log: false });
  const { url, arn } = bench;
  const poller = createPoller({
    client: benches.endpoint.client,
    url,
    arn,
    clock,
    batchSize: 10,
    invoke,
  });
  let n = 0;
  async function runOne(): Promise<void> {
    await bench.time.advance(100);
    await client.enqueue(kinds[kind], { n: ++n });
    expect(await poller.poll(minute)).toMatchObject({ done: 1 });
  }
  async function waitOnce(): Promise<void> {
    await bench.time.advance(minute);
    expect(await poller.poll(minute)).toMatchObject({ done: 1 }); // it has gone back as a copy
  }
  if (waits) {
    const slots = Array.from({ length: 10 }, (_, i) => ({
      ...{ key: `job:${kind}:concurrency`, limit: 10, holder: `other-${i}`, owner: 'o' },
      ...{ holdMs: 100 * minute, rank: 0, queue: 'mail' },
    }));
    await store.limits!.take(slots);
    await client.enqueue(kinds[kind], { n: 0 });
  }
  const one = waits ? waitOnce : runOne;
  await one();
  units();
  for (let i = 0; i < 10; i++) await one();
  const { write, read } = units();
  return { write: write / 10, read: read / 10 };
}

const page = readFileSync(join(import.meta.dirname, '../../../docs/aws.md'), 'utf8');
const price = (of: string) => Number(new RegExp(`\\| ${of} \\| \\$(\\S+) \\|`).exec(page)?.[1]);

const rowOf = (label: string) => page.split('\n').find((line) => line.startsWith(`| ${label} | 0.`));
function row(label: string, requests: number, write: number, read: number): string {
  const dollars =
    requests * price('a request of SQS') + write * price('a write unit') + read * price('a read unit');
  return `| ${label} | ${requests} | ${write} | ${read} | ${dollars.toFixed(2)} |`;
}

it.each([
  ['with `dynamoStore()`', 'plain'],
  ['with an `idempotencyKey`', 'key'],
  ['`unique`', 'unique'],
  ['at a limit of `concurrency` that has room', 'concurrency'],
  ['with 3 steps', 'steps'],
  ['at a smooth `rate` that has room', 'rate'],
] as const)('the page tells the dollars of a job %s', async (label, kind) => {
  const { write, read } = await spentBy(kind);
  expect(rowOf(label)).toBe(row(label, 0.3, write, read));
});

it('the page tells the dollars of a job that goes back because its limit is full', async () => {
  const { write, read } = await spentBy('concurrency', true);
  const label = 'each time that it goes back because its limit is still full';
  expect(rowOf(label)).toBe(row(label, 0.4, write, read));
});
