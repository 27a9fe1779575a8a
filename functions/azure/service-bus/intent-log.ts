/**
 * A message is replaced in two steps: its copy is sent, then it is completed. A process that is killed in between leaves both.
 * So the first step is recorded before it is taken. Who receives the message again sends the same copy once more, which
 * Service Bus drops as a duplicate, and does not run the job.
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { createMetadata } from '../../../core/kit/metadata.ts';
import type { Death } from './dead-message.ts';
import { messageIdOf, type Tags } from './message.ts';

/** What the copy says. Stored as JSON, so the names of its members stay. */
export interface Intent {
  readonly attempts: number;
  readonly interrupted: boolean;
  readonly notBefore: number | null;
  /** The copy goes to the dead letters of a function, and not back to its queue. */
  readonly letter?: Death;
}

/** Names a message among those of all queues. */
export const keyIn = (entity: string, tags: Tags): string => `${entity}:${messageIdOf(tags)}`;

export type IntentLog = ReturnType<typeof createIntentLog>;

/** A message whose process was killed comes back after its lock and the messages before it: in minutes or hours. */
const keepMs = 86_400_000;
const keyOf = (entity: string, tags: Tags): string => `servicebus-moved:${keyIn(entity, tags)}`;

export function createIntentLog(keys: KeyStore, clock: Clock) {
  const intents = createMetadata(keys, clock, randomUUID, keepMs);
  return {
    /** The first intent for a message stays: it may have been carried out already. */
    write: (entity: string, tags: Tags, intent: Intent) => intents.writeOnce(keyOf(entity, tags), intent),
    /** `null` = nothing was begun with this message. */
    read: (entity: string, tags: Tags) => intents.read<Intent>(keyOf(entity, tags)),
  };
}
