/** Keeps jobs reserved until their leases end: the time to run that a job was put with may be shorter than its lease. */

import type { Clock } from '../../../core/base/clock.ts';
import { touchJob, ttrMsOf } from './job-commands.ts';
import type { LeasedJob, LeaseTable } from './lease-table.ts';

/** @param lost is called with the jobs that the server has taken back */
export function createTouching(jobs: LeaseTable, clock: Clock, lost: (gone: readonly LeasedJob[]) => void) {
  let cancel: (() => void) | null = null;
  let nextAt = Number.POSITIVE_INFINITY;
  const halfTimeOf = (job: LeasedJob): number => job.reservedUntil - ttrMsOf(job) / 2;

  /** Touches the job halfway through its time to run, again and again. */
  function keep(job: LeasedJob): void {
    const at = halfTimeOf(job);
    if (at >= job.endsAt || at >= nextAt) return;
    cancel?.();
    nextAt = at;
    cancel = clock.after(Math.max(0, at - clock.now()), () => {
      nextAt = Number.POSITIVE_INFINITY;
      cancel = null;
      void touchAll();
    });
  }

  async function touchAll(): Promise<void> {
    const now = clock.now();
    const open = [...jobs].filter(({ endsAt }) => endsAt > now);
    const half = open.filter((job) => halfTimeOf(job) <= now);
    const answers = await Promise.allSettled(half.map((job) => touchJob(job, clock)));
    lost(half.filter((_, i) => isFalse(answers[i]!)));
    for (const job of open) if (jobs.has(job)) keep(job);
  }

  return {
    keep,
    close(): void {
      cancel?.();
      nextAt = Number.NEGATIVE_INFINITY;
    },
  };
}

const isFalse = (answer: PromiseSettledResult<boolean>): boolean =>
  answer.status === 'fulfilled' && !answer.value;
