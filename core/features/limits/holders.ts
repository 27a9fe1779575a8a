/** Who holds a slot or waits for one: a job, or one attempt of it. */

import { crypto } from '../../base/crypto.ts';
import type { TakenSlot } from '../../contract/derived/limits.ts';

/** Each attempt that spends one counts, and may be in use beside the ones before. No id has this character. */
export const ofAttempt = (slot: TakenSlot, attempt: number): TakenSlot => ({
  ...slot,
  holder: `${slot.holder}#${attempt}`,
});

/**
 * A slot that no other run has, also not of the same attempt or lease: one that snoozed or was released began its handler, and the next one
 * must not take its place. Short, because a store may keep all slots of a key in one item.
 */
export const ofRun = (slot: TakenSlot): TakenSlot => ({
  ...slot,
  holder: `${slot.holder}#${crypto().randomBytes(6).toString('base64url')}`,
});

/** The id of the job that has the slot, or waits for it. */
export const jobOf = (holder: string): string => holder.split('#', 1)[0]!;
