/** Wakes jobs that wait for a slot: they were released with a long delay, and become ready at once. */

import type { LimitStore, SlotWaiter } from '../../contract/derived/limits.ts';
import type { QueueBackend } from '../../contract/queue.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { jobOf } from './holders.ts';

type WakingClient = Pick<Client, 'backend' | 'stores'>;

/** The most jobs woken at once. */
export const mostWoken = 1_000;

/** By backend: removed waiters whose jobs are not woken yet, because the backend did not answer. */
const owed = new WeakMap<QueueBackend, SlotWaiter[]>();

/**
 * Makes the jobs ready. If a job is not waiting any more, the next waiter is taken: the job was cancelled, or is on its way back to the queue
 * and then checks by itself.
 */
export async function promoteWaiters(
  { backend, stores }: WakingClient,
  waiters: readonly SlotWaiter[],
): Promise<void> {
  if (!backend.pending) return; // they ask again by themselves
  let next = waiters;
  while (next.length > 0) {
    let promoted: boolean[];
    try {
      const jobs = next.map(({ queue, holder }) => ({ queue, id: jobOf(holder) }));
      promoted = await backend.pending.change(jobs, { notBefore: null });
    } catch (error) {
      owed.set(backend, [...(owed.get(backend) ?? []), ...next]);
      throw error;
    }
    const missed = next.filter((_, i) => !promoted[i]);
    next = await inTheirPlace(stores.limits!, missed);
  }
}

/** Wakes the jobs whose turn came while the backend did not answer. */
export async function promoteOwed(client: WakingClient): Promise<void> {
  const waiters = owed.get(client.backend);
  if (!waiters) return;
  owed.delete(client.backend);
  await promoteWaiters(client, waiters);
}

async function inTheirPlace(limits: LimitStore, missed: readonly SlotWaiter[]): Promise<SlotWaiter[]> {
  const byKey = Map.groupBy(missed, ({ key }) => key);
  const found = await Promise.all([...byKey].map(([key, { length }]) => limits.wake(key, length)));
  return found.flat();
}

/** Wakes all waiters of the key, after a reset. */
export async function wakeAll(client: WakingClient, key: string): Promise<void> {
  for (;;) {
    const waiters = await client.stores.limits!.wake(key, mostWoken);
    if (waiters.length === 0) return;
    await promoteWaiters(client, waiters);
  }
}
