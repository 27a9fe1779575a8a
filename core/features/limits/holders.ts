/** Holders of slots and waiters: a job, or one attempt of it. */

import { crypto } from '../../base/crypto.ts';
import type { TakenSlot } from '../../contract/derived/limits.ts';

/** Each attempt needs a slot of its own, in addition to those of earlier attempts. No id contains this character. */
export const ofAttempt = (slot: TakenSlot, attempt: number): TakenSlot => ({
  ...slot,
  holder: `${slot.holder}#${attempt}`,
});

/**
 * A slot for one run only. Another run of the same attempt or lease must not reuse it: a run that snoozed or was released had begun its handler.
 * Short, because a store may keep all slots of a key in one item.
 */
export const ofRun = (slot: TakenSlot): TakenSlot => ({
  ...slot,
  holder: `${slot.holder}#${crypto().randomBytes(6).toString('base64url')}`,
});

/** The id of the job that holds the slot or waits for it. */
export const jobOf = (holder: string): string => holder.split('#', 1)[0]!;
