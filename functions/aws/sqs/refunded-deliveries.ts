/**
 * SQS counts every delivery. A standard queue releases a message by sending a fresh copy, which starts at none. On a FIFO queue
 * a copy would lose its rank in the group, so the message itself comes back. How many of its deliveries were no attempts is
 * kept in a key store.
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { createMetadata } from '../../../core/kit/metadata.ts';

export type RefundedDeliveries = ReturnType<typeof createRefundedDeliveries>;

/** SQS keeps a message for 14 days at most. */
const keepMs = 14 * 86_400_000;
const keyOf = (messageId: string): string => `sqs-uncounted:${messageId}`;

export function createRefundedDeliveries(keys: KeyStore, clock: Clock) {
  const counts = createMetadata(keys, clock, randomUUID, keepMs);
  return {
    /** Deliveries of this message that were released. */
    of: async (messageId: string) => (await counts.read<number>(keyOf(messageId))) ?? 0,
    add: (messageId: string) => counts.update<number>(keyOf(messageId), (count) => (count ?? 0) + 1),
  };
}
