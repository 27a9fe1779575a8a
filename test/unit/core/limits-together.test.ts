/** How a limit store gets on with a table that compares and swaps. What it answers is held to the laws of limits. */

import { describe, expect, it } from 'vitest';
import type { SlotRequest } from '../../../core/contract/derived/limits.ts';
import { type LimitTable, limitStore } from '../../../core/kit/records/limits.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const asked = (n: number, change: Partial<SlotRequest> = {}): SlotRequest => ({
  ...{ key: 'k', limit: 3, holder: `job ${n}`, owner: `lease ${n}`, holdMs: 60_000, rank: n, queue: 'mail' },
  ...change,
});

function tableOf(more: Partial<LimitTable> = {}) {
  const rows = new Map<string, { readonly text: string; readonly version: string }>();
  const writes: string[] = [];
  const table: LimitTable = {
    read: async (name) => rows.get(name) ?? null,
    async write(name, text, over) {
      if ((rows.get(name)?.version ?? null) !== over) return null;
      writes.push(name);
      rows.set(name, { text, version: `${writes.length}` });
      return `${writes.length}`;
    },
    remove: async (name, version) => rows.get(name)?.version === version && rows.delete(name),
    list: async () => [],
    ...more,
  };
  return { table, rows, writes };
}

describe('a limit store over a table', () => {
  it('writes what comes at once together', async () => {
    const { table, writes } = tableOf();
    const limits = limitStore(table, createVirtualClock());
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => limits.take([asked(n)])));
    expect(answers.flat().filter(({ taken }) => taken)).toHaveLength(3);
    expect(writes.filter((name) => name === 'kk')).toHaveLength(2);
    const freed = await Promise.all([0, 1, 2].map((n) => limits.free([asked(n)])));
    expect(freed.flat().map(({ holder }) => holder)).toEqual(['job 3', 'job 4', 'job 5']);
  });

  it('begins again with each race that it loses', async () => {
    const { table, rows } = tableOf();
    const clock = createVirtualClock();
    const peer = limitStore(table, clock);
    let races = 0;
    const limits = limitStore(
      {
        ...table,
        async write(name, ...rest) {
          if (name === 'kk' && races++ < 2) await peer.take([asked(races)]);
          return table.write(name, ...rest);
        },
      },
      clock,
    );
    expect(await limits.take([asked(8)])).toEqual([{ taken: true, limit: 3, largest: 3 }]);
    expect(await limits.take([asked(9)])).toMatchObject([{ taken: false, ahead: 0 }]);
    expect(JSON.parse(rows.get('kk')!.text).slots).toHaveLength(3);
  });

  it('refuses only what does not fit', async () => {
    const { table } = tableOf({ fits: (text) => text.length < 1_000 });
    const limits = limitStore(table, createVirtualClock());
    const large = asked(2, { holder: 'x'.repeat(2_000) });
    const [first, , third] = [limits.take([asked(1)]), limits.wake('k', 1), limits.take([asked(3)])];
    await expect(limits.take([large])).rejects.toMatchObject({ code: 'LIMIT' });
    expect([await first, await third].flat().map(({ taken }) => taken)).toEqual([true, true]);
  });

  it('fails all that was to be written together when the table fails, and then goes on', async () => {
    let fails = true;
    const { table, rows } = tableOf();
    const limits = limitStore(
      { ...table, read: async (name) => (fails ? Promise.reject(new Error('down')) : table.read(name)) },
      createVirtualClock(),
    );
    const calls = await Promise.allSettled([1, 2, 3].map((n) => limits.take([asked(n)])));
    expect(calls.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(rows.size).toBe(0);
    fails = false;
    expect(await limits.take([asked(1)])).toMatchObject([{ taken: true }]);
  });
});
