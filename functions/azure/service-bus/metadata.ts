/** Metadata of messages in a key store, because Service Bus cannot keep it. */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import type { AbandonReason } from '../../../core/contract/outcome.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { createMetadata } from '../../../core/kit/metadata.ts';
import { messageIdOf, type Tags } from './message.ts';

/** How a job ended. Stored as JSON: do not rename members. */
export interface Death {
  readonly reason: AbandonReason;
  readonly error: string;
  readonly attempt: number;
  readonly diedAt: number;
}

/** The data of a message's copy. Stored as JSON: do not rename members. */
export interface Intent {
  readonly attempts: number;
  readonly interrupted: boolean;
  readonly notBefore: number | null;
  /** Set if the copy goes to the dead letters of a function, not back to its queue. */
  readonly letter?: Death;
}

/** Stored as JSON: do not rename members. */
export interface Begun {
  /** The lock of the last delivery; each has a new one. */
  readonly token: string;
  /** Deliveries that were not taken back. */
  readonly count: number;
}

/** A message whose process was killed comes back after its lock and the messages before it: within minutes or hours. */
const keepMs = 86_400_000;
/** Identifies a message across all queues. */
const keyOf = (kind: 'moved' | 'delivery', entity: string, tags: Tags): string =>
  `servicebus-${kind}:${entity}:${messageIdOf(tags)}`;

export function createMessageMetadata(keys: KeyStore, clock: Clock) {
  const metadata = createMetadata(keys, clock, randomUUID, keepMs);
  const change = (entity: string, tags: Tags, next: (old: Begun | null) => Begun | null) =>
    metadata
      .update<Begun | string>(keyOf('delivery', entity, tags), (old) => next(begunOf(old)))
      .then(begunOf);

  return {
    /**
     * A message is replaced in two steps: its copy is sent, then it is completed. A process that is killed in between leaves both. So the intent
     * is recorded first. If the message is received again, the same copy is sent once more, which Service Bus drops as a duplicate, and the job
     * does not run.
     */
    intents: {
      /** The first intent for a message is kept: it may have been carried out. */
      write: (entity: string, tags: Tags, intent: Intent) =>
        metadata.writeOnce(keyOf('moved', entity, tags), intent),
      /** `null` = there is no intent for this message. */
      read: (entity: string, tags: Tags) => metadata.read<Intent>(keyOf('moved', entity, tags)),
    },
    /**
     * Service Bus does not count a delivery whose session is closed or cut off, so a job that kills its process would always be at its first
     * attempt. A function also cannot ask whether its host still holds the session. So each delivery of a session is recorded before its job
     * runs. Their number is the attempt number, and every delivery but the last is over. Intents are read after that, so at least one of a late
     * settlement and the next delivery sees the other.
     */
    beginnings: {
      /** Resolves with the number of deliveries, including this one. */
      begin: async (entity: string, tags: Tags, token: string): Promise<number> =>
        (await change(entity, tags, (old) => ({ token, count: (old?.count ?? 0) + 1 })))?.count ?? 1,
      /** The delivery does not count as an attempt. May be repeated. */
      takeBack: (entity: string, tags: Tags, token: string) =>
        change(entity, tags, (old) => (old?.token === token ? { token: '', count: old.count - 1 } : old)),
      isLast: async (entity: string, tags: Tags, token: string): Promise<boolean> =>
        (await change(entity, tags, (old) => old))?.token === token,
    },
  };
}

/** Longshore 0.1 recorded only the lock. */
const begunOf = (note: Begun | string | null): Begun | null =>
  typeof note === 'string' ? { token: note, count: 1 } : note;
