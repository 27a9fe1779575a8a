import type { PendingJobs, WaitingChange, WaitingJob } from '../../../core/contract/admin.ts';
import { checkBody } from '../../../core/kit/body-limit.ts';
import { reschedule } from '../../../core/kit/records/reschedule.ts';
import type { Entry } from './entry.ts';
import type { MemoryState } from './state.ts';

export function memoryWaiting(state: MemoryState, ageingMs: number, maxBodyBytes: number): PendingJobs {
  const { entries, clock } = state;

  function find({ queue, id }: WaitingJob): Entry | null {
    const entry = entries.get(id);
    const waits = entry?.state === 'ready' || entry?.state === 'delayed';
    return waits && entry.message.queue === queue ? entry : null;
  }

  function changeNow(job: WaitingJob, change: WaitingChange): boolean {
    const entry = find(job);
    if (!entry || entry.message.body !== (change.expectedBody ?? entry.message.body)) return false;
    const { message, createdAt, readyAt, rank } = entry;
    const { priority } = message;
    const next = reschedule({ priority, createdAt, readyAt, rank }, change, clock.now(), ageingMs);
    const { facts, ...rest } = message;
    const { body } = change;
    const told = body === undefined ? facts : change.facts;
    entry.message = {
      ...rest,
      priority: next.priority,
      ...(body !== undefined && { body }),
      ...(told && { facts: told }),
    };
    state.queue(entry, next.readyAt, undefined, next.rank);
    return true;
  }

  return {
    async change(jobs, change) {
      checkBody(change.body, maxBodyBytes);
      return jobs.map((job) => changeNow(job, change));
    },
    async remove(job) {
      const entry = find(job);
      if (!entry) return false;
      state.drop([entry]);
      return true;
    },
    read: async (job) => find(job)?.message.body ?? null,
  };
}
