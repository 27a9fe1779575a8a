/** What only Redis keeps of limits: nothing that leaks, and calls that cost the same however much is stored. The laws are elsewhere. */

import { describe, expect, it } from 'vitest';
import type { LimitStore, SlotRequest } from '../../../core/contract/derived/limits.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { open, server } from './kit.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

const asked = (holder: string, change: Partial<SlotRequest> = {}): SlotRequest => ({
  key: 'k',
  limit: 1,
  holder,
  owner: `lease of ${holder}`,
  holdMs: minute,
  rank: 0,
  queue: 'q',
  ...change,
});

const limitsOf = (options: Parameters<typeof open>[0] = {}) => {
  const { backend, prefix } = open(options);
  return { limits: backend.stores!.limits!, records: backend.stores!.records, prefix };
};

const keysOf = async (prefix: string): Promise<string[]> =>
  ((await server.command('KEYS', `${prefix}:{limits}*`)) as string[]).sort();

/** Commands that the server runs during `work`, those of scripts too. */
async function commandsOf(work: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    const text = String(await server.command('INFO', 'commandstats'));
    const calls = [...text.matchAll(/cmdstat_z\w+:calls=(\d+)|cmdstat_h\w+:calls=(\d+)/g)];
    return calls.reduce((sum, [, z, h]) => sum + Number(z ?? h), 0);
  };
  await work(); // the first call connects, and sends the script
  const before = await count();
  await work();
  return (await count()) - before;
}

const fill = async (limits: LimitStore, requests: readonly SlotRequest[]) =>
  expect(await limits.take(requests)).toHaveLength(requests.length);

describe('limits in Redis', () => {
  it('leave nothing behind when slots are freed and waiters have had theirs', async () => {
    const { limits, prefix } = limitsOf();
    const requests = ['a', 'b', 'c'].map((holder, rank) => asked(holder, { rank }));
    await fill(limits, requests);
    for (const { key, holder, owner } of requests) {
      await limits.free([{ key, holder, owner }]);
      await limits.take(
        requests.filter((one) => one.holder === String.fromCharCode(holder.charCodeAt(0) + 1)),
      );
    }
    expect(await keysOf(prefix)).toEqual([]);
  });

  it('leave nothing behind when everything ends by itself: the next take, or a purge, removes it', async () => {
    const clock = createVirtualClock();
    const { limits, records, prefix } = limitsOf({ clock });
    const many = Array.from({ length: 1_200 }, (_, n) =>
      asked(`h${n}`, { key: `k${n % 600}`, limit: 1 + (n % 2) }),
    );
    await fill(limits, many);
    await limits.hold('held', minute);
    await clock.advance(30 * day);
    await fill(limits, [asked('now', { key: 'now' })]);
    for (let gone = 1; gone > 0; ) gone = await records.purge();
    const kept = (await keysOf(prefix)).filter((key) => !key.includes(':holder:'));
    expect(kept).toEqual(
      ['ends', 'key:now', 'keys', 'slots:1:now'].map((name) => `${prefix}:{limits}:${name}`),
    );
    for (const key of (await keysOf(prefix)).filter((one) => one.includes(':holder:')).slice(0, 5))
      expect(await server.command('PTTL', key)).toBeGreaterThan(0);
  });

  it('keep what is extended, and what was held until a reset', async () => {
    const clock = createVirtualClock();
    const { limits, records } = limitsOf({ clock });
    const [one] = [asked('a')];
    await fill(limits, [one]);
    await limits.hold('held', Infinity);
    for (let days = 0; days < 3; days++) {
      expect(await limits.extend([one], day)).toEqual([true]);
      await clock.advance(day - 1);
      await records.purge();
    }
    expect(await limits.list({})).toMatchObject([
      { key: 'held', heldUntil: Infinity },
      { key: 'k', used: 1 },
    ]);
    expect(await limits.reset('held')).toBe(true);
    expect(await limits.list({})).toMatchObject([{ key: 'k' }]);
  });

  it('cost a take the same among 10,000 keys and before 20,000 waiters', async () => {
    const { limits } = limitsOf();
    const [alone, refused] = [asked('x', { key: 'alone' }), asked('y', { key: 'alone' })];
    const few = await commandsOf(() => limits.take([alone, refused]));
    await fill(
      limits,
      Array.from({ length: 10_000 }, (_, n) => asked('x', { key: `key-${n}` })),
    );
    const waiting = Array.from({ length: 20_000 }, (_, n) => asked(`w${n}`, { key: 'alone', rank: n + 1 }));
    await fill(limits, waiting);
    expect(await commandsOf(() => limits.take([alone, refused]))).toBe(few);
    const [last] = await limits.take([asked('last', { key: 'alone', rank: 1e15 })]);
    expect(last).toMatchObject({ taken: false, limit: 1, ahead: 20_001 });
    const { key, holder, owner } = alone;
    expect(await limits.free([{ key, holder, owner }])).toEqual([{ key, holder: 'y', queue: 'q' }]);
  });

  it('count in any number of connections together', async () => {
    const { prefix, limits } = limitsOf();
    const stores = [limits, ...Array.from({ length: 5 }, () => limitsOf({ prefix }).limits)];
    for (let round = 0; round < 20; round++) {
      const requests = stores.map((_, n) => asked(`${round}-${n}`, { limit: 3, rank: n }));
      const answers = await Promise.all(stores.map((store, n) => store.take([requests[n]!])));
      const taken = requests.filter((_, n) => answers[n]![0]!.taken);
      expect(taken).toHaveLength(3);
      const woken = await Promise.all(taken.map((one, n) => stores[n]!.free([one])));
      expect(woken.flat()).toHaveLength(3);
    }
  });

  it('are extended and freed while the memory is full, and nobody gets a slot then', async () => {
    const { limits } = limitsOf();
    const [first, second, third] = ['a', 'b', 'c'].map((holder) => asked(holder, { limit: 2 }));
    await fill(limits, [first!, second!, third!]);
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    try {
      await expect(limits.take([asked('d', { key: 'other' })])).rejects.toMatchObject({
        code: 'STORAGE_FULL',
      });
      expect(await limits.extend([first!, second!], 2 * minute)).toEqual([true, true]);
      expect(await limits.free([first!])).toMatchObject([{ holder: 'c' }]);
    } finally {
      await server.command('CONFIG', 'SET', 'maxmemory', '0');
    }
    expect(await limits.list({})).toMatchObject([{ key: 'k', used: 1, waiting: 0 }]);
  });

  it('go by the time of the server', async () => {
    const { limits } = limitsOf();
    const [seconds] = (await server.command('TIME')) as string[];
    await fill(limits, [asked('a', { holdMs: day })]);
    const [state] = await limits.list({});
    expect(state!.slots[0]!.until).toBeGreaterThanOrEqual(Number(seconds) * 1_000 + day);
  });
});
