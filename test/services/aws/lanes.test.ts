/** Priority on SQS: a queue of its own per lane. */

import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing, PermanentError } from '../../../core/index.ts';
import { lambda, type SqsBackend, sqs } from '../../../functions/aws/index.ts';
import {
  createLaneOrder,
  type LaneName,
  laneOf,
  type QueueAddress,
} from '../../../functions/aws/sqs/queues.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { openBench, type SqsBench } from './bench.ts';
import { type Endpoint, openEndpoint } from './endpoint.ts';

let endpoint: Endpoint;
let bench: SqsBench | null = null;
let urls: string[] = [];

beforeAll(async () => {
  endpoint = await openEndpoint();
});
afterEach(async () => {
  for (const url of urls) await endpoint.deleteQueue(url);
  urls = [];
  await bench?.close();
  bench = null;
});
afterAll(async () => {
  vi.useRealTimers();
  await endpoint.stop();
});

const lanes = ['high', 'low'] as const;

async function open() {
  const opened = await openBench(endpoint, { attributes: { VisibilityTimeout: '360' } });
  bench = opened;
  const name = new URL(opened.url).pathname.split('/').at(-1)!;
  for (const lane of lanes) {
    urls.push(await endpoint.createQueue(`${name}-${lane}`, { VisibilityTimeout: '360' }));
  }
  const { client } = endpoint;
  const { clock } = opened.time;
  const backend = sqs({ queues: { mail: opened.url }, lanes: { mail: lanes }, client, clock });
  const fetch = (max: number, waitMs = 0) =>
    backend.fetch({ queues: ['mail'], max, leaseMs: 60_000, waitMs });
  /** How many are ready in high, normal and low. */
  const ready = async () => {
    const counts: number[] = [];
    for (const QueueUrl of [urls[0], opened.url, urls[1]]) {
      const AttributeNames = ['ApproximateNumberOfMessages'] as const;
      const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...AttributeNames] });
      counts.push(Number((await client.send(command)).Attributes!.ApproximateNumberOfMessages));
    }
    return counts;
  };
  return { ...opened, backend: backend as SqsBackend, fetch, ready };
}

const addressOf = (lane: LaneName): QueueAddress => ({
  name: 'q',
  lane,
  url: lane,
  deadLetterUrl: 'dlq',
  fifo: false,
});

describe('a message', () => {
  it.each([
    [['critical', 'high', 'normal', 'low'], 'cchhhnnnll'],
    [['high', 'normal', 'low'], 'hhhhhnnnll'],
    [['critical', 'normal'], 'ccnnnnnnnn'],
    [['normal', 'low'], 'nnnnnnnnll'],
    [['normal'], 'nnnnnnnnnn'],
  ] as [LaneName[], string][])(
    'goes to its lane of %o, or the next one towards normal',
    (names, expected) => {
      const found = Array.from(
        { length: 10 },
        (_, priority) => laneOf(names.map(addressOf), priority).lane[0],
      );
      expect(found.join('')).toBe(expected);
    },
  );

  it('is sent to the lane of its priority', async () => {
    const t = await open();
    await t.backend.enqueue([0, 2, 2, 5, 8].map((priority) => t.message({ priority })));
    expect(await t.ready()).toEqual([3, 1, 1]);
    expect(await t.backend.admin.stats('mail')).toMatchObject([{ queue: 'mail', ready: 5 }]);
  });
});

