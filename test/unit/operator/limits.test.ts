/** What people see of limits, why a job waits, and what a reset does. */

import { describe, expect, it } from 'vitest';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import { whyWaits } from '../../../core/features/limits/explain.ts';
import type { QueueOptions } from '../../../core/kernel/app/queues.ts';
import { createOperator, type LimitView } from '../../../core/operations/index.ts';
import { job, refusal, startMs } from '../core/kit.ts';
import { by, operatorBench } from './kit.ts';

const perCustomer = { limit: 1, key: (payload: unknown) => String(payload) };

const beat: WorkerBeat = {
  ...{ id: 'w', host: 'h', pid: 1, queues: ['default', 'mail'], concurrency: 1, startedAt: startMs },
  ...{ seenAt: startMs, running: 0, memoryBytes: 1 },
  counts: { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 },
};

/** Handlers wait until the test lets them return. A worker is seen. */
async function shop({
  queues = {} as Record<string, QueueOptions>,
  handle = null as (() => void) | null,
} = {}) {
  const open: (() => void)[] = [];
  const wait = () => new Promise<void>((resolve) => open.push(resolve));
  const sync = job({ name: 'shop.sync', concurrency: perCustomer, handle: handle ?? wait });
  const mail = job({
    name: 'mail',
    queue: 'mail',
    rate: { limit: 2, perMs: 60_000 },
    handle: handle ?? wait,
  });
  const plain = job({ name: 'plain' });
  const it = operatorBench({ jobs: [sync, mail, plain] as never, queues });
  const { client, take, run, operator } = it;
  await client.stores.workers.heartbeat(beat);

  /** Its handler runs on. */
  async function begin(): Promise<() => Promise<unknown>> {
    const before = open.length;
    const ended = run(await take());
    while (open.length === before) await new Promise((resolve) => setImmediate(resolve));
    return () => {
      open[before]!();
      return ended;
    };
  }
  return {
    ...it,
    ...{ sync, mail, plain, begin },
    put: async (one: typeof sync, payload: unknown = 1, options = {}) =>
      (await client.enqueue(one, payload, options)).id,
    whys: async (id: string) => whyWaits(client, (await client.status(id))!),
    shown: async (filter = {}) => (await operator.limits.list(filter)).limits,
  };
}

const short = ({ key, limit, used, waiting }: LimitView) => `${key} ${used}/${limit} ${waiting}`;

