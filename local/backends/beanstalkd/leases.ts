/**
 * Settles and renews the leases of this process. beanstalkd takes a job back when its time is up or its connection ends, and lets any
 * client delete a job that is not reserved. So this process sends a command only if the lease is certainly still valid.
 */

import { type Clock, steadyClock } from '../../../core/base/clock.ts';
import type { Abandon, Ack, JobLease, JobSettler, Nack } from '../../../core/contract/queue.ts';
import { lostConnection } from './connection.ts';
import type { Consumer } from './consumers.ts';
import { addDeadLetter } from './dead-letters.ts';
import { infoOf, markOf, rankOf } from './job.ts';
import { type JobMetadata, newMetadata, writeMetadata } from './job-metadata.ts';
import {
  buryJob,
  deleteJob,
  isLate,
  type LeasedJob,
  LeaseTable,
  releaseJob,
  touchJob,
  ttrMsOf,
} from './lease-table.ts';
import { refusal } from './replies.ts';
import type { BeanstalkdState } from './state.ts';

export type Leases = ReturnType<typeof createLeases>;

/** @param onLost called with the tokens of leases that were lost early */
export function createLeases(state: BeanstalkdState, onLost: (tokens: ReadonlySet<string>) => void) {
  const clock = steadyClock(state.clock);
  const jobs = new LeaseTable(clock);
  const touching = createTouching(jobs, clock, lose);

  function lose(gone: readonly LeasedJob[]): void {
    const mine = gone.filter((job) => jobs.has(job));
    for (const job of mine) jobs.remove(job);
    if (mine.length > 0) onLost(new Set(mine.map(({ lease }) => lease.token)));
  }

  /** @param metadata written before the release, because the next worker reads it */
  async function release(job: LeasedJob, delayMs: number, metadata: JobMetadata | null): Promise<boolean> {
    const { jobId, lease, consumer } = job;
    if (metadata) await writeMetadata(state, jobId, metadata).catch(state.metadataFailed);
    return releaseJob(state, consumer.connection, { jobId, body: lease.body, delayMs });
  }

  const metadataOf = ({ metadata, lease }: LeasedJob): JobMetadata => metadata ?? newMetadata(lease.body);

  function nack(job: LeasedJob, { delayMs, countAttempt }: Nack): Promise<boolean> {
    const { losses } = job.stats;
    const old = metadataOf(job);
    if (!countAttempt) return release(job, delayMs, { ...old, uncounted: old.uncounted + 1 });
    const isChanged = old.expired || old.told !== losses;
    return release(job, delayMs, isChanged ? { ...old, told: losses, expired: false } : null);
  }

  async function bury(job: LeasedJob, { reason, error }: Abandon): Promise<boolean> {
    const { lease, jobId, stats } = job;
    const { body, attempt } = lease;
    const { priority, ...info } = infoOf(body, jobId);
    const diedAt = state.clock.now();
    const mark = markOf(body);
    await addDeadLetter(state, stats.tube, { jobId, mark, ...info, reason, error, attempt, diedAt });
    return buryJob(job, rankOf(diedAt, priority, state.ageingMs));
  }

  async function renew(job: LeasedJob | null, endsAt: number): Promise<boolean> {
    if (!job || !(await touchJob(job, clock))) {
      if (job) lose([job]);
      return false;
    }
    job.endsAt = endsAt;
    touching.keep(job);
    return true;
  }

  return {
    newToken: () => jobs.newToken(),

    /** Returns a promise if the server must first be asked to keep the job for longer. */
    add(job: LeasedJob): Promise<void> | null {
      jobs.add(job);
      if (!job.consumer.connection.isOpen) {
        jobs.remove(job);
        return null;
      }
      // The server rounds down to seconds: 0 may be most of a short time.
      if (job.reservedUntil - clock.now() < ttrMsOf(job) / 2)
        return touchJob(job, clock).then(() => touching.keep(job));
      touching.keep(job);
      return null;
    },

    /** The connection has ended, so its jobs are lost. */
    lose: (consumer: Consumer) => lose([...jobs].filter((job) => job.consumer === consumer)),

    ack: createAck(state, jobs),

    nack: (lease: JobLease, how: Nack) => jobs.settle(lease, (job) => nack(job, how)),

    abandon: (lease: JobLease, why: Abandon) =>
      jobs.settle(lease, (job) => (why.reason === 'cancelled' ? deleteJob(job, clock) : bury(job, why))),

    renew(leases: readonly JobLease[], leaseMs: number): Promise<boolean[]> {
      const endsAt = clock.now() + leaseMs;
      const open = leases.map(({ token }) => jobs.findOpen(token));
      return Promise.all(open.map((job) => renew(job, endsAt).catch(() => false)));
    },

    /** Only leases of this process. The server releases other jobs when their connection ends or their time is up. */
    async reapExpired(queue: string): Promise<number> {
      const now = clock.now();
      const expired = [...jobs].filter(({ lease, endsAt }) => lease.queue === queue && endsAt <= now);
      const answers = await Promise.all(
        expired.map(async (job) => {
          job.isSettling = true;
          const metadata = { ...metadataOf(job), told: job.stats.losses, expired: true };
          const isReleased = await release(job, 0, metadata).catch(() => false); // the server releases it when its time is up
          jobs.remove(job);
          return isReleased;
        }),
      );
      return answers.filter(Boolean).length;
    },

    close(): void {
      touching.close();
      for (const job of jobs) jobs.remove(job);
    },
  };
}

/**
 * Keeps jobs reserved until their leases end, because the time to run of a job may be shorter than its lease.
 * @param lost called with the jobs that the server has taken back
 */
function createTouching(jobs: LeaseTable, clock: Clock, lost: (gone: readonly LeasedJob[]) => void) {
  let cancel: (() => void) | null = null;
  let nextAt = Number.POSITIVE_INFINITY;
  const halfTimeOf = (job: LeasedJob): number => job.reservedUntil - ttrMsOf(job) / 2;

  /** Touches the job each time half of its time to run is over. */
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

/** Failed acks to remember, in case they are never repeated. */
const mostFailed = 10_000;

/** Acks of one batch are one write. An ack that is repeated after a failure finds out whether its job was deleted. */
function createAck(state: BeanstalkdState, jobs: LeaseTable): JobSettler['ack'] {
  const { link, stores, answered } = state;
  const clock = steadyClock(state.clock);
  /** Failed acks by token: `null` = the job was deleted; a number = its job, whose answer was lost with the connection. */
  const failed = new Map<string, number | null>();

  function fail(token: string, jobId: number | null): void {
    if (failed.size >= mostFailed) failed.clear();
    failed.set(token, jobId);
  }

  async function ackOne({ lease, complete }: Ack): Promise<boolean> {
    const jobId = failed.get(lease.token);
    if (jobId !== undefined) {
      // If the job still exists, the next worker will reserve it.
      const isDeleted = jobId === null || (await link.jobStats(jobId)) === null;
      failed.delete(lease.token);
      return isDeleted;
    }
    return jobs.settle(lease, async (job) => {
      if (complete) {
        const { key, owner, ...done } = complete;
        // The key first: if the job comes again, it is skipped because its key is completed.
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

  /** Fast path: jobs of one connection that only need a delete. `null` = another kind of batch, and nothing was done. */
  async function ackTogether(acks: readonly Ack[]): Promise<boolean[] | null> {
    const [first] = acks;
    const consumer = first && jobs.find(first.lease.token)?.consumer;
    // After the reservations of a fetch, so that no worker waits for its next jobs while the server deletes these.
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
