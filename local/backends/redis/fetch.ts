/** A fetch leases what is ready. If nothing is, it waits to be woken, for the next delayed job, or for the next poll. */

import type { JobSource } from '../../../core/contract/queue.ts';
import type { Leased, Leases } from './leases.ts';
import type { Listener } from './listener.ts';
import type { RedisState } from './state.ts';

/** A worker that listens polls too: a message can be lost with its connection. */
const safetyPollMs = 2_000;
const nothing: Leased = { leases: [], nextDelayedMs: null };

/** @param listener `null` = this process polls */
export function createFetch(
  state: RedisState,
  { lease }: Leases,
  listener: Listener | null,
): JobSource['fetch'] {
  const { clock, waiters, pollMs } = state;

  return async ({ queues, max, leaseMs, waitMs, signal }) => {
    const until = clock.now() + waitMs;
    const channels = queues.map(state.channel);
    /** Nothing was heard for a whole poll. A job that is ready all the same was sent unheard. */
    let silent = false;
    while (state.isOpen) {
      const now = clock.now();
      const wakes = waiters.wakes(queues);
      const listens = listener !== null && now < until && !signal?.aborted;
      const { leases, nextDelayedMs } = await lease({ queues, max, leaseMs }, listens).catch((error) => {
        if (state.isOpen) throw error;
        return nothing;
      });
      if (silent && leases.length > 0) listener?.reconnect();
      if (leases.length > 0 || clock.now() >= until || signal?.aborted) return leases;
      listener?.start(channels);
      const hears = listener?.hears(channels) ?? false;
      const delayedAt = nextDelayedMs === null ? until : now + Math.max(1, nextDelayedMs);
      const pollAt = clock.now() + (hears ? safetyPollMs : pollMs);
      const lookAt = Math.min(pollAt, delayedAt, until);
      if (waiters.wakes(queues) === wakes) await waiters.wait(lookAt - clock.now(), signal, queues);
      silent = hears && waiters.wakes(queues) === wakes && clock.now() >= pollAt;
    }
    return [];
  };
}
