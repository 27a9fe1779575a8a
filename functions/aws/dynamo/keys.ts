import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/clock.ts';
import { LongshoreError } from '../../../core/errors.ts';
import type { KeyClaim, KeyStore } from '../../../core/store.ts';
import type { Dynamo } from './api.ts';
import { expiry } from './table.ts';

interface Key {
  /** `null` = released or completed. */
  readonly owner: string | null;
  readonly holdUntil: number;
  readonly done: boolean;
  readonly value: string | null;
  /** Of `value` and `done`. Apart from the hold, so that an owner that dies does not take the value with it. */
  readonly keepUntil: number;
}

/** What becomes of a key: it is left, removed, or written. */
interface Decision<T> {
  readonly answer: T;
  readonly write?: Key | 'remove';
}

/** Two that want the same key meet once or twice; who loses so often does not lose to others. */
const mostTries = 50;

export function dynamoKeys(dynamo: Dynamo, clock: Clock): KeyStore {
  async function update<T>(key: string, decide: (found: Key | null, now: number) => Decision<T>): Promise<T> {
    const pk = `key#${key}`;
    return dynamo.call('writing a key', async (api) => {
      for (let tries = 0; tries < mostTries; tries++) {
        const [item] = await api.read([pk]);
        const version = (item?.version as string | undefined) ?? null;
        const found = item ? (JSON.parse(item.key as string) as Key) : null;
        const { answer, write } = decide(found, clock.now());
        if (write === undefined) return answer;
        if (write === 'remove') {
          if (version === null || (await api.remove(pk, version))) return answer;
          continue;
        }
        const expiresAt = expiry(Math.max(write.holdUntil, write.keepUntil));
        const next = { pk, version: randomUUID(), key: JSON.stringify(write), expiresAt };
        if (await api.write(next, version)) return answer;
      }
      throw new LongshoreError('BACKEND', `Expected to write the key ${key}, lost ${mostTries} races.`);
    });
  }

  /** `false`, and nothing is written, unless this owner holds the key. */
  const byOwner = (key: string, owner: string, change: (found: Key) => Key | 'remove'): Promise<boolean> =>
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
