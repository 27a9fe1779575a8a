/** Starts and waiters that are merely counted: how little is stored, and what version 0.1.0 makes of it. */

import { describe, expect, it } from 'vitest';
import type { SlotRequest } from '../../../core/contract/derived/limits.ts';
import { type LimitTable, limitStore } from '../../../core/kit/records/limits.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const minute = 60_000;
const limit = 1_000;
const id = '019bc187-c090-7be2-b93c-91c0030caa81';

interface Stored {
  readonly slots: readonly { readonly until: number; readonly limit: number }[];
  readonly waiters: readonly unknown[];
}

function open() {
  const clock = createVirtualClock();
  const rows = new Map<string, { readonly text: string; readonly version: string }>();
  let writes = 0;
  /** Whether the next write is made, but looks as if it was not. */
  let loses = false;
  const table: LimitTable = {
    read: async (name) => rows.get(name) ?? null,
    async write(name, text, over) {
      if ((rows.get(name)?.version ?? null) !== over) return null;
      rows.set(name, { text, version: `${++writes}` });
      const lost = loses;
      loses = false;
      return lost ? null : `${writes}`;
    },
    remove: async (name, version) => rows.get(name)?.version === version && rows.delete(name),
    list: async (prefix) =>
      [...rows].filter(([name]) => name.startsWith(prefix)).map(([name, row]) => ({ name, ...row })),
  };
  const limits = limitStore(table, clock);
  let n = 0;
  const start = (more: Partial<SlotRequest> = {}): SlotRequest => ({
    ...{ key: 'k', limit, holder: `${id}#${++n}`, waiter: `job ${n}`, owner: 'o'.repeat(43), holdMs: minute },
    ...{ rank: n, queue: 'mail', isStart: true, unwakeable: true, ...more },
  });
  return {
    clock,
    rows,
    limits,
    start,
    textOf: () => rows.get('kk')!.text,
    loseAnAnswer: () => {
      loses = true;
    },
    /** One each 60 ms. */
    async begin(count: number) {
      for (let i = 0; i < count; i++) {
        expect(await limits.take([start()])).toMatchObject([{ taken: true }]);
        clock.advance(60);
      }
    },
    used: async () => (await limits.list({}))[0]?.used,
  };
}

describe('a rate of 1,000 a minute', () => {
  it('that is nearly used up is stored in 4 KB', async () => {
    const { begin, textOf, used } = open();
    await begin(990);
    expect(await used()).toBe(990);
    expect(textOf().length).toBeLessThan(4_096);
  });

  it('is stored in 12 KB when all begin at once', async () => {
    const { limits, start, clock, textOf } = open();
    await limits.take(Array.from({ length: limit }, () => start()));
    expect(textOf().length).toBeLessThan(12_000);
    clock.advance(minute);
    expect((await limits.take([start()]))[0]).toMatchObject({ taken: true }); // those that have names
    clock.advance(minute / 100);
    const answers = await limits.take(Array.from({ length: limit }, () => start()));
    expect(answers.filter(({ taken }) => taken)).toHaveLength(limit - 1);
  });

  it('counts the slots that the release before has taken', async () => {
    const { limits, rows, clock, start } = open();
    const slots = Array.from({ length: limit }, (_, i) => ({
      ...{ holder: `old#${i}`, owner: 'o', until: clock.now() + 1 + i, limit },
    }));
    rows.set('kk', { text: JSON.stringify({ slots, waiters: [], heldUntil: null }), version: 'old' });
    expect(await limits.take([start()])).toMatchObject([{ taken: false, waitMs: 1 }]);
    clock.advance(limit / 2);
    const answers = await limits.take(Array.from({ length: limit }, () => start()));
    expect(answers.filter(({ taken }) => taken)).toHaveLength(limit / 2);
  });

  it('leaves the release before, which takes what is counted for one slot, as much room as there is', async () => {
    const { begin, clock, textOf } = open();
    await begin(700);
    clock.advance(1_000);
    await begin(1);
    const { slots } = JSON.parse(textOf()) as Stored;
    const free = Math.min(...slots.map((slot) => slot.limit)) - slots.length;
    expect(slots.length).toBeLessThan(5);
    expect(free).toBe(limit - 701);
  });

  it('counts a start once whose write had no answer', async () => {
    const { limits, start, loseAnAnswer, used } = open();
    await limits.take([start({ unwakeable: false })]);
    loseAnAnswer();
    await limits.take([start({ unwakeable: false })]);
    expect(await used()).toBe(2);
  });

  it('gives 3,000 jobs that come at once turns of their own', async () => {
    const { clock, limits, start } = open();
    const asked = Array.from({ length: 3_000 }, () => start());
    const begun: number[] = [];
    let asks = 0;
    const due = asked.map((one) => ({ one, at: clock.now() }));
    while (due.length > 0) {
      due.sort((a, b) => b.at - a.at);
      const some = due.splice(-10);
      clock.advance(Math.max(0, some[0]!.at - clock.now()));
      const answers = await limits.take(
        some.map(({ one }) => ({ ...one, holder: `${one.waiter}#${asks++}` })),
      );
      for (const [i, answer] of answers.entries()) {
        if (answer.taken) begun.push(clock.now());
        else due.push({ one: some[i]!.one, at: clock.now() + Math.ceil(answer.waitMs / 1_000) * 1_000 });
      }
    }
    expect(begun).toHaveLength(3_000);
    for (const [i, at] of begun.entries())
      expect((begun[i + limit] ?? Infinity) - at).toBeGreaterThanOrEqual(minute);
    expect(asks).toBeLessThan(2 * 3_000);
    expect(begun.at(-1)! - begun[0]!).toBeLessThan(2.2 * minute);
    expect((await limits.list({}))[0]).toMatchObject({ waiting: 0 });
  });
});
