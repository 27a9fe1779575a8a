/**
 * The host of a function holds the session of its message, and nobody else can ask whether it still does. So each delivery is
 * noted before its job runs: one that is not the last is over. What was begun with a message before is read after that, so of a
 * late settlement and the next delivery at least one sees the other.
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { createMetadata } from '../../../core/kit/metadata.ts';
import { keyIn } from './intent-log.ts';
import type { Tags } from './message.ts';

export type LastDeliveries = ReturnType<typeof createLastDeliveries>;

/** Longer than a function may run. */
const keepMs = 86_400_000;
const keyOf = (entity: string, tags: Tags): string => `servicebus-delivery:${keyIn(entity, tags)}`;

export function createLastDeliveries(keys: KeyStore, clock: Clock) {
  const tokens = createMetadata(keys, clock, randomUUID, keepMs);
  return {
    /** @param lockToken a new one for each delivery */
    begin: (entity: string, tags: Tags, lockToken: string) =>
      tokens.update<string>(keyOf(entity, tags), () => lockToken),
    isLast: async (entity: string, tags: Tags, lockToken: string): Promise<boolean> =>
      (await tokens.read<string>(keyOf(entity, tags))) === lockToken,
  };
}
