/** Limits over all workers, at the edges: a store that fails, keys that are wrong, two releases that disagree, several limits of a job. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { LimitStore } from '../../../core/contract/derived/limits.ts';
import { createApp, SnoozeError } from '../../../core/index.ts';
import type { JobDefinition } from '../../../core/kernel/app/job.ts';
import { connect } from '../../../core/routing/connect.ts';
import { dynamoStore } from '../../../functions/aws/dynamo/index.ts';
// Loaded here, because 1000 turns of the event loop do not wait for a module.
import '../../../core/features/limits/door.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { type anything, bench, job, refusalText, ring, until } from './kit.ts';

type Parts = Partial<JobDefinition<typeof anything>>;

/** A job whose handlers run until they are told to end. */
function holding(parts: Parts) {
  const open: (() => void)[] = [];
  const work = job({ handle: () => new Promise<void>((resolve) => open.push(resolve)), ...parts });
  return { work, open };
}

const byCustomer = {
  limit: 1,
  key: (payload: unknown) => String((payload as { customer: string }).customer),
};

async function startFirst(parts: Parts, options: Parameters<typeof bench>[0] = {}) {
  const { work, open } = holding(parts);
  const b = bench({ jobs: [work], ...options });
  for (let i = 0; i < 2; i++) await b.client.enqueue(work, { customer: 'c-7' });
  const first = b.run(await b.take());
  await until(() => open.length === 1);
  return { ...b, work, open, first };
}

describe('a job at its limit', () => {
  it('names the limit that it waits for, and comes when that is free', async () => {
    const b = await startFirst({ concurrency: byCustomer });
    const second = await b.next();
    expect(second).toMatchObject({ outcome: 'requeued', counted: false, error: null });
    expect(await b.client.stores.limits!.waitsFor([second.id!])).toEqual([['job:work:concurrency:c-7']]);
    b.open[0]!();
    await b.first;
    expect(await b.client.stores.limits!.waitsFor([second.id!])).toEqual([[]]);
    expect((await b.take()).lease).toMatchObject({ attempt: 1 });
  });

  it('is woken also when the slot was given back before the job was in its queue again', async () => {
    const b = await startFirst({ single: true });
    const { nack } = b.backend;
    b.backend.nack = async (...how) => {
      b.open[0]!();
      await b.first;
      return nack(...how);
    };
    await b.next();
    expect((await b.take()).lease).toMatchObject({ attempt: 1 });
  });

  it('is not held up by one that was cancelled while it waited before it', async () => {
    const b = await startFirst({ single: true });
    const { id } = await b.next();
    const third = await b.client.enqueue(b.work, {});
    await b.next();
    await b.client.cancel(id!);
    b.open[0]!();
    await b.first;
    const run = await b.take();
    expect(JSON.parse(run.lease.body).identifier).toBe(third.id);
  });

  it('waits for a queue too, and takes no slot of its job in vain', async () => {
    const { work, open } = holding({ rate: { limit: 2, perMs: 60_000 } });
    const b = bench({ jobs: [work], queues: { default: { concurrency: { limit: 1 } } } });
    for (let i = 0; i < 2; i++) await b.client.enqueue(work, {});
    const first = b.run(await b.take());
    await until(() => open.length === 1);
    expect(await b.next()).toMatchObject({ outcome: 'requeued', counted: false });
    const used = async () =>
      (await b.client.stores.limits!.list({})).map(({ key, used, waiting }) => [key, used, waiting]);
    expect(await used()).toEqual([
      ['job:work:rate', 1, 0],
      ['queue:default:concurrency', 1, 1],
    ]);
    open[0]!();
    await first;
    expect(await used()).toEqual([['job:work:rate', 1, 0]]);
  });

  it('holds no idempotency key while it waits', async () => {
    const b = await startFirst({ single: true, idempotencyKey: (payload) => JSON.stringify(payload) });
    await b.client.enqueue(b.work, { other: true });
    await b.next();
    const { keys } = b.client.stores;
    expect(await keys.claim('job:work:{"other":true}', 'me', b.clock.now() + 1_000)).toMatchObject({
      state: 'claimed',
    });
  });
});

describe('a slot', () => {
  it('is given back after an attempt that failed', async () => {
    const work = job({
      single: true,
      handle() {
        throw new Error('no');
      },
    });
    const b = bench({ jobs: [work] });
    expect(await b.once(work)).toMatchObject({ outcome: 'requeued', counted: true });
    expect(await b.client.stores.limits!.list({})).toEqual([]);
  });

  it('stays until the lease ends when the attempt could not be settled', async () => {
    const work = job({ single: true });
    const b = bench({
      jobs: [work],
      settler: (backend) => ({ ...backend, ack: () => Promise.reject(new Error('down')) }),
    });
    await expect(b.once(work)).rejects.toThrow('down');
    expect(await b.client.stores.limits!.list({})).toMatchObject([{ used: 1 }]);
    b.clock.advance(60_000);
    expect(await b.client.stores.limits!.list({})).toEqual([]);
  });
});

