/** Reads the value of a key. A key store has no read, so the reader claims the key and releases it. */

import { type Clock, pause } from '../../base/clock.ts';
import type { KeyClaim, KeyStore } from '../../contract/store.ts';

/** A process that is killed while it reads blocks the key for this time. */
const readerHoldMs = 2_000;
const tries = 10;
const waitMs = 20;

/** Waits for readers, who take milliseconds. Does not wait for other owners, who hold the key for longer. */
export async function claimPastReaders(
  keys: KeyStore,
  clock: Clock,
  key: string,
  owner: string,
  holdMs: number,
): Promise<KeyClaim> {
  for (let left = tries; ; left--) {
    const now = clock.now();
    const claim = await keys.claim(key, owner, now + holdMs);
    const isRead = claim.state === 'running' && claim.until - now <= readerHoldMs;
    if (!isRead || left === 1) return claim;
    await pause(clock, waitMs);
  }
}

/** `null` = no value. `busy` = another owner holds the key and may change it. */
export async function peek(
  keys: KeyStore,
  clock: Clock,
  key: string,
  owner: string,
  keepMs: number,
): Promise<string | null | 'busy'> {
  const claim = await claimPastReaders(keys, clock, key, owner, readerHoldMs);
  if (claim.state === 'running') return 'busy';
  if (claim.state === 'claimed') {
    const { value } = claim;
    await keys.release(key, owner, value === null ? undefined : { value, keepUntil: clock.now() + keepMs });
  }
  return claim.value;
}
