/**
 * What beanstalkd cannot keep of a job, kept in a key store: which reservations were no attempts, and why a job was buried. Each
 * note is a JSON text under a key of its own, and whoever writes it holds the key meanwhile.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../core/base/clock.ts';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { KeyStore } from '../../../core/contract/store.ts';

export interface Notes {
  read<T>(key: string): Promise<T | null>;
  /** `change` may be called with what is there now; what it returns takes its place, `null` = nothing. */
  update<T>(key: string, change: (old: T | null) => T | null): Promise<void>;
}

/** Long enough for one write; whoever is killed meanwhile blocks the key for so long. */
const holdMs = 5_000;
const waitMs = 5;
const longestWaitMs = 10_000;

export function createNotes(keys: KeyStore, clock: Clock, newOwner: () => string, keepMs: number): Notes {
  async function hold(key: string, owner: string): Promise<string | null> {
    const since = performance.now();
    for (;;) {
      const claim = await keys.claim(key, owner, clock.now() + holdMs);
      if (claim.state !== 'running') return claim.value;
      if (performance.now() - since > longestWaitMs)
        throw new LongshoreError('BACKEND', `Expected the note "${key}" to be free, it is held by others.`);
      await delay(waitMs); // others hold it for one write
    }
  }

  async function turn<T>(key: string, change: (old: T | null) => T | null): Promise<T | null> {
    const owner = newOwner();
    const text = await hold(key, owner);
    const old = text === null ? null : (JSON.parse(text) as T);
    const next = change(old);
    // Unchanged or not, the text must be said again: whoever lets go without one forgets it.
    const keep = next === null ? undefined : { value: JSON.stringify(next), keepUntil: clock.now() + keepMs };
    if (!(await keys.release(key, owner, keep)))
      throw new LongshoreError('BACKEND', `Expected to hold the note "${key}" long enough to write it.`);
    return old;
  }

  return {
    read: (key) => turn(key, (old) => old as never),
    async update(key, change) {
      await turn(key, change);
    },
  };
}
