/** Dead letters are found, mended, retried and discarded in the same way on every kind of queue. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../core/base/clock.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import type { Stores } from '../../core/contract/store.ts';
import { connect, createApp, defineJob, keyRing, noRetry, PermanentError } from '../../core/index.ts';
import { createRun } from '../../core/kernel/attempt/run.ts';
import { attempt } from '../../core/kernel/flow.ts';
import { createOperator } from '../../core/operations/index.ts';
import { sqs } from '../../functions/aws/sqs/index.ts';
import { serviceBus } from '../../functions/azure/service-bus/index.ts';
import { beanstalkd } from '../../local/backends/beanstalkd/index.ts';
import { memory, memoryStore } from '../../local/backends/memory/index.ts';
import { startServiceBus } from '../../local/simulate/service-bus/server.ts';
import { openEndpoint } from './aws/endpoint.ts';
import { startBeanstalkd } from './beanstalkd/server.ts';
import { databasesWith } from './databases.ts';

const after: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of after.splice(0)) await undo();
});

interface Place {
  readonly backend: QueueBackend;
  readonly store?: Stores;
  /** How long a fetch waits for what is there. */
  readonly waitMs: number;
  /** The backend of an operator that has sent nothing. @default the same */
  fresh?(): QueueBackend;
}

const databases = databasesWith(after);
const local = async (name: keyof typeof databases): Promise<Place> => ({
  backend: (await databases[name]())(systemClock),
  waitMs: 0,
});

async function sqsEndpoint() {
  const endpoint = await openEndpoint();
  after.push(() => endpoint.stop());
  return endpoint;
}

async function onSqs(end: string, attributes: Record<string, string>): Promise<Place> {
  const endpoint = await sqsEndpoint();
  const urls = { mail: await endpoint.createQueue(`mail${end}`, attributes) };
  const deadLetterUrls = { mail: await endpoint.createQueue(`mail-dlq${end}`, attributes) };
  const store = memoryStore();
  const { client } = endpoint;
  const backend = sqs({ queues: urls, deadLetterUrls, client, longPollMs: 1_000, keys: store.keys });
  return { backend, waitMs: 1_000, store };
}

async function onBeanstalkd(store?: Stores): Promise<Place> {
  const server = await startBeanstalkd();
  after.push(() => server.remove());
  return { backend: beanstalkd({ url: server.url, ...(store && { store }) }), waitMs: 0 };
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  memory: async () => ({ backend: memory(), waitMs: 0 }),
  sqlite: () => local('sqlite'),
  postgres: () => local('postgres'),
  redis: () => local('redis'),
  beanstalkd: () => onBeanstalkd(memoryStore()),
  'beanstalkd without a store': () => onBeanstalkd(),
  sqs: () => onSqs('', {}),
  async 'sqs by the start of its URLs'() {
    const { client, createQueue } = await sqsEndpoint();
    const url = await createQueue('start-mail');
    await createQueue('start-mail-dlq');
    const options = { queueUrl: url.slice(0, -'mail'.length), client, longPollMs: 1_000 };
    return { backend: sqs(options), waitMs: 1_000, store: memoryStore(), fresh: () => sqs(options) };
  },
  'sqs with FIFO queues': () => onSqs('.fifo', { FifoQueue: 'true' }),
  async 'service bus'() {
    const server = await startServiceBus({ clock: systemClock });
    after.push(() => server.stop());
    server.createQueue('mail', { lockMs: 300_000, duplicateWindowMs: 600_000 });
    const { connectionString } = server;
    const store = memoryStore();
    const options = {
      connectionString,
      queues: ['mail'],
      keys: store.keys,
      longPollMs: 1_000,
      maxRetries: 0,
    };
    return { backend: serviceBus(options), waitMs: 1_000, store };
  },
};

const payload = z.object({ invoice: z.string(), login: z.object({ password: z.string() }).optional() });

async function opened(open: () => Promise<Place>) {
  const paid: unknown[] = [];
  const pay = defineJob({
    name: 'pay',
    queue: 'mail',
    payload,
    retry: noRetry,
    handle(data) {
      if (data.invoice.startsWith('bad')) throw new PermanentError(`no invoice "${data.invoice}"`);
      paid.push(data);
    },
  });
  const hurry = defineJob({
    name: 'hurry',
    queue: 'mail',
    payload: z.object({}),
    expiresInMs: 1,
    handle: (data) => paid.push(data),
  });
  const { backend, store, waitMs, fresh } = await open();
  after.push(() => backend.close());
  const signing = keyRing([{ kid: 'k1', secret: new Uint8Array(32).fill(1) }]);
  const app = createApp({ jobs: [pay, hurry], signing });
  const options = store ? { store } : {};
  const client = connect(app, backend, options);
  async function drain(): Promise<void> {
    for (;;) {
      const leases = await backend.fetch({ queues: ['mail'], max: 10, leaseMs: 60_000, waitMs });
      if (leases.length === 0) return;
      for (const lease of leases) await attempt(app, { client, settler: backend }, createRun(lease));
    }
  }
  const operator = createOperator(fresh ? connect(app, fresh(), options) : client, {
    actor: 'ann',
    from: 'test',
  });
  const { deadLetters } = operator;
  const idsOf = async (filter: Parameters<typeof deadLetters.page>[0] = {}) =>
    (await deadLetters.page(filter)).letters.map(({ id }) => id);
  return { pay, hurry, paid, client, backend, drain, deadLetters, idsOf, operator };
}

