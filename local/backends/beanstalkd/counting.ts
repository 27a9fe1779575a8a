/** beanstalkd counts reservations; Longshore counts attempts. A note says which reservations were none. */

import { markOf } from './facts.ts';
import type { BeanstalkdState } from './index.ts';
import type { JobStats } from './stats.ts';

export interface JobNote {
  /** Of the job's body. */
  readonly mark: string;
  /** Reservations that do not count: handed back uncounted, or before the dead letter was retried. */
  readonly uncounted: number;
  /** How many losses an attempt has been told of. */
  readonly told: number;
  /** The last lease was given back because it had run out, which beanstalkd does not call a loss. */
  readonly expired: boolean;
}

export interface Count {
  readonly attempt: number;
  readonly interrupted: boolean;
}

export const noNote = { uncounted: 0, told: 0, expired: false } as const;

export function countOf({ reserves, losses }: JobStats, note: JobNote | null): Count {
  const { uncounted, told, expired } = note ?? noNote;
  return { attempt: Math.max(1, reserves - uncounted), interrupted: expired || losses > told };
}

const keyOf = ({ scope }: BeanstalkdState, jobId: number): string => `${scope}/job/${jobId}`;

/** `null` also where the note is of another job that had the number before. */
export async function readNote(state: BeanstalkdState, jobId: number, body: string): Promise<JobNote | null> {
  const note = await state.notes.read<JobNote>(keyOf(state, jobId));
  return note?.mark === markOf(body) ? note : null;
}

export function writeNote(state: BeanstalkdState, jobId: number, note: JobNote): Promise<void> {
  return state.notes.update<JobNote>(keyOf(state, jobId), () => note);
}
