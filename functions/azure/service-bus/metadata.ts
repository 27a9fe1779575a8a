/** What Service Bus cannot keep of a message, as metadata in a key store. */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import type { AbandonReason } from '../../../core/contract/outcome.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { createMetadata } from '../../../core/kit/metadata.ts';
import { messageIdOf, type Tags } from './message.ts';

/** How a job ended. Stored as JSON in the intent log, so the names of its members stay. */
export interface Death {
  readonly reason: AbandonReason;
  readonly error: string;
  readonly attempt: number;
  readonly diedAt: number;
}

/** What the copy of a message says. Stored as JSON, so the names of its members stay. */
export interface Intent {
  readonly attempts: number;
  readonly interrupted: boolean;
  readonly notBefore: number | null;
  /** The copy goes to the dead letters of a function, and not back to its queue. */
  readonly letter?: Death;
}

/** Stored as JSON, so the names of its members stay. */
export interface Begun {
  /** The lock of the last delivery, a new one for each. */
  readonly token: string;
  /** Deliveries that were not taken back. */
  readonly count: number;
}

/** A message whose process was killed comes back after its lock and the messages before it: in minutes or hours. */
const keepMs = 86_400_000;
/** Names a message among those of all queues. */
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
     * A message is replaced in two steps: its copy is sent, then it is completed. A process that is killed in between leaves both.
     * So the first step is recorded before it is taken. Who receives the message again sends the same copy once more, which
     * Service Bus drops as a duplicate, and does not run the job.
     */
    intents: {
      /** The first intent for a message stays: it may have been carried out already. */
      write: (entity: string, tags: Tags, intent: Intent) =>
        metadata.writeOnce(keyOf('moved', entity, tags), intent),
      /** `null` = nothing was begun with this message. */
      read: (entity: string, tags: Tags) => metadata.read<Intent>(keyOf('moved', entity, tags)),
    },
    /**
     * Service Bus does not count a delivery whose session is closed or cut off, so a job that kills its process would run for ever as
     * its first attempt. Nor can a function ask whether its host still holds the session. So each delivery of a session is noted before
     * its job runs: their number is that of the attempts, and one that is not the last is over. What was begun with a message before is
     * read after that, so of a late settlement and the next delivery at least one sees the other.
     */
    beginnings: {
      /** Resolves with how many there are, this one included. */
      begin: async (entity: string, tags: Tags, token: string): Promise<number> =>
        (await change(entity, tags, (old) => ({ token, count: (old?.count ?? 0) + 1 })))?.count ?? 1,
      /** The delivery was no attempt. Changes nothing when it is repeated. */
      takeBack: (entity: string, tags: Tags, token: string) =>
        change(entity, tags, (old) => (old?.token === token ? { token: '', count: old.count - 1 } : old)),
      isLast: async (entity: string, tags: Tags, token: string): Promise<boolean> =>
        (await change(entity, tags, (old) => old))?.token === token,
    },
  };
}

/** Longshore 0.1 noted the lock alone. */
const begunOf = (note: Begun | string | null): Begun | null =>
  typeof note === 'string' ? { token: note, count: 1 } : note;
