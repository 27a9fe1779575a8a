/** How often idle workers look for jobs that come one by one, and how soon. */

import { expect, it } from 'vitest';
import { createLooksInVain } from '../../../local/backends/shared/looks-in-vain.ts';

/** Numbers in [0, 1) that are the same in each run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

interface Fleet {
  readonly workers: number;
  readonly everyMs: number;
  /** How long a job keeps its worker. */
  readonly busyMs?: number;
}

/** Thirty seconds in steps of a ms. Returns the looks per second, and how long jobs waited. */
function run({ workers, everyMs, busyMs = 0 }: Fleet) {
  let now = 0;
  const clock = { now: () => now, after: () => () => {} };
  const random = randomFrom(7);
  const all = Array.from({ length: workers }, () => {
    return { looks: createLooksInVain(clock, random), lookAt: Number.POSITIVE_INFINITY, busyUntil: 0 };
  });
  const waiting: number[] = [];
  const waits: number[] = [];
  let count = 0;
  for (; now < 30_000; now++) {
    if (now % everyMs === 0) {
      waiting.push(now);
      for (const one of all) one.lookAt = Math.min(one.lookAt, now + one.looks.waitMs());
    }
    for (const one of all) {
      if (one.lookAt > now || one.busyUntil > now) continue;
      one.lookAt = Number.POSITIVE_INFINITY;
      const job = waiting.shift();
      count++;
      one.looks.looked(job !== undefined);
      if (job === undefined) continue;
      waits.push(now - job);
      one.busyUntil = now + busyMs;
      if (busyMs > 0) one.lookAt = one.busyUntil; // a worker that has run a job looks again
    }
  }
  const inOrder = waits.toSorted((a, b) => a - b);
  const at = (share: number) => inOrder[Math.floor(inOrder.length * share)]!;
  return { perSecond: count / 30, medianMs: at(0.5), p99Ms: at(0.99), ran: waits.length };
}

it('lets a worker alone look for each job at once', () => {
  expect(run({ workers: 1, everyMs: 10 })).toMatchObject({ perSecond: 100, p99Ms: 0 });
});

it('lets all workers look at once for a job that comes after a pause', () => {
  expect(run({ workers: 50, everyMs: 1_000 })).toMatchObject({ perSecond: 50, p99Ms: 0 });
});

it.each([10, 50, 200])(
  'lets each of %i workers look a few times a second while jobs come all the time',
  (workers) => {
    const { perSecond, medianMs } = run({ workers, everyMs: 10 });
    expect(perSecond / workers).toBeLessThan(6 + 100 / workers);
    expect(medianMs).toBe(0);
  },
);

it('wakes as many workers as there is work for', () => {
  const { ran, medianMs, p99Ms } = run({ workers: 50, everyMs: 10, busyMs: 200 }); // keeps 20 of them busy
  expect(ran).toBeGreaterThan(2_950);
  expect(medianMs).toBeLessThan(5);
  expect(p99Ms).toBeLessThan(50);
});
