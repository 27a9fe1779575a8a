/**
 * What may be done with the leases of this process. beanstalkd takes a job back when its time is up or its connection ends, and
 * lets anybody delete a job that nobody has reserved. So this process decides whether a lease still stands before it asks the
 * server, and in doubt it does not.
 */

import { type Clock, steadyClock } from '../../../core/base/clock.ts';
import type { Abandon, JobLease, Nack } from '../../../core/contract/queue.ts';
import { createAck } from './acks.ts';
import type { Consumer } from './consumers.ts';
import { addDeadLetter } from './dead-letter-pages.ts';
import { buryJob, deleteJob, releaseJob, touchJob, ttrMsOf } from './job-commands.ts';
import { infoOf, markOf } from './job-info.ts';
import { type JobMetadata, newMetadata, writeMetadata } from './job-metadata.ts';
import { type LeasedJob, LeaseTable } from './lease-table.ts';
import { rankOf } from './rank.ts';
import type { BeanstalkdState } from './state.ts';

export type Leases = ReturnType<typeof createLeases>;

/** @param onLost is called with the tokens of leases that end before their time */
export function createLeases(state: BeanstalkdState, onLost: (tokens: ReadonlySet<string>) => void) {
  const clock = steadyClock(state.clock);
  const jobs = new LeaseTable(clock);
  const touching = createTouching(jobs, clock, lose);

  function lose(gone: readonly LeasedJob[]): void {
    const mine = gone.filter((job) => jobs.has(job));
    for (const job of mine) jobs.remove(job);
    if (mine.length > 0) onLost(new Set(mine.map(({ lease }) => lease.token)));
  }

  /** @param metadata is written first, because the next worker reads it */
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

    /** A promise where the server must be asked to keep the job for longer. */
    add(job: LeasedJob): Promise<void> | null {
      jobs.add(job);
      if (!job.consumer.connection.isOpen) {
        jobs.remove(job);
        return null;
      }
      // The server cuts off parts of seconds: what it calls 0 may be most of a short time.
      if (job.reservedUntil - clock.now() < ttrMsOf(job) / 2)
        return touchJob(job, clock).then(() => touching.keep(job));
      touching.keep(job);
      return null;
    },

    /** The connection has ended, and what it held is lost. */
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

    /** Of this process: what others hold is released with their connection, or when its time is up. */
    async reapExpired(queue: string): Promise<number> {
      const now = clock.now();
      const expired = [...jobs].filter(({ lease, endsAt }) => lease.queue === queue && endsAt <= now);
      const answers = await Promise.all(
        expired.map(async (job) => {
          job.isSettling = true;
          const metadata = { ...metadataOf(job), told: job.stats.losses, expired: true };
          const isReleased = await release(job, 0, metadata).catch(() => false); // then the server does it, when its time is up
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
 * Keeps jobs reserved until their leases end: the time to run that a job was put with may be shorter than its lease.
 * @param lost is called with the jobs that the server has taken back
 */
function createTouching(jobs: LeaseTable, clock: Clock, lost: (gone: readonly LeasedJob[]) => void) {
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
