/** What each kind of job costs on AWS, as docs/aws.md says it: units are counted, prices are those of the page. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect, createApp, keyRing } from '../../../core/index.ts';
import { createDynamoTable, dynamoStore, lambda } from '../../../functions/aws/index.ts';
import { type DynamoServer, startDynamo } from '../../kit/servers/dynamo-server.ts';
import { benchesHere } from '../aws/bench.ts';
import { kinds, minute, rate } from './dollars-kit.ts';
import { meterUnits, type Units } from './units.ts';

const benches = benchesHere();
type Kind = keyof typeof kinds;

let server: DynamoServer;
beforeAll(async () => {
  server = await startDynamo();
});
afterAll(() => server.close());

/** A queue with a function that has started, and its table. */
async function open(kind: Kind, purpose: string) {
  const bench = await benches.open({ attributes: { VisibilityTimeout: '360' } });
  const { clock } = bench.time;
  const { endpoint } = server;
  const table = `dollars-${kind}-${purpose}`;
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
  const poller = bench.poller(invoke);
  const limits = store.limits!;
  let n = 0;
  const enqueue = () => client.enqueue(kinds[kind], { n: ++n });
  const runNext = async () => expect(await poller.poll(minute)).toMatchObject({ done: 1 });
  const others = (count: number, of: 'rate' | 'concurrency', limit: number, holdMs: number) =>
    Array.from({ length: count }, () => ({
      ...{ key: `job:${kind}:${of}`, limit, holdMs, holder: `${app.newId()}#${++n}`, owner: 'o'.repeat(43) },
      ...{ rank: 0, queue: 'mail', isStart: of === 'rate', unwakeable: true },
    }));
  await enqueue();
  await runNext();
  return { ...bench.time, poller, units, limits, enqueue, runNext, others };
}

/** Per job, of jobs that run one after the other. */
async function spentBy(kind: Kind): Promise<Units> {
  const t = await open(kind, 'runs');
  t.units();
  for (let i = 0; i < 10; i++) {
    await t.advance(100);
    await t.enqueue();
    await t.runNext();
  }
  return perJob(t.units(), 10);
}

const perJob = ({ write, read }: Units, jobs: number): Units => ({ write: write / jobs, read: read / jobs });

/** 17 jobs a second have begun. */
async function openRate(purpose: string, seconds: number) {
  const t = await open('rate', purpose);
  for (let second = 0; second < seconds; second++) {
    for (const some of [6, 6, 5]) {
      await t.limits.take(t.others(some, 'rate', rate.limit, minute));
      await t.advance(333);
    }
  }
  return t;
}

const page = readFileSync(join(import.meta.dirname, '../../../docs/aws.md'), 'utf8');
const price = (of: string) => Number(new RegExp(`\\| ${of} \\| \\$(\\S+) \\|`).exec(page)?.[1]);

const rowOf = (label: string) =>
  page.split('\n').find((line) => line.startsWith(`| ${label} |`) && !line.includes('| |'));
function row(label: string, requests: number, { write, read }: Units): string {
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
  ['at a smooth `rate` that has room', 'smooth'],
] as const)('the page tells the dollars of a job %s', async (label, kind) => {
  expect(rowOf(label)).toBe(row(label, 0.3, await spentBy(kind)));
});

it('the page tells the dollars of a job at a rate of 1,000 a minute that is nearly used up', async () => {
  const t = await openRate('runs', 58);
  t.units();
  for (let i = 0; i < 10; i++) {
    await t.advance(60);
    await t.enqueue();
    await t.runNext();
  }
  expect((await t.limits.list({}))[0]).toMatchObject({ waiting: 0 });
  const label = 'at a `rate` of 1,000 a minute, nearly used up';
  expect(rowOf(label)).toBe(row(label, 0.3, perJob(t.units(), 10)));
});

it('the page tells the dollars of a job that waits for its turn at that rate', async () => {
  const t = await openRate('waits', 59);
  await t.limits.take(t.others(200, 'rate', rate.limit, minute));
  t.units();
  for (let i = 0; i < 10; i++) {
    await t.advance(60);
    await t.enqueue();
    await t.runNext(); // it has gone back as a copy
  }
  await t.advance(20_000);
  for (let done = 0; done < 10; ) done += (await t.poller.poll(minute)).done;
  const label = 'that waits for its turn at this rate';
  expect(rowOf(label)).toBe(row(label, 0.7, perJob(t.units(), 10)));
});

it.each([
  ['each hour that it waits for a slot alone', 0],
  ['each hour that it waits for a slot behind 600 others', 600],
])('the page tells the dollars of %s', async (label, before) => {
  const t = await open('concurrency', `waits-${before}`);
  await t.limits.take(t.others(10, 'concurrency', 10, 100 * minute));
  await t.limits.take(t.others(before, 'concurrency', 10, 100 * minute));
  await t.enqueue();
  t.units();
  let asked = 0;
  for (let passedMs = 0; passedMs < 60 * minute; passedMs += 5_000) {
    asked += (await t.poller.poll(minute)).done;
    await t.advance(5_000);
  }
  expect(rowOf(label)).toBe(row(label, Math.round(asked * 4) / 10, t.units()));
});
