/** Limits over a table that can only compare and swap: what is written when others write too, and how much is kept. */

import { describe, expect, it } from 'vitest';
import type { Contract } from '../../../core/index.ts';
import { type LimitTable, limitStore } from '../../../core/kit/records/limits.ts';
import { listOldHolds } from '../../../core/kit/records/old-holds.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const day = 86_400_000;
const ask = (holder: string, rank = 0, key = 'k'): Contract.SlotRequest => ({
  ...{ key, holder, rank, limit: 1, owner: 'o', holdMs: 1_000, queue: 'mail' },
});

function open(options: Pick<LimitTable, 'mostWaiters'> = {}) {
  const clock = createVirtualClock();
  const rows = new Map<string, { text: string; version: string; endsAt: number }>();
  const writes: string[] = [];
  let version = 0;
  /** Runs before the next write, as another process would. */
  let between: () => Promise<unknown> = async () => {};
  const table: LimitTable = {
    ...options,
    read: async (name) => rows.get(name) ?? null,
    async write(name, text, over, endsAt) {
      const other = between;
      between = async () => {};
      await other();
      if ((rows.get(name)?.version ?? null) !== over) return null;
      writes.push(name);
      rows.set(name, { text, version: String(++version), endsAt: endsAt! });
      return String(version);
    },
    remove: async (name, old) => rows.get(name)?.version === old && rows.delete(name),
    list: async (prefix, after, max) => {
      listed++;
      return [...rows]
        .filter(([name]) => name.startsWith(prefix) && name > after)
        .sort()
        .slice(0, max)
        .map(([name, row]) => ({ name, ...row }));
    },
  };
  let listed = 0;
  const meanwhile = (other: () => Promise<unknown>) => {
    between = other;
  };
  const [limits, others] = [limitStore(table, clock), limitStore(table, clock)];
  return { clock, rows, writes, lists: () => listed, meanwhile, limits, others };
}

describe('limits over a table', () => {
  it('count again when another writer was first', async () => {
    const { limits, others, meanwhile } = open();
    meanwhile(() => others.take([ask('other')]));
    expect(await limits.take([ask('late')])).toMatchObject([{ taken: false, ahead: 0 }]);
    // In another place, so that there is something to write.
    meanwhile(() => others.free([ask('other')]));
    expect(await limits.take([ask('late', 1)])).toEqual([{ taken: true, limit: 1, largest: 1 }]);
  });

  it('write one text for all requests of a key, and nothing where nothing changes', async () => {
    const { limits, writes } = open();
    await limits.take([ask('a'), { ...ask('b', 0, 'x'), limit: 5 }, { ...ask('c', 0, 'x'), limit: 5 }]);
    expect(writes.toSorted()).toEqual(['kk', 'kx']);
    await limits.free([{ ...ask('a'), owner: 'stale' }]);
    await limits.wake('never', 3);
    await limits.reset('never');
    expect(writes).toHaveLength(2);
  });

  it('know what version 0.1.0 has held until a reset once it is listed, and list nothing before', async () => {
    const { limits, others, rows, lists } = open();
    await limits.hold('pause:a', Infinity);
    await limits.hold('pause:b', 1_000);
    rows.delete('rpause:');
    expect(await others.heldUntilReset!('pause:')).toEqual([]);
    expect(lists()).toBe(0);
    expect(await listOldHolds(limits)).toBe(true);
    expect(await others.heldUntilReset!('pause:')).toEqual(['pause:a']);
    expect(await listOldHolds(limits)).toBe(false);
  });

  it('name no key as held that a writer has reset before it died', async () => {
    const { limits, others, meanwhile } = open();
    await limits.hold('pause:a', Infinity);
    meanwhile(async () => {
      throw new Error('died');
    });
    await expect(others.reset('pause:a')).rejects.toThrow('died');
    expect(await limits.heldUntilReset!('pause:')).toEqual([]);
  });

  it('leave nothing of a key that nobody uses any more', async () => {
    const { limits, rows } = open();
    await limits.take([ask('a')]);
    await limits.free([ask('a')]);
    expect(rows.size).toBe(0);
  });

  it('remember the waiters of the lowest ranks, and tell the others only their wait', async () => {
    const { limits } = open({ mostWaiters: 3 });
    await limits.take([ask('runs')]);
    await limits.take([5, 3, 9, 1, 7].map((rank) => ask(`job ${rank}`, rank)));
    expect(await limits.take([ask('last', 99)])).toEqual([
      { taken: false, limit: 1, largest: 1, ahead: 3, waitMs: 1_000 + 3 * 1_000 },
    ]);
    expect(await limits.list({})).toMatchObject([{ waiting: 3 }]);
    expect(await limits.waitsFor(['job 7'])).toEqual([[]]);
    expect(await limits.free([ask('runs')])).toMatchObject([{ holder: 'job 1' }]);
  });

  it('name for each text when nothing of it counts any more', async () => {
    const { limits, rows, clock } = open();
    await limits.take([ask('a'), ask('b')]);
    const waits = clock.now() + 1_000 + day;
    expect(rows.get('kk')!.endsAt).toBe(waits);
    expect(rows.get('hb')!.endsAt).toBe(waits + day);
    await limits.hold('k', Infinity);
    expect(rows.get('kk')!.endsAt).toBe(Number.MAX_SAFE_INTEGER);
    expect(await limits.list({})).toMatchObject([{ heldUntil: Infinity }]);
  });

  it('do not write down again what a job waits for when it asks again soon', async () => {
    const { limits, writes, clock } = open();
    await limits.take([ask('a'), ask('b')]);
    for (let n = 0; n < 5; n++) {
      clock.advance(900);
      await limits.extend([ask('a')], 1_000);
      await limits.take([ask('b')]);
    }
    expect(writes.filter((name) => name === 'hb')).toHaveLength(1);
    expect(await limits.waitsFor(['b'])).toEqual([['k']]);
  });

  it('answer an error when every write loses', async () => {
    const { limits, others, meanwhile } = open();
    const again = async () => {
      meanwhile(async () => {});
      await others.hold('k', 1_000);
      await others.reset('k');
      await others.hold('k', 1_000);
      meanwhile(again);
    };
    meanwhile(again);
    await expect(limits.take([ask('late')])).rejects.toMatchObject({ code: 'BACKEND' });
  });
});
