/** The waiting jobs of a queue in memory. */

import type { PendingJobs, WaitingChange, WaitingJob } from '../../contract/admin.ts';
import { checkBody } from '../body-limit.ts';
import { reschedule } from '../records/reschedule.ts';
import { isWaiting, type KeptJob } from './job.ts';
import type { JobTable } from './table.ts';

export function pendingOf(table: JobTable): PendingJobs {
  const { jobs, clock, ageingMs, maxBodyBytes } = table;

  function find({ queue, id }: WaitingJob): KeptJob | null {
    const job = jobs.get(id);
    return job && isWaiting(job) && job.message.queue === queue ? job : null;
  }

  function changeNow(waiting: WaitingJob, change: WaitingChange): boolean {
    const job = find(waiting);
    if (!job || job.message.body !== (change.expectedBody ?? job.message.body)) return false;
    const { message, createdAt, readyAt, rank } = job;
    const { priority } = message;
    const next = reschedule({ priority, createdAt, readyAt, rank }, change, clock.now(), ageingMs);
    const { facts, ...rest } = message;
    const { body } = change;
    const told = body === undefined ? facts : change.facts;
    job.message = {
      ...rest,
      priority: next.priority,
      ...(body !== undefined && { body }),
      ...(told && { facts: told }),
    };
    table.queue(job, next.readyAt, next.rank);
    return true;
  }

  return {
    async change(some, change) {
      checkBody(change.body, maxBodyBytes);
      return some.map((job) => changeNow(job, change));
    },
    async remove(waiting) {
      const job = find(waiting);
      if (job) table.drop([job]);
      return job !== null;
    },
    read: async (job) => find(job)?.message.body ?? null,
  };
}
