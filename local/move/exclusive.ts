/** Prevents two moves at the same time, and a move of a backend into itself. */

import { randomUUID } from 'node:crypto';
import { type Clock, sleep } from '../../core/base/clock.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import type { KeyStore } from '../../core/contract/store.ts';

const key = 'longshore:move';
/** A killed move blocks others for this time. */
const holdMs = 4_000;
const renewMs = 1_000;

/**
 * Whether both are the same queue, even under different addresses. Always `false` unless both have a key store. Backends of different
 * kinds are never the same, even if they share a store.
 */
export async function isSame(from: QueueBackend, to: QueueBackend, clock: Clock): Promise<boolean> {
  if (from === to) return true;
  if (from.name !== to.name || !from.stores || !to.stores) return false;
  const probe = `${key}:${randomUUID()}`;
  const until = clock.now() + holdMs;
  await from.stores.keys.claim(probe, 'from', until);
  const { state } = await to.stores.keys.claim(probe, 'to', until);
  await Promise.all([from.stores.keys.release(probe, 'from'), to.stores.keys.release(probe, 'to')]);
  return state === 'running';
}

/**
 * Waits for the lock of a killed move to expire, and calls `waiting` once if that takes time. Returns a function that releases the lock;
 * `null` = another move is running.
 */
export async function exclusive(
  backends: readonly QueueBackend[],
  clock: Clock,
  waiting: () => void,
): Promise<(() => Promise<unknown>) | null> {
  const owner = randomUUID();
  const held: KeyStore[] = [];
  const release = () => Promise.all(held.map((keys) => keys.release(key, owner).catch(() => false)));
  let notified = false;
  for (const { stores } of backends) {
    if (!stores) continue;
    const deadline = clock.now() + 2 * holdMs;
    for (;;) {
      const claim = await stores.keys.claim(key, owner, clock.now() + holdMs);
      if (claim.state !== 'running') break;
      if (clock.now() >= deadline) {
        await release();
        return null;
      }
      if (!notified) waiting();
      notified = true;
      const waitMs = Math.min(500, Math.max(10, claim.until - clock.now()));
      await sleep(clock, waitMs);
    }
    held.push(stores.keys);
  }
  let cancel = () => {};
  const renew = () => {
    cancel = clock.after(renewMs, () => {
      // If this fails, the lock expires. Workers still cannot reach held jobs.
      for (const keys of held) keys.extend(key, owner, clock.now() + holdMs).catch(() => false);
      renew();
    });
  };
  renew();
  return () => {
    cancel();
    return release();
  };
}
