/**
 * Service Bus does not count a delivery whose session is closed or cut off, so a job that kills its process would run for ever as
 * its first attempt. Nor can a function ask whether its host still holds the session. So each delivery of a session is noted before
 * its job runs: their number is that of the attempts, and one that is not the last is over. What was begun with a message before is
 * read after that, so of a late settlement and the next delivery at least one sees the other.
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { createMetadata } from '../../../core/kit/metadata.ts';
import { keyIn } from './intent-log.ts';
import type { Tags } from './message.ts';

export type Beginnings = ReturnType<typeof createBeginnings>;

/** Stored as JSON, so the names of its members stay. */
interface Begun {
  /** The lock of the last delivery, a new one for each. */
  readonly token: string;
  /** Deliveries that were not taken back. */
  readonly count: number;
}

/** Longer than a job runs. */
const keepMs = 86_400_000;
const keyOf = (entity: string, tags: Tags): string => `servicebus-delivery:${keyIn(entity, tags)}`;

export function createBeginnings(keys: KeyStore, clock: Clock) {
  const notes = createMetadata(keys, clock, randomUUID, keepMs);
  const change = (entity: string, tags: Tags, next: (old: Begun | null) => Begun | null) =>
    notes.update<Begun | string>(keyOf(entity, tags), (old) => next(begunOf(old))).then(begunOf);

  return {
    /** Resolves with how many there are, this one included. */
    begin: async (entity: string, tags: Tags, token: string): Promise<number> =>
      (await change(entity, tags, (old) => ({ token, count: (old?.count ?? 0) + 1 })))?.count ?? 1,
    /** The delivery was no attempt. Changes nothing when it is repeated. */
    takeBack: (entity: string, tags: Tags, token: string) =>
      change(entity, tags, (old) => (old?.token === token ? { token: '', count: old.count - 1 } : old)),
    isLast: async (entity: string, tags: Tags, token: string): Promise<boolean> =>
      (await change(entity, tags, (old) => old))?.token === token,
  };
}

/** Longshore 0.1 noted the lock alone. */
const begunOf = (note: Begun | string | null): Begun | null =>
  typeof note === 'string' ? { token: note, count: 1 } : note;