describe('a worker', () => {
  it('takes urgent ones first, and starves nobody', async () => {
    const t = await open();
    const many = (priority: number) => Array.from({ length: 40 }, () => t.message({ priority }));
    await t.backend.enqueue([...many(8), ...many(5), ...many(2)]);
    const order: string[] = [];
    for (let i = 0; i < 14; i++) {
      const before = await t.ready();
      await t.fetch(2);
      const after = await t.ready();
      order.push('hnl'[before.findIndex((count, lane) => count !== after[lane])]!);
    }
    // In 7 turns: high four times, normal twice, low once.
    expect(order.toSorted().join('')).toBe('hhhhhhhhllnnnn');
    expect(order.slice(0, 7).toSorted().join('')).toBe('hhhhlnn');
  });

  it('fills up from the other lanes', async () => {
    const t = await open();
    await t.backend.enqueue([8, 8, 5, 2].map((priority) => t.message({ priority })));
    expect(await t.fetch(10)).toHaveLength(4);
  });

  it('waits for all lanes at the same time', async () => {
    const t = await open();
    const fetching = t.fetch(10, 3_000);
    await t.backend.enqueue([t.message({ priority: 8 })]);
    expect(await fetching).toHaveLength(1);
    await t.backend.close();
  });

  it('settles in the lane that a message came from', async () => {
    const t = await open();
    const sent = [2, 5, 8].map((priority) => t.message({ priority }));
    await t.backend.enqueue(sent);
    for (const attempt of [1, 2]) {
      const leases = await t.fetch(10);
      expect(leases.map((lease) => lease.attempt)).toEqual([attempt, attempt, attempt]);
      expect(await t.backend.renew(leases, 60_000)).toEqual([true, true, true]);
      for (const lease of leases) await t.backend.nack(lease, { delayMs: 0, countAttempt: true });
      expect(await t.ready()).toEqual([1, 1, 1]);
    }
    for (const lease of await t.fetch(10)) await t.backend.nack(lease, { delayMs: 0, countAttempt: false });
    expect(await t.ready()).toEqual([1, 1, 1]); // copies too
    const leases = await t.fetch(10);
    expect(leases.map((lease) => lease.attempt)).toEqual([3, 3, 3]);
    expect(await t.backend.ack(leases.map((lease) => ({ lease })))).toEqual([true, true, true]);
    await t.time.advance(3_600_000);
    expect(await t.fetch(10)).toEqual([]);
  });

  it('gives back what it can where a lane is gone, and keeps the right to settle the rest', async () => {
    const t = await open();
    await t.backend.enqueue([t.message({ priority: 2 }), t.message({ priority: 5 })]);
    const leases = await t.fetch(10);
    const urgent = leases.findIndex(({ token }) => JSON.parse(token).lane === 'high');
    await endpoint.deleteQueue(urls.shift()!);
    const released = await t.backend.release(leases);
    expect(released).toEqual(leases.map((_, i) => i !== urgent));
    await expect(t.backend.release([leases[urgent]!])).rejects.toMatchObject({ code: 'CONFIG' });
    const rest = sqs({ queues: { mail: t.url }, client: endpoint.client, clock: t.time.clock });
    const request = { queues: ['mail'], max: 10, leaseMs: 60_000, waitMs: 0 };
    expect(await rest.fetch(request)).toMatchObject([{ attempt: 1 }]);
    await rest.close();
  });

  it('has the dead letters of all lanes in one queue, and retries them where they came from', async () => {
    const t = await open();
    const sent = [2, 5, 8].map((priority) => t.message({ priority }));
    await t.backend.enqueue(sent);
    for (const lease of await t.fetch(10)) {
      await t.backend.abandon(lease, { reason: 'permanent', error: 'HANDLER: no' });
    }
    const letters = await t.backend.admin.deadLetters.list({ queue: 'mail' });
    expect(letters.map(({ id }) => id).sort()).toEqual(sent.map(({ id }) => id).sort());
    expect(await t.backend.admin.deadLetters.retry(sent.map(({ id }) => id))).toBe(3);
    expect(await t.ready()).toEqual([1, 1, 1]);
  });

  it('fails at the start when a lane is missing', async () => {
    const t = await open();
    await endpoint.deleteQueue(urls.pop()!);
    await expect(t.backend.check()).rejects.toMatchObject({ code: 'CONFIG' });
  });
});

describe('a function', () => {
  it('runs what any lane brings', async () => {
    const t = await open();
    const { clock } = t.time;
    const ran: string[] = [];
    const job = defineJob({
      name: 'greet',
      queue: 'mail',
      payload: z.string(),
      priority: 'low',
      handle(name) {
        ran.push(name);
        if (name === 'nobody') throw new PermanentError('no');
      },
    });
    const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
    const app = createApp({ jobs: [job], signing, clock });
    const store = memoryStore({ clock });
    const { worker } = lambda(app, { backend: t.backend, store, log: false });
    const client = connect(app, t.backend, { store });
    await client.enqueue(job, 'Ada');
    await client.enqueue(job, 'nobody');
    const source = { client: endpoint.client, clock, batchSize: 10, invoke: worker };
    const poller = createPoller({ ...source, url: urls[1]!, arn: `${t.arn}-low` });
    expect(await poller.poll(60_000)).toEqual({ taken: 2, done: 2, thrown: null });
    expect(ran).toEqual(['Ada', 'nobody']);
    expect(await t.backend.admin.deadLetters.list({})).toMatchObject([
      { queue: 'mail', reason: 'permanent' },
    ]);
  });
});

describe('the lanes that sqs() is given', () => {
  const url = 'https://sqs.eu-central-1.amazonaws.com/123456789012/shop-mail';

  it.each([
    [{ queues: { mail: url }, lanes: { male: ['high'] } }, /lanes names queue "male"/],
    [{ queues: { mail: url }, lanes: { mail: ['urgent'] } }, /to be of critical, high and low, got "urgent"/],
    [{ queues: { mail: url }, lanes: { mail: ['normal'] } }, /got "normal"/],
    [{ queues: { mail: url }, lanes: { mail: { high: 'mail' } } }, /URL of lane "high" of queue "mail"/],
  ])('are refused with CONFIG: %o', (options, message) => {
    expect(() => sqs(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(message) }),
    );
  });

  it('have names or URLs', () => {
    const urlsOf = (lanes: object) =>
      sqs({ queueUrl: url.slice(0, -4), lanes: { mail: lanes as never } })
        .queues.lanesOf('mail')
        .map((one) => one.url);
    expect(urlsOf(['low', 'critical'])).toEqual([`${url}-critical`, url, `${url}-low`]);
    expect(urlsOf({ high: `${url}x` })).toEqual([`${url}x`, url]);
  });

  it('give everybody a turn, and the urgent more of them', () => {
    const { next } = createLaneOrder();
    const all = (['critical', 'high', 'normal', 'low'] as const).map(addressOf);
    const first = Array.from({ length: 15 }, () => next(all)[0]!.lane[0]).join('');
    expect([...first].sort().join('')).toBe('cccccccchhhhlnn');
    expect(first).not.toMatch(/ccc/);
    expect(next([addressOf('normal')])).toHaveLength(1);
  });
});
