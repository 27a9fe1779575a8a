/**
 * Metadata of messages that the broker cannot keep, as JSON in a key store, one key per message: refunded deliveries, why a
 * job died, a copy that was begun. A read or a write holds the key while it lasts.
 */

import { randomUUID } from 'node:crypto';
import { type Clock, pause } from '../base/clock.ts';
import { LongshoreError } from '../base/errors.ts';
import { toError } from '../base/failure.ts';
import type { KeyClaim, KeyStore } from '../contract/store.ts';

export interface Metadata {
  /** `null` = no value. */
  read<T>(key: string): Promise<T | null>;
  /** `change` gets the old value and returns the new one; `null` = no value. Resolves with the new value. */
  update<T>(key: string, change: (old: T | null) => T | null): Promise<T | null>;
  /** Writes a value that never changes again. An earlier value stays. */
  writeOnce(key: string, value: unknown): Promise<void>;
}

/** Long enough for one write. A process that is killed during its write blocks the key for this time. */
const holdMs = 5_000;
/** The pauses between two claims: the first and the longest. */
const pauseMs = { first: 5, most: 40 };
const longestWaitMs = 10_000;

/** Claims a key that others hold only for single writes. Throws `BACKEND` when the key does not become free. */
export async function holdKey(
  keys: KeyStore,
  clock: Clock,
  key: string,
  owner: string,
): Promise<Exclude<KeyClaim, { state: 'running' }>> {
  let waitedMs = 0;
  for (let waitMs = pauseMs.first; ; waitMs = Math.min(pauseMs.most, waitMs * 2)) {
    const claim = await keys.claim(key, owner, clock.now() + holdMs);
    if (claim.state !== 'running') return claim;
    if (waitedMs > longestWaitMs)
      throw new LongshoreError('BACKEND', `Expected the key "${key}" to be free, others hold it.`);
    await pause(clock, waitMs); // another process holds it for one write
    waitedMs += waitMs;
  }
}

/** @param keepMs how long a value is kept after it was last read or written */
export function createMetadata(
  keys: KeyStore,
  clock: Clock,
  newOwner: () => string,
  keepMs: number,
): Metadata {
  const kept = (value: unknown) => ({ value: JSON.stringify(value), keepUntil: clock.now() + keepMs });

  async function update<T>(key: string, change: (old: T | null) => T | null): Promise<T | null> {
    const owner = newOwner();
    const { state, value: text } = await holdKey(keys, clock, key, owner);
    const old = text === null ? null : (JSON.parse(text) as T);
    if (state === 'completed') return old;
    const value = change(old);
    // Also an unchanged value: releasing a key without a value forgets the value.
    if (!(await keys.release(key, owner, value === null ? undefined : kept(value))))
      throw new LongshoreError('BACKEND', `Expected to hold the key "${key}" long enough to write it.`);
    return value;
  }
  async function writeOnce(key: string, value: unknown): Promise<void> {
    const owner = newOwner();
    const { state } = await holdKey(keys, clock, key, owner);
    if (state === 'claimed') await keys.complete(key, owner, kept(value));
  }
  return {
    read: <T>(key: string) => update<T>(key, (old) => old).catch(storeFailed),
    update: <T>(key: string, change: (old: T | null) => T | null) =>
      update<T>(key, change).catch(storeFailed),
    writeOnce: (key, value) => writeOnce(key, value).catch(storeFailed),
  };
}

/** Names the key store in the error: the caller would report a failure of the broker. */
function storeFailed(cause: unknown): never {
  if (cause instanceof LongshoreError) throw cause;
  const text = `The store of keys failed, where the state of a message is kept: ${toError(cause).message}`;
  throw new LongshoreError('BACKEND', text, { cause });
}

/** Brokers keep a message for 14 days. */
const keepRefundsMs = 14 * 86_400_000;

export type RefundedDeliveries = ReturnType<typeof createRefundedDeliveries>;

/**
 * A broker counts every delivery of a message. A copy would lose the place in its group, so the released message itself comes back.
 * This counts the deliveries that were no attempts. @param prefix of the keys
 */
export function createRefundedDeliveries(keys: KeyStore, clock: Clock, prefix: string) {
  const counts = createMetadata(keys, clock, randomUUID, keepRefundsMs);
  const keyOf = (message: string): string => `${prefix}:${message}`;
  return {
    /** Deliveries of this message that were released. */
    of: async (message: string) => (await counts.read<number>(keyOf(message))) ?? 0,
    add: (message: string) => counts.update<number>(keyOf(message), (count) => (count ?? 0) + 1),
  };
}
