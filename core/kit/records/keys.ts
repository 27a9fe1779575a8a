/** A key store over any table that can compare and swap. The rules are the same for all tables. */

import type { Clock } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { KeyClaim, KeyStore } from '../../contract/store.ts';
import type { Section } from '../texts/section.ts';

export interface StoredKey {
  /** `null` = released or completed. */
  readonly owner: string | null;
  readonly holdUntil: number;
  readonly done: boolean;
  readonly value: string | null;
  /** When `value` and `done` expire. Separate from the hold, so that the value survives an owner that dies. */
  readonly keepUntil: number;
}

export interface VersionedKey {
  readonly stored: StoredKey;
  /** A new text at every write. */
  readonly version: string;
}

export interface KeyTable {
  read(key: string): Promise<VersionedKey | null>;
  /** Replaces the version that was read; `null` = none was there. `false`: another writer was first, nothing changed. */
  write(key: string, stored: StoredKey, over: string | null): Promise<boolean>;
  remove(key: string, version: string): Promise<boolean>;
}

/** Keys as texts of a section. */
export const textKeys = (section: Pick<Section, 'read' | 'write' | 'remove'>): KeyTable => ({
  async read(key) {
    const found = await section.read(key);
    return found && { stored: JSON.parse(found.text) as StoredKey, version: found.version };
  },
  write: async (key, stored, over) =>
    (await section.write(key, JSON.stringify(stored), over, endOf(stored))) !== null,
  remove: (key, version) => section.remove(key, version),
});

/** Whether a key is written, removed, or left unchanged. */
interface Decision<T> {
  readonly answer: T;
  readonly write?: StoredKey | 'remove';
}

/** Competing writers meet once or twice. After this number of lost races something else is wrong. */
const mostTries = 50;

/** When the key may be removed. */
export const endOf = ({ holdUntil, keepUntil }: StoredKey): number => Math.max(holdUntil, keepUntil);

export function keyStore(table: KeyTable, clock: Clock): KeyStore {
  async function update<T>(
    key: string,
    decide: (found: StoredKey | null, now: number) => Decision<T>,
  ): Promise<T> {
    for (let tries = 0; tries < mostTries; tries++) {
      const found = await table.read(key);
      const version = found?.version ?? null;
      const { answer, write } = decide(found?.stored ?? null, clock.now());
      if (write === undefined) return answer;
      if (write === 'remove') {
        if (version === null || (await table.remove(key, version))) return answer;
      } else if (await table.write(key, write, version)) return answer;
    }
    throw new LongshoreError('BACKEND', `Expected to write the key ${key}, lost ${mostTries} races.`);
  }

  /** Resolves with `false` and writes nothing if this owner does not hold the key. */
  const byOwner = (
    key: string,
    owner: string,
    change: (found: StoredKey) => StoredKey | 'remove',
  ): Promise<boolean> =>
    update(key, (found, now) => {
      if (found?.owner !== owner || found.holdUntil <= now) return { answer: false };
      return { answer: true, write: change(found) };
    });

  return {
    claim: (key, owner, holdUntil) =>
      update<KeyClaim>(key, (found, now) => {
        const kept = found !== null && found.keepUntil > now;
        if (kept && found.done) return { answer: { state: 'completed', value: found.value } };
        if (found && found.owner !== null && found.owner !== owner && found.holdUntil > now) {
          return { answer: { state: 'running', until: found.holdUntil } };
        }
        const value = kept ? found.value : null;
        const write = { owner, holdUntil, done: false, value, keepUntil: kept ? found.keepUntil : 0 };
        return { answer: { state: 'claimed', value }, write };
      }),
    extend: (key, owner, holdUntil) => byOwner(key, owner, (found) => ({ ...found, holdUntil })),
    complete: (key, owner, { value, keepUntil }) =>
      byOwner(key, owner, () => ({ owner: null, holdUntil: 0, done: true, value, keepUntil })),
    release: (key, owner, keep) =>
      byOwner(key, owner, () => (keep ? { owner: null, holdUntil: 0, done: false, ...keep } : 'remove')),
  };
}