/** The store of the bench, with some verbs that fail. */
function broken(verbs: Partial<LimitStore>) {
  const clock = { now: () => b.clock.now(), after: () => () => {} };
  const { limits } = memory({ clock }).stores!;
  let ran = 0;
  const work = job({
    single: true,
    handle() {
      ran++;
    },
  });
  const b = bench({ jobs: [work], stores: { limits: { ...limits!, ...verbs } } });
  return { b, work, ran: () => ran };
}
const down = (): Promise<never> => Promise.reject(new Error('store is down'));

describe('a store that fails', () => {
  it('lets no job run without its limit, and costs it no attempt', async () => {
    const { b, work, ran } = broken({ take: down });
    const { outcome, counted, delayMs, error } = await b.once(work);
    expect({ outcome, counted, delayMs, ran: ran() }).toEqual({
      outcome: 'requeued',
      counted: false,
      delayMs: 5_000,
      ran: 0,
    });
    expect(error?.message).toBe('store is down');
  });

  it('costs no job its settlement when slots cannot be given back', async () => {
    const { b, work } = broken({ free: down });
    expect(await b.once(work)).toMatchObject({ outcome: 'acked', settled: true });
    expect(b.eventsOf('backend.failed')).toMatchObject([{ during: 'giving slots back' }]);
  });
});

describe('the key of a limit', () => {
  const wrong: readonly (readonly [string, () => unknown, string])[] = [
    ['is too long', () => 'x'.repeat(257), 'to be null or a text of 1 to 256 characters, got "xxx'],
    ['is a megabyte', () => 'x'.repeat(1_048_576), 'to be null or a text of 1 to 256 characters, got "xxx'],
    ['is empty', () => '', 'to be null or a text of 1 to 256 characters, got "".'],
    ['is a number', () => 7, 'to be null or a text of 1 to 256 characters, got 7.'],
    ['is half a character', () => '\ud800', 'to be null or a text of whole characters, got'],
    [
      'throws',
      () => {
        throw new Error('no customer');
      },
      'The key of rate of job:work threw: no customer',
    ],
  ];
  it.each(wrong)('is refused at enqueue where it %s', async (_, key, message) => {
    const work = job({ rate: { limit: 1, perMs: 1_000, key: key as () => string } });
    const b = bench({ jobs: [work] });
    const text = await refusalText(() => b.client.enqueue(work, {}));
    expect(text).toMatch(/^PAYLOAD: /);
    expect(text).toContain(message);
    expect(text.length).toBeLessThan(300);
  });

  it('rejects a message that another release has sent, and runs nothing', async () => {
    let ran = 0;
    let fails = false;
    const work = job({
      concurrency: { limit: 1, key: () => (fails ? '' : 'a') },
      handle() {
        ran++;
      },
    });
    const b = bench({ jobs: [work] });
    await b.client.enqueue(work, {});
    fails = true;
    expect(await b.next()).toMatchObject({ outcome: 'rejected', reason: 'rejected' });
    expect(ran).toBe(0);
  });

  it('of null lets a job run without the limit', async () => {
    const work = job({ concurrency: { limit: 1, key: () => null } });
    const b = bench({ jobs: [work] });
    expect(await b.once(work)).toMatchObject({ outcome: 'acked' });
    expect(await b.client.stores.limits!.list({})).toEqual([]);
  });

  it('may be made of the tenant', async () => {
    const { work, open } = holding({ concurrency: { limit: 1, key: (_, { tenantId }) => tenantId ?? null } });
    const b = bench({ jobs: [work] });
    for (const tenantId of ['a', 'b']) await b.client.enqueue(work, {}, { context: { tenantId } });
    const running = [b.run(await b.take()), b.run(await b.take())];
    await until(() => open.length === 2);
    for (const end of open) end();
    await Promise.all(running);
  });
});

describe('two releases that say different things', () => {
  it('keep the smaller limit, and each of them is told once', async () => {
    const b = await startFirst({ concurrency: { limit: 2 } });
    expect(b.eventsOf('backend.warning')).toEqual([]);
    const generous = job({ concurrency: { limit: 5 }, handle: () => {} });
    let ids = 0;
    const newId = () => `other-${++ids}`; // another host
    const other = bench({ jobs: [generous], newId, stores: { limits: b.client.stores.limits! } });
    for (let i = 0; i < 2; i++) expect(await other.once(generous)).toMatchObject({ outcome: 'acked' });
    const { work: slow, open } = holding({ concurrency: { limit: 5 } });
    const long = bench({ jobs: [slow], newId, stores: { limits: b.client.stores.limits! } });
    await long.client.enqueue(slow, {});
    const running = long.run(await long.take());
    await until(() => open.length === 1);
    await b.client.enqueue(b.work, {});
    for (let i = 0; i < 2; i++) expect(await b.next()).toMatchObject({ outcome: 'requeued' });
    expect(b.eventsOf('backend.warning').map(({ message }) => message)).toEqual([
      'The limit of concurrency of job:work is 2 here and 5 in another release that runs: the smaller one counts.',
    ]);
    open[0]!();
    await running;
    expect(other.eventsOf('backend.warning').map(({ message }) => message)).toEqual([
      'The limit of concurrency of job:work is 5 here and 2 in another release that runs: the smaller one counts.',
    ]);
  });
});

