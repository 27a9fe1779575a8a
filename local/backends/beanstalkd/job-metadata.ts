/** beanstalkd counts reservations, Longshore counts attempts. The metadata of a job says which reservations were no attempts. */

import { type JobStats, markOf } from './job.ts';
import type { BeanstalkdState } from './state.ts';

/** Stored as JSON, so its members must not be renamed. */
export interface JobMetadata {
  /** Hash of the job's body, see `markOf`. */
  readonly mark: string;
  /** Reservations that are no attempts: released uncounted, or made before the dead letter was retried. */
  readonly uncounted: number;
  /** How many of the losses in beanstalkd's count have already marked an attempt as interrupted. */
  readonly told: number;
  /** The last lease expired and was released here, which beanstalkd does not count as a loss. */
  readonly expired: boolean;
}

const none = { uncounted: 0, told: 0, expired: false } as const;

export const newMetadata = (body: string): JobMetadata => ({ ...none, mark: markOf(body) });

/** The attempt of the current reservation. */
export function attemptOf({ reserves, losses }: JobStats, metadata: JobMetadata | null) {
  const { uncounted, told, expired } = metadata ?? none;
  return { attempt: Math.max(1, reserves - uncounted), interrupted: expired || losses > told };
}

const keyOf = ({ scope }: BeanstalkdState, jobId: number): string => `${scope}/job/${jobId}`;

/** `null` = there is none, or it belongs to an earlier job with this number. */
export async function readMetadata(
  state: BeanstalkdState,
  jobId: number,
  body: string,
): Promise<JobMetadata | null> {
  const stored = await state.metadata.read<JobMetadata>(keyOf(state, jobId));
  return stored?.mark === markOf(body) ? stored : null;
}

export async function writeMetadata(
  state: BeanstalkdState,
  jobId: number,
  metadata: JobMetadata,
): Promise<void> {
  await state.metadata.update<JobMetadata>(keyOf(state, jobId), () => metadata);
}
