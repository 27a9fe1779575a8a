/** The lines of jobs that wait for slots: jobs that have ended leave them, and none stands still though a slot is free. */

import { backendError } from '../../base/failure.ts';
import type { LimitState } from '../../contract/derived/limits.ts';
import { breakerPrefix } from '../../kernel/app/limit-keys.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { mostWoken, promoteWaiters } from './wake.ts';

/** Keys that one look reads. The next look goes on behind them. */
const keysPerLook = 100;

/** For jobs that were cancelled or removed, or that ended without asking again. Never fails: each is passed over when its turn comes. */
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

/**
 * Returns what the leader of the workers calls again and again. A slot that was not given back, because its worker died, ends by itself,
 * and so does a hold: no call wakes the jobs that wait then.
 */
export function lookingAtLines(client: Pick<Client, 'backend' | 'stores'>): () => Promise<void> {
  const limits = client.stores.limits!;
  let after = '';
  return async () => {
    const states = await limits.list({ after, max: keysPerLook, waiting: true });
    after = states.length < keysPerLook ? '' : states.at(-1)!.key;
    for (const state of states) {
      if (!standsStill(state)) continue;
      // Behind a breaker one job tries first.
      const most = state.key.startsWith(breakerPrefix) ? 1 : mostWoken;
      await promoteWaiters(client, await limits.wake(state.key, most));
    }
  };
}

const standsStill = ({ waiting, heldUntil, limit, used }: LimitState): boolean =>
  waiting > 0 && heldUntil === null && (limit === null || used < limit);
