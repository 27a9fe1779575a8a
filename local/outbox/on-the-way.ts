/** Finds and changes jobs that are still in the outbox. */

import type { Clock } from '../../core/base/clock.ts';
import { LongshoreError } from '../../core/base/errors.ts';
import type { PendingJobs } from '../../core/contract/admin.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import type { JobRecord, RecordedJob, RecordStore } from '../../core/contract/store.ts';
import { newRow, recordOf } from '../../core/kit/records/row.ts';
import { createWaiters } from '../backends/shared/waiters.ts';
import { longestBatchMs, messageOf, sendBatch } from './send.ts';
import type { Fate, OutboxRow, OutboxTable } from './table.ts';

/** How long calls wait for a relay that is moving rows. */
const patienceMs = longestBatchMs;
const pauseMs = 20;

/**
 * Moves these messages now. Resolves with `true` if any was in the outbox. Throws `BACKEND` if the target does not accept it.
 */
export function createBring(table: OutboxTable, target: string, to: QueueBackend, clock: Clock) {
  const pause = createWaiters(clock);
  return async function bring(ids: readonly string[]): Promise<boolean> {
    const until = clock.now() + patienceMs;
    const never = new AbortController().signal;
    for (;;) {
      let fates: readonly Fate[] = [];
      const send = async (texts: readonly string[]) => {
        fates = await sendBatch(texts, to, clock, never);
        return fates;
      };
      const result = await table.move(target, 500, longestBatchMs, send, ids);
      const stopped = fates.find((fate) => fate.state === 'kept');
      if (stopped)
        throw new LongshoreError(
          'BACKEND',
          `The job is still in the outbox, and "${to.name}" does not accept it now: ${stopped.error?.message ?? 'it was too slow.'}`,
        );
      if (result !== 'busy') return result === 'moved';
      if (clock.now() >= until)
        throw new LongshoreError(
          'BACKEND',
          `A relay has been moving rows to "${to.name}" for ${patienceMs} ms. Try again.`,
        );
      await pause.wait(pauseMs, never);
    }
  };
}

/** The records of the target, plus the jobs in the outbox as pending. Jobs that the target refused count as failed. */
export function recordsWith(
  arrived: RecordStore,
  find: (id: string) => Promise<OutboxRow | null>,
  bring: (ids: readonly string[]) => Promise<boolean>,
): RecordStore {
  if (arrived.recordsDisabled) return arrived;
  return {
    ...arrived,
    async get(id) {
      const record = await arrived.get(id);
      if (record) return record;
      const row = await find(id);
      // It may have been moved between the two reads.
      return (row && shownAs(row)) ?? arrived.get(id);
    },
    async cancel(id) {
      const result = await arrived.cancel(id);
      if (result !== 'unknown') return result;
      const row = await find(id);
      const job = row && jobOf(row);
      if (row?.refused) return 'finished';
      // A separate store records the job and its cancellation; workers ask the store before they begin it.
      if (job && arrived.writer) await arrived.writer.enqueued([job]);
      else if (job) await bring([id]);
      return arrived.cancel(id);
    },
  };
}

/** Moves jobs that are still in the outbox to the queue, then tries again there. */
export function pendingWith(
  pending: PendingJobs,
  bring: (ids: readonly string[]) => Promise<boolean>,
): PendingJobs {
  const again = async <Answer>(id: string, work: () => Promise<Answer>): Promise<Answer> => {
    const answer = await work();
    return answer || !(await bring([id])) ? answer : work();
  };
  return {
    async change(jobs, change) {
      const first = await pending.change(jobs, change);
      const left = jobs.filter((_, i) => !first[i]);
      if (left.length === 0 || !(await bring(left.map(({ id }) => id)))) return first;
      const second = (await pending.change(left, change)).values();
      return first.map((isChanged) => isChanged || second.next().value === true);
    },
    remove: (job) => again(job.id, () => pending.remove(job)),
    read: (job) => again(job.id, () => pending.read(job)),
  };
}

function jobOf({ text, writtenAt }: OutboxRow): RecordedJob | null {
  const message = messageOf(text);
  if (!message) return null;
  const { id, queue, job, tenantId, priority, notBefore, facts } = message;
  const route = { id, queue, job, tenantId, priority, createdAt: writtenAt, runAt: notBefore ?? writtenAt };
  return { ...route, ...(facts && { facts }) };
}

function shownAs(row: OutboxRow): JobRecord | null {
  const job = jobOf(row);
  if (!job) return null;
  const { refused } = row;
  const record = recordOf(newRow(job));
  return refused
    ? { ...record, status: 'failed', reason: 'rejected', error: refused.error, finishedAt: refused.at }
    : record;
}
