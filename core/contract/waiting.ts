/** What can be done with jobs that wait in a queue: ready, delayed or between two attempts. Running and ended ones are left alone. */

import type { Replacement } from './admin.ts';

export interface WaitingJob {
  readonly queue: string;
  readonly id: string;
}

export interface WaitingChange extends Partial<Replacement> {
  /** 0 (first) to 9 (last). Absent = it stays. */
  readonly priority?: number;
  /** Hidden until then (epoch ms); `null` = ready at once. Absent = it stays. */
  readonly notBefore?: number | null;
  /** The text that was read: `false` if the job has another one by now. So of two changes at once none is lost. */
  readonly expectedBody?: string;
}

/** Every verb answers `false` or `null` for a job that does not wait there. */
export interface PendingJobs {
  /**
   * Replaces text, priority or time of each job at once. Its id and its attempts stay. A delayed job that becomes ready takes the place that
   * its age gives it, and wakes a worker. A text is for one job only; throws `LIMIT` before anything changes if it is too large for the queue.
   */
  change(jobs: readonly WaitingJob[], change: WaitingChange): Promise<boolean[]>;
  /** Takes the job out of the queue, with its record: as if it had never been enqueued. */
  remove(job: WaitingJob): Promise<boolean>;
  /** The signed text of a job that waits; `null` = it does not. */
  read(job: WaitingJob): Promise<string | null>;
}
