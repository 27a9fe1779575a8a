/**
 * A standard queue hands a message back by sending a fresh copy. On a FIFO queue that would lose its address, so there the
 * message itself comes back, counted by SQS; how often that was no attempt is remembered in a key store.
 */

import type { KeyStore } from '../../../core/contract/store.ts';

export interface Uncounted {
  /** Deliveries of this message that were released. */
  of(messageId: string): Promise<number>;
  add(messageId: string): Promise<void>;
}

const holdMs = 30_000;
/** As long as SQS keeps a message at most. */
const keepMs = 14 * 86_400_000;

export function createUncounted(keys: KeyStore, now: () => number): Uncounted {
  let owners = 0;

  async function turn(messageId: string, change: number): Promise<number> {
    const key = `sqs-uncounted:${messageId}`;
    const owner = `${messageId}-${now()}-${owners++}`;
    const claim = await keys.claim(key, owner, now() + holdMs);
    // Only one worker has the message, so only one that has died can hold its key.
    const count = claim.state === 'claimed' ? Number(claim.value ?? 0) + change : 0;
    if (claim.state === 'claimed') {
      await keys.release(key, owner, { value: String(count), keepUntil: now() + keepMs });
    }
    return count;
  }

  return {
    of: (messageId) => turn(messageId, 0),
    async add(messageId) {
      await turn(messageId, 1);
    },
  };
}
