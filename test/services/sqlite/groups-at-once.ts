/** Ordered groups that several processes change at once. */

import { expect } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { message } from './messages.ts';

const groups = ['a', 'b', 'c'];
const total = 240;
const queue = 'default';

/** Sends, runs, releases and cancels through all of these openings, until no job is left. Two loops work through each. */
export async function groupsAtOnce(openings: readonly QueueBackend[]): Promise<void> {
  const running = new Set<string>();
  const last = new Map<string, number>();
  let ended = 0;

  /** Each group has a sender of its own: only of one is it known what came first. */
  async function send(from: QueueBackend, group: string): Promise<void> {
    for (let n = 0; n < total / groups.length; n += 8) {
      const some = Array.from({ length: 8 }, (_, i) =>
        message({ id: `${group}${n + i}`, body: JSON.stringify([group, n + i]), group, order: 'wait' }),
      );
      expect((await from.enqueue(some)).filter(({ ok }) => !ok)).toEqual([]);
    }
  }

  async function work(from: QueueBackend, number: number): Promise<void> {
    for (let round = 0; ended < total; round++) {
      const max = 1 + (round % 3);
      const leases = await from.fetch({ queues: [queue], max, leaseMs: 60_000, waitMs: 0 });
      for (const lease of leases) {
        const [group, n] = JSON.parse(lease.body) as [string, number];
        expect(running.has(group), `${group} runs twice`).toBe(false);
        expect(n).toBeGreaterThan(last.get(group) ?? -1);
        running.add(group);
        if ((round + number) % 5 === 0) {
          running.delete(group);
          expect(await from.nack(lease, { delayMs: 0, countAttempt: false })).toBe(true);
          continue;
        }
        last.set(group, n);
        // Its cancel comes in the middle of it: whoever is first, the other one gets an answer.
        const cancelling = n % 4 === 0 ? from.stores!.records.cancel(`${group}${n}`) : null;
        running.delete(group);
        ended++;
        expect(await from.ack([{ lease }])).toEqual([true]);
        await cancelling;
      }
      if (leases.length === 0) await from.reapExpired(queue);
    }
  }

  await Promise.all([
    ...groups.map((group, i) => send(openings[i % openings.length]!, group)),
    ...openings.flatMap((opening, i) => [work(opening, 2 * i), work(opening, 2 * i + 1)]),
  ]);
}
