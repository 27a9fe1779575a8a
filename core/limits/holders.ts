/** Who holds a slot or waits for one: a job, or one attempt of it. */

import type { TakenSlot } from '../contract/limits.ts';

/** Each attempt of a job counts, and may be in use beside the ones before. No id has this character. */
export const ofAttempt = (slot: TakenSlot, attempt: number): TakenSlot => ({
  ...slot,
  holder: `${slot.holder}#${attempt}`,
});

/** The id of the job that has the slot, or waits for it. */
export const jobOf = (holder: string): string => holder.split('#', 1)[0]!;