describe('the limits', () => {
  it('of an app are listed before anybody uses one', async () => {
    const { shown } = await shop({ queues: { mail: { concurrency: { limit: 20 } } } });
    const all = await shown();
    expect(all.map(short)).toEqual([
      'job:mail:rate 0/2 0',
      'job:shop.sync:concurrency 0/1 0',
      'queue:mail:concurrency 0/20 0',
    ]);
    expect(all[0]).toEqual({
      ...{ key: 'job:mail:rate', of: 'job', name: 'mail', kind: 'rate', keyPart: null, perKey: false },
      ...{ limit: 2, perMs: 60_000, used: 0, holders: [], heldUntil: null, waiting: 0 },
    });
    expect(all[1]).toMatchObject({ perKey: true, keyPart: null, perMs: null });
    expect((await shown({ prefix: 'queue:' })).map(short)).toEqual(['queue:mail:concurrency 0/20 0']);
  });

  it('are told with who has a slot and how many wait', async () => {
    const { put, sync, begin, next, shown } = await shop();
    const key = 'a:b "c"\n</script>';
    const [holder] = [await put(sync, key), await put(sync, key)];
    await begin();
    await next();
    expect(await shown({ prefix: 'job:shop' })).toEqual([
      {
        ...{ key: `job:shop.sync:concurrency:${key}`, of: 'job', name: 'shop.sync', kind: 'concurrency' },
        ...{ keyPart: key, perKey: true, limit: 1, perMs: null, used: 1, waiting: 1, heldUntil: null },
        holders: [{ id: holder, until: startMs + 60_000 }],
      },
    ]);
  });

  it('are listed in pages, each of them once', async () => {
    const { put, sync, begin, operator, shown } = await shop();
    const keys = ['a', 'b', 'c', 'ü', '\u{1f600}'];
    for (const key of keys) {
      await put(sync, key);
      await begin();
    }
    for (const max of [1, 2, 3, 4, 5, 10]) {
      const found: string[] = [];
      for (let after: string | null = ''; after !== null; ) {
        const page = await operator.limits.list({ after, max });
        found.push(...page.limits.map((one) => one.key));
        after = page.next;
      }
      expect(found, `${max} at once`).toEqual([
        'job:mail:rate',
        ...keys.map((key) => `job:shop.sync:concurrency:${key}`),
      ]);
    }
    expect(await shown({ prefix: 'job:shop.sync:concurrency:b' })).toHaveLength(1);
  });

  it('say what is paused and what a breaker stops', async () => {
    const { client, shown } = await shop();
    const limits = client.stores.limits!;
    await limits.hold('pause:mail', Infinity);
    await limits.hold('breaker:plain:open', 5_000);
    await limits.hold('something else', 5_000);
    const held = (await shown()).filter(({ heldUntil }) => heldUntil !== null);
    expect(held.map(({ kind, name, keyPart, heldUntil }) => [kind, name, keyPart, heldUntil])).toEqual([
      ['breaker', 'plain', 'open', startMs + 5_000],
      ['pause', 'mail', null, 'reset'],
    ]);
  });

  it('are looked for with options that are checked', async () => {
    const { operator, client } = await shop();
    for (const filter of [
      { max: 0 },
      { max: 1.5 },
      { max: 10_001 },
      { prefix: 'x'.repeat(501) },
      { after: 5 },
    ])
      expect((await refusal(() => operator.limits.list(filter as never))).code).toBe('OPTION');
    for (const key of ['', 'x'.repeat(501), 'a\u0000', null])
      expect((await refusal(() => operator.limits.reset(key as never))).code).toBe('OPTION');
    const { limits: _, ...stores } = client.stores;
    const without = createOperator({ ...client, stores }, by);
    expect((await refusal(() => without.limits.list())).message).toContain('keeps no limits');
    expect((await refusal(() => without.limits.reset('x'))).code).toBe('CONFIG');
  });
});

describe('a reset', () => {
  it('frees the slots, wakes who waits and is in the audit log', async () => {
    const { put, sync, begin, next, operator, client, clock } = await shop();
    await put(sync);
    const second = await put(sync);
    const finish = await begin();
    await next();
    expect((await client.status(second))!.runAt).toBeGreaterThan(clock.now());
    const key = 'job:shop.sync:concurrency:1';
    expect(await operator.limits.reset(key)).toBe(true);
    const finishSecond = await begin();
    await finish();
    // The slot that the first one had is no more: it frees none of the second one.
    expect((await operator.limits.list({ prefix: key })).limits.map(short)).toEqual([`${key} 1/1 0`]);
    await finishSecond();
    expect(await operator.limits.reset(key)).toBe(false);
    const { entries } = await operator.audit();
    expect(
      entries
        .filter(({ phase }) => phase === 'done')
        .map(({ action, target, count, note }) => [action, target, count, note])
        .toSorted((a, b) => Number(b[2]) - Number(a[2])),
    ).toEqual([
      ['limit.reset', key, 1, null],
      ['limit.reset', key, 0, 'No slot was in use, and it was not on hold.'],
    ]);
  });
});

