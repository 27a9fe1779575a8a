/** Acks of one batch leave as one write. An ack that is repeated after a failure finds out whether its job was deleted. */

import { steadyClock } from '../../../core/base/clock.ts';
import type { Ack, JobSettler } from '../../../core/contract/queue.ts';
import { lostConnection } from './connection.ts';
import { refusal } from './errors.ts';
import { deleteJob, isLate } from './job-commands.ts';
import type { LeasedJob, LeaseTable } from './lease-table.ts';
import type { BeanstalkdState } from './state.ts';

/** Of acks that are never repeated. */
const mostFailed = 10_000;

export function createAck(state: BeanstalkdState, jobs: LeaseTable): JobSettler['ack'] {
  const { link, stores, answered } = state;
  const clock = steadyClock(state.clock);
  /** Failed acks by token: `null` = the job was deleted; a number = that job's, whose answer went with the connection. */
  const failed = new Map<string, number | null>();

  function fail(token: string, jobId: number | null): void {
    if (failed.size >= mostFailed) failed.clear();
    failed.set(token, jobId);
  }

  async function ackOne({ lease, complete }: Ack): Promise<boolean> {
    const jobId = failed.get(lease.token);
    if (jobId !== undefined) {
      // A job that is still there belongs to the next worker that reserves it.
      const isDeleted = jobId === null || (await link.jobStats(jobId)) === null;
      failed.delete(lease.token);
      return isDeleted;
    }
    return jobs.settle(lease, async (job) => {
      if (complete) {
        const { key, owner, ...done } = complete;
        // The key first: a job that returns with its key completed is skipped.
        if (!(await answered(stores.keys.complete(key, owner, done)))) return false;
      }
      try {
        return await deleteJob(job, clock);
      } catch (error) {
        if (!job.consumer.connection.isOpen) fail(lease.token, job.jobId);
        throw error;
      }
    });
  }

  /** The usual batch: jobs of one connection that only have to be deleted. `null` = it is another, and nothing was done. */
  async function ackTogether(acks: readonly Ack[]): Promise<boolean[] | null> {
    const [first] = acks;
    const consumer = first && jobs.find(first.lease.token)?.consumer;
    // Sent after the reservations of a fetch, so that no worker waits for its next jobs while the server deletes these.
    await consumer?.reserved;
    const mine: LeasedJob[] = [];
    for (const { lease, complete } of acks) {
      const job = complete ? null : jobs.findOpen(lease.token);
      if (!consumer || job?.consumer !== consumer || isLate(job, clock)) return null;
      mine.push(job);
    }
    if (!consumer || new Set(mine).size < mine.length) return null;
    for (const job of mine) job.isSettling = true;
    const replies = await consumer.connection.sendAll(mine.map(({ jobId }) => `delete ${jobId}`));
    const odd = replies.find(({ word }) => word !== 'DELETED' && word !== 'NOT_FOUND');
    if (replies.length === mine.length && !odd) {
      for (const job of mine) jobs.remove(job);
      return replies.map(({ word }) => word === 'DELETED');
    }
    for (const [i, job] of mine.entries()) {
      const word = replies[i]?.word;
      if (word === 'DELETED') fail(job.lease.token, null);
      if (word === undefined) fail(job.lease.token, job.jobId);
      if (word === undefined || word === 'DELETED' || word === 'NOT_FOUND') jobs.remove(job);
      else jobs.settleFailed(job);
    }
    throw odd ? refusal('deleting jobs', odd.word) : lostConnection(consumer.connection.reason);
  }

  return async (acks) => {
    const together = await ackTogether(acks);
    if (together) return together;
    const answers = await Promise.allSettled(acks.map(ackOne));
    const error = answers.find((answer) => answer.status === 'rejected');
    if (!error) return answers.map((answer) => answer.status === 'fulfilled' && answer.value);
    for (const [i, { lease }] of acks.entries()) {
      const answer = answers[i]!;
      if (answer.status === 'fulfilled' && answer.value) fail(lease.token, null);
    }
    throw error.reason;
  };
}
