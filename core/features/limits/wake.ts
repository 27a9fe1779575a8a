/** Wakes jobs that wait for a slot: they were released for long, and come at once instead. */

import type { LimitStore, SlotWaiter } from '../../contract/derived/limits.ts';
import type { QueueBackend } from '../../contract/queue.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { jobOf } from './holders.ts';

type WakingClient = Pick<Client, 'backend' | 'stores'>;

/** In one go. */
export const mostWoken = 1_000;

/** By backend: taken out of their lines, and not woken yet because the backend did not answer. */
const owed = new WeakMap<QueueBackend, SlotWaiter[]>();

/**
 * Makes them ready. For one that does not wait any more the next one comes: it was cancelled, or is on its way back to the queue,
 * and then looks for itself.
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

/** Wakes those whose turn came while the backend did not answer. */
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

/** All that wait for the key, after a reset. */
export async function wakeAll(client: WakingClient, key: string): Promise<void> {
  for (;;) {
    const waiters = await client.stores.limits!.wake(key, mostWoken);
    if (waiters.length === 0) return;
    await promoteWaiters(client, waiters);
  }
}
