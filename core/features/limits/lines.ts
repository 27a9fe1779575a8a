/** The queues of waiters: removes jobs that have ended, and wakes waiters if a slot is free. */

import { backendError } from '../../base/failure.ts';
import type { LimitState } from '../../contract/derived/limits.ts';
import { breakerPrefix } from '../../kernel/app/limit-keys.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { mostWoken, promoteWaiters } from './wake.ts';

/** Keys per look. The next look continues after them. */
const keysPerLook = 100;

/**
 * Removes waiters of jobs that were cancelled or removed, or that ended without asking again. Never fails: a waiter left behind is skipped when
 * its turn comes.
 */
export async function leaveLines(
  { app, backend, stores }: Pick<Client, 'app' | 'backend' | 'stores'>,
  ids: readonly string[],
): Promise<void> {
  await stores.limits?.leave(ids).catch((cause) => {
    const during = 'taking a job out of the lines of its limits';
    const error = backendError(during, cause);
    app.events.emit({ type: 'backend.failed', backend: backend.name, during, error });
  });
}

/** Returns the regular check of the leading worker. Slots of dead workers and holds expire without a call that would wake the waiters. */
export function lookingAtLines(client: Pick<Client, 'backend' | 'stores'>): () => Promise<void> {
  const limits = client.stores.limits!;
  let after = '';
  return async () => {
    const states = await limits.list({ after, max: keysPerLook, waiting: true });
    after = states.length < keysPerLook ? '' : states.at(-1)!.key;
    for (const state of states) {
      if (!standsStill(state)) continue;
      // Behind a breaker one job probes first.
      const most = state.key.startsWith(breakerPrefix) ? 1 : mostWoken;
      await promoteWaiters(client, await limits.wake(state.key, most));
    }
  };
}

const standsStill = ({ waiting, heldUntil, limit, used }: LimitState): boolean =>
  waiting > 0 && heldUntil === null && (limit === null || used < limit);