describe.each(Object.entries(places))('an operator on %s', { timeout: 60_000 }, (_, open) => {
  it('groups, mends, retries and discards dead letters', async () => {
    const { pay, paid, client, drain, deadLetters, idsOf } = await opened(open);
    const bad: string[] = [];
    for (const n of [1, 2, 3]) {
      const context = { tenantId: `t${n}` };
      const options = { context, group: 'g' };
      bad.push(
        (await client.enqueue(pay, { invoice: `bad${n}`, login: { password: 'hunter2' } }, options)).id,
      );
    }
    await drain();
    const keeps = client.stores.records.recordsDisabled !== true;
    const { groups, complete } = await deadLetters.groups({});
    expect({ count: groups.map(({ count }) => count), complete }).toEqual({ count: [3], complete: true });
    expect((await idsOf()).toSorted()).toEqual(bad.toSorted());
    expect(await idsOf({ error: 'bad2' })).toEqual([bad[1]]);
    expect(await idsOf({ tenantId: 't3' })).toEqual([bad[2]]);
    expect(await idsOf({ fingerprint: groups[0]!.fingerprint, diedBefore: 5 })).toEqual([]);
    const [id = ''] = bad;
    expect(await deadLetters.show(id)).toMatchObject({
      payload: { value: { invoice: 'bad1', login: { password: '[masked]' } } },
      letter: { reason: 'permanent', tenantId: 't1' },
      envelope: { kid: 'k1', context: { tenantId: 't1' } },
      editable: true,
      attempts: keeps ? [{ attempt: 1, outcome: 'dead-lettered' }] : [],
    });

    await deadLetters.edit(id, { payload: { invoice: 'good', login: { password: '[masked]' } } });
    if (keeps) expect(await client.status(id)).toMatchObject({ status: 'pending', error: null });
    await drain();
    expect(paid).toEqual([{ invoice: 'good', login: { password: 'hunter2' } }]);
    if (keeps) expect(await client.status(id)).toMatchObject({ status: 'completed', tenantId: 't1' });

    expect(await deadLetters.retry({ filter: {} }, { dryRun: true })).toMatchObject({ done: 0, total: 2 });
    expect(await deadLetters.retry({ filter: {} }, { limit: 1 })).toMatchObject({ done: 1, ended: 'limit' });
    await drain();
    expect(await idsOf()).toHaveLength(2);
    const ids = [bad[1]!, 'nobody'];
    expect(await deadLetters.retry({ ids })).toMatchObject({ done: 1, missing: ['nobody'] });
    await drain();
    expect(await deadLetters.discard({ filter: { job: 'pay' } })).toMatchObject({ done: 2, ended: 'all' });
    expect(await idsOf()).toEqual([]);
  });

  it('gives expired ones a new expiry, and signs nothing that does not verify', async () => {
    const { hurry, paid, client, backend, drain, deadLetters, idsOf, operator } = await opened(open);
    const { id } = await client.enqueue(hurry, {}, { group: 'g' });
    await delay(5);
    await drain();
    expect(await deadLetters.retry({ filter: {} })).toMatchObject({ done: 0, refused: [{ id }] });
    expect(await deadLetters.retry({ filter: {} }, { expiresInMs: 600_000 })).toMatchObject({
      done: 1,
      refused: [],
    });
    await drain();
    expect(paid).toEqual([{}]);

    const forged = { id: 'forged-1', queue: 'mail', job: 'pay', body: '{"v":1,"payload":{}}' };
    const rest = { priority: 5, notBefore: null, group: 'g', tenantId: null };
    await backend.enqueue([{ ...forged, ...rest }]);
    await drain();
    const [dead = ''] = await idsOf({ reason: 'rejected' });
    expect(await deadLetters.show(dead)).toMatchObject({
      envelope: null,
      payload: null,
      editable: expect.stringContaining('no signature'),
    });
    await expect(deadLetters.edit(dead, { payload: { invoice: 'x' } })).rejects.toMatchObject({
      code: 'SIGNATURE',
    });
    expect(await idsOf()).toEqual([dead]);
    if (client.stores.audit) {
      const { entries } = await operator.audit();
      const done = entries.filter(({ phase }) => phase === 'done');
      // Two within one millisecond may stand either way.
      expect(done.map(({ count, note }) => `${count} ${note}`).toSorted()).toEqual(['0 1 refused', '1 null']);
    }
  });
});