describe('an app with limits', () => {
  it('is not connected to a queue that keeps none', async () => {
    const { limits: _, texts: __, ...stores } = memory().stores!;
    const backend = { ...memory(), stores };
    const limited = createApp({ jobs: [job({ single: true })], signing: ring });
    expect(await refusalText(() => connect(limited, backend))).toBe(
      'CONFIG: job:work has a limit, but backend "memory" keeps none: give it a store, for example sqliteStore().',
    );
  });

  it('is not connected to a store that cannot count so far, unless its rate is spread', async () => {
    const table = dynamoStore({ table: 'jobs' });
    const connected = (parts: Parts, queues = {}) =>
      connect(createApp({ jobs: [job(parts)], queues, signing: ring }), memory(), { store: table });
    const rate = { limit: 2_501, perMs: 60_000 };
    expect(await refusalText(() => connected({ rate }))).toBe(
      'CONFIG: Expected the limit of rate of job:work to be at most 2500, which is what the store of backend "memory" can count, got 2501. Use a smaller limit, smooth: true, or another store.',
    );
    expect(await refusalText(() => connected({}, { default: { concurrency: { limit: 3_000 } } }))).toBe(
      'CONFIG: Expected the limit of concurrency of queue:default to be at most 2500, which is what the store of backend "memory" can count, got 3000. Use a smaller limit, or another store.',
    );
    connected({ rate: { ...rate, smooth: true }, concurrency: { limit: 2_500 } });
    connect(createApp({ jobs: [job({ rate })], signing: ring }), memory());
  });

  it('is not connected to a store that cannot give out its slots so fast', async () => {
    const table = dynamoStore({ table: 'jobs' });
    const connected = (rate: { limit: number; perMs: number; smooth?: boolean }) =>
      connect(createApp({ jobs: [job({ rate })], signing: ring }), memory(), { store: table });
    expect(await refusalText(() => connected({ limit: 1_000, perMs: 6_000 }))).toBe(
      'CONFIG: The rate of job:work can never be reached: 1000 in 6000 ms are 167 a second, and the store of backend "memory" gives out 111 of 1000 slots a second. Use smooth: true, fewer in a shorter perMs, or another store.',
    );
    connected({ limit: 1_000, perMs: 6_000, smooth: true });
    connected({ limit: 50, perMs: 3_000 });
    connected({ limit: 1_000, perMs: 60_000 });
    connected({ limit: 1_000, perMs: 3_600_000 });
  });

  it('may say it of a queue whose jobs have different payloads', () => {
    const keyed = { concurrency: { limit: 1, key: (payload: unknown) => JSON.stringify(payload) } };
    const work = job({ payload: z.any() });
    expect(createApp({ jobs: [work], queues: { default: keyed }, signing: ring }).queueRules.size).toBe(1);
  });
});

describe('a rate', () => {
  it('does not count what ends before its handler, also in a middleware', async () => {
    const work = job({
      rate: { limit: 1, perMs: 60_000 },
      use: [
        (_, next) => {
          if (isClosed) throw new SnoozeError(1_000);
          return next();
        },
      ],
    });
    let isClosed = true;
    const b = bench({ jobs: [work] });
    const used = async () => (await b.client.stores.limits!.list({})).map((state) => state.used);
    expect(await b.once(work)).toMatchObject({ outcome: 'requeued', delayMs: 1_000 });
    expect(await used()).toEqual([]);
    isClosed = false;
    b.clock.advance(1_000);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect(await used()).toEqual([1]);
  });

  it('counts every attempt, also of one job', async () => {
    const work = job({
      rate: { limit: 2, perMs: 60_000 },
      retry: () => 0,
      maxRetries: 5,
      handle() {
        throw new Error('no');
      },
    });
    const b = bench({ jobs: [work] });
    await b.client.enqueue(work, {});
    const counted: boolean[] = [];
    for (let i = 0; i < 3; i++) counted.push((await b.next()).counted);
    expect(counted).toEqual([true, true, false]);
    expect(await b.client.stores.limits!.list({})).toMatchObject([{ used: 2, waiting: 1 }]);
    b.clock.advance(60_000);
    expect(await b.next()).toMatchObject({ counted: true, attempt: 3 });
  });
});
