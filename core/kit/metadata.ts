/**
 * What a broker cannot keep of a message, kept in a key store as JSON under a key of its own: deliveries that were no attempts, why
 * a job was buried, a move that was begun. Whoever reads or writes it holds the key meanwhile.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { LongshoreError } from '../base/errors.ts';
import type { KeyStore } from '../contract/store.ts';

export interface Metadata {
  /** `null` = there is none. */
  read<T>(key: string): Promise<T | null>;
  /** `change` gets what is there now, and returns what shall be; `null` = nothing. Resolves with what is there then. */
  update<T>(key: string, change: (old: T | null) => T | null): Promise<T | null>;
}

/** Long enough for one write; a process that is killed meanwhile blocks the key for so long. */
const holdMs = 5_000;
const waitMs = 5;
const longestWaitMs = 10_000;

/** @param keepMs how long a value is kept after it was last read or written */
export function createMetadata(
  keys: KeyStore,
  clock: Clock,
  newOwner: () => string,
  keepMs: number,
): Metadata {
  async function update<T>(key: string, change: (old: T | null) => T | null): Promise<T | null> {
    const owner = newOwner();
    const since = performance.now();
    let claim = await keys.claim(key, owner, clock.now() + holdMs);
    while (claim.state === 'running') {
      if (performance.now() - since > longestWaitMs)
        throw new LongshoreError('BACKEND', `Expected the key "${key}" to be free, others hold it.`);
      await delay(waitMs); // others hold it for one write
      claim = await keys.claim(key, owner, clock.now() + holdMs);
    }
    const old = claim.value === null ? null : (JSON.parse(claim.value) as T);
    // Completed keys are what versions before this one wrote: they stay as they are.
    if (claim.state === 'completed') return old;
    const value = change(old);
    // Also when it has not changed: a key that is released without a value forgets the one it had.
    const keep =
      value === null ? undefined : { value: JSON.stringify(value), keepUntil: clock.now() + keepMs };
    if (!(await keys.release(key, owner, keep)))
      throw new LongshoreError('BACKEND', `Expected to hold the key "${key}" long enough to write it.`);
    return value;
  }
  return { read: (key) => update(key, (old) => old as never), update };
}