describe('a job says why it waits', () => {
  it('for a slot of its key, and who has it', async () => {
    const { put, sync, begin, next, whys } = await shop();
    const holder = await put(sync, 'c-7');
    const [second, third] = [await put(sync, 'c-7'), await put(sync, 'c-7')];
    await begin();
    await next();
    const rule = `job shop.sync runs 1 at a time for key "c-7": 1 of 1 slots in use by job ${holder}`;
    expect(await whys(second)).toEqual([rule]);
    await next();
    expect(await whys(third)).toEqual([`${rule}, 1 other job waits too`]);
    expect(await whys(holder)).toEqual([]);
  });

  it('for its time at a rate', async () => {
    const { put, mail, begin, next, whys, clock } = await shop();
    const [, , third] = [await put(mail), await put(mail), await put(mail)];
    await begin();
    clock.advance(10_000);
    await begin();
    await next();
    clock.advance(5_000);
    expect(await whys(third)).toEqual([
      'job mail begins 2 in 60 s: the next slot is free in 45 s, this one begins in 45 s',
    ]);
  });

  it('for a rate that the other side has stopped', async () => {
    const { put, mail, next, whys, client } = await shop();
    await client.stores.limits!.hold('job:mail:rate', 30_000);
    const id = await put(mail);
    await next();
    const until = new Date(startMs + 30_000).toISOString();
    expect(await whys(id)).toEqual([
      `job mail begins 2 in 60 s: held by ctx.rateLimited() until ${until} (in 30 s), this one begins in 30 s`,
    ]);
  });

  it('for limits of its queue, of which several jobs have slots', async () => {
    const { put, plain, mail, begin, next, whys } = await shop({
      queues: { mail: { concurrency: { limit: 1 } } },
    });
    const first = await put(mail);
    await begin();
    const second = await put(plain, 1, { queue: 'mail' });
    await next();
    expect(await whys(second)).toEqual([`queue mail runs 1 at a time: 1 of 1 slots in use by job ${first}`]);
  });

  it('for a full limit without a key that it has not asked, because its queue is left out', async () => {
    const { put, mail, begin, next, whys } = await shop({ queues: { mail: { concurrency: { limit: 1 } } } });
    const first = await put(mail);
    await begin();
    const [second, later] = [await put(mail), await put(mail, 1, { delayMs: 90_000 })];
    const rule = `queue mail runs 1 at a time: 1 of 1 slots in use by job ${first}`;
    expect(await whys(second)).toEqual([rule]);
    expect(await whys(later)).toMatchObject([/^delayed until/]);
    const third = await put(mail);
    await next();
    expect(await whys(third)).toEqual([`${rule}, 1 other job waits too`]);
  });

  it('for a job that is paused, and for a breaker that is open', async () => {
    const { put, mail, plain, whys, client, backend } = await shop();
    const limits = client.stores.limits!;
    const [paused, stopped] = [await put(mail), await put(plain)];
    await limits.hold('pause:mail', Infinity);
    await limits.hold('breaker:plain:open', 30_000);
    await backend.admin!.setPaused('mail', true);
    expect(await whys(paused)).toEqual([
      'job mail is paused: none of its jobs begins until it is resumed',
      'queue mail is paused: none of its jobs starts until it is resumed',
    ]);
    expect(await whys(stopped)).toEqual([
      `the breaker of job plain is open until ${new Date(startMs + 30_000).toISOString()} (in 30 s): too many of its attempts have failed`,
    ]);
  });

  it('for its time, and for a worker', async () => {
    const { put, plain, next, whys, clock, client } = await shop({
      handle: () => {
        throw new Error('down');
      },
    });
    const later = await put(plain, 1, { delayMs: 90_000 });
    const now = await put(plain);
    const until = new Date(startMs + 90_000).toISOString();
    expect(await whys(later)).toEqual([`delayed until ${until} (in 90 s)`]);
    expect(await whys(now)).toEqual(['ready: it waits for a free worker']);
    await client.stores.workers.heartbeat({ ...beat, draining: true });
    expect(await whys(now)).toEqual([
      'no worker is running for queue default; only a function could take the job',
    ]);
    await next();
    clock.advance(1);
    expect(await whys(now)).toEqual([]);
  });

  it('between two attempts', async () => {
    const { put, sync, next, whys } = await shop({
      handle: () => {
        throw new Error('down');
      },
    });
    const id = await put(sync);
    const { delayMs } = await next();
    expect(await whys(id)).toEqual([`retry in ${Math.round(delayMs! / 100) / 10} s`]);
  });
});
