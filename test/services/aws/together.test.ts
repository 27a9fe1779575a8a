/** What goes back to SQS from one invocation goes in as few requests as it fits in. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Clock } from '../../../core/base/clock.ts';
import { connect, createApp, defineJob, fixed, keyRing, SnoozeError } from '../../../core/index.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { createDynamoTable, dynamoStore, lambda } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { type DynamoServer, startDynamo } from '../../kit/servers/dynamo-server.ts';
import { benchesHere } from './bench.ts';

const benches = benchesHere();
const minute = 60_000;

const payload = z.object({
  does: z.enum(['ends', 'fails', 'snoozes', 'stays']),
  turns: z.number().default(0),
});

let dynamo: DynamoServer;
let tables = 0;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.close());

async function openTable(clock: Clock) {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }; // the server takes any
  const client = new DynamoDBClient({ endpoint: dynamo.endpoint, region: 'eu-central-1', credentials });
  const table = `together-${++tables}`;
  await createDynamoTable({ table, client });
  return dynamoStore({ table, client, clock });
}

interface Options {
  readonly state?: 'in memory' | 'in DynamoDB';
  readonly rate?: { readonly limit: number; readonly perMs: number };
  readonly concurrency?: { readonly limit: number };
}

async function open({ state = 'in memory', rate, concurrency }: Options = {}) {
  const t = await benches.open({ attributes: { VisibilityTimeout: '360' } });
  const { clock } = t.time;
  const store = state === 'in memory' ? memoryStore({ clock }) : await openTable(clock);
  /** Of the job that stays longer. */
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let ended = 0;
  const job = defineJob({
    name: 'job',
    queue: 'mail',
    payload,
    retry: fixed(minute),
    ...(rate && { rate }),
    ...(concurrency && { concurrency }),
    async handle({ does, turns }) {
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      if (does === 'fails') throw new Error('not now');
      if (does === 'snoozes') throw new SnoozeError(minute);
      if (does === 'stays') await finished;
      ended++;
    },
  });
  const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]), clock });
  const { worker } = lambda(app, { backend: t.backend, store, log: false });
  const poller = t.poller(worker);
  const own = connect(app, t.backend, { store });
  return {
    ...t,
    finish,
    store,
    operator: createOperator(own, { from: 'test', actor: 'test' }),
    async poll(payloads: readonly z.infer<typeof payload>[]) {
      await own.enqueueMany(job, payloads);
      t.requests.clear();
      return poller.poll(10 * minute);
    },
    async pollLater() {
      await t.time.advance(10 * minute);
      return poller.poll(10 * minute);
    },
    ended: () => ended,
    asked: () => {
      const { requests } = t;
      const of = (name: string) => requests.get(`${name}Command`) ?? 0;
      return {
        sent: of('SendMessageBatch'),
        deleted: of('DeleteMessageBatch'),
        hidden: of('ChangeMessageVisibilityBatch'),
      };
    },
  };
}

const ten = Array.from({ length: 10 }, (_, turns) => ({ does: 'ends', turns }) as const);

describe.each(['in memory', 'in DynamoDB'] as const)('ten jobs of one event, with a store %s', (state) => {
  const inTwoRequests = (t: Awaited<ReturnType<typeof open>>) => {
    expect(t.asked()).toMatchObject({ sent: 1, hidden: 0 });
    expect(t.asked().deleted).toBeLessThanOrEqual(2); // one of them is Lambda's own
  };

  it('that are paused go back in two requests', async () => {
    const t = await open({ state });
    await t.operator.jobs.pause('job');
    await t.poll(ten);
    inTwoRequests(t);
  });

  it('of which nine wait at a rate go back in two requests', async () => {
    const t = await open({ state, rate: { limit: 1, perMs: 60 * minute } });
    await t.poll(ten);
    inTwoRequests(t);
  });

  it('that wait for a slot go back in two requests', async () => {
    const t = await open({ state, concurrency: { limit: 1 } });
    await t.store.limits!.take([
      {
        ...{ key: 'job:job:concurrency', limit: 1, holder: 'another', owner: 'o' },
        ...{ holdMs: 60 * minute, rank: 0, queue: 'mail' },
      },
    ]);
    await t.poll(ten);
    inTwoRequests(t);
  });

  it('that wait ten times are received once by SQS each time, and run then', async () => {
    const t = await open({ state, concurrency: { limit: 1 } });
    const redrive = { deadLetterTargetArn: t.deadLetterArn, maxReceiveCount: 5 };
    const command = new SetQueueAttributesCommand({
      QueueUrl: t.url,
      Attributes: { RedrivePolicy: JSON.stringify(redrive) },
    });
    await benches.endpoint.client.send(command);
    const slot = {
      ...{ key: 'job:job:concurrency', limit: 1, holder: 'another', owner: 'o' },
      ...{ holdMs: 200 * minute, rank: 0, queue: 'mail' },
    };
    await t.store.limits!.take([slot]);
    await t.poll([{ does: 'ends', turns: 0 }]);
    for (let times = 1; times < 10; times++) expect((await t.pollLater()).done).toBe(1);
    await t.store.limits!.free([slot]);
    expect(t.ended()).toBe(0);
    await t.pollLater();
    expect(t.ended()).toBe(1);
  });

  it('that snooze go back in two requests', async () => {
    const t = await open({ state });
    await t.poll(ten.map(() => ({ does: 'snoozes', turns: 0 })));
    inTwoRequests(t);
  });
});

describe('ten jobs of one event', () => {
  it('that fail one after the other are hidden in one request', async () => {
    const t = await open();
    await t.poll(ten.map(({ turns }) => ({ does: 'fails', turns })));
    expect(t.asked()).toMatchObject({ sent: 0, hidden: 1 });
  });

  it('do not wait for one that stays', async () => {
    const t = await open();
    const polled = t.poll([
      { does: 'stays', turns: 0 },
      { does: 'fails', turns: 0 },
      { does: 'fails', turns: 3 },
    ]);
    await expect
      .poll(async () => {
        await t.time.advance(10);
        return t.asked().hidden;
      })
      .toBe(1);
    t.finish();
    await polled;
  });
});
