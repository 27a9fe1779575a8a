/**
 * The leases of this process by token; a token begins with an index. Not a Map, because its entries would outlive the young generation
 * (see core/kernel/worker/run-list.ts). Also the commands for a reserved job, which resolve with `false` when the job is no longer ours.
 */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import type { Connection } from './connection.ts';
import type { Consumer } from './consumers.ts';
import { infoOf, type JobStats, rankOf, secondsOf } from './job.ts';
import type { JobMetadata } from './job-metadata.ts';
import { refusal, succeeded } from './replies.ts';
import type { BeanstalkdState } from './state.ts';

/** A lease, and the job in beanstalkd. */
export interface LeasedJob {
  readonly lease: JobLease;
  readonly consumer: Consumer;
  readonly jobId: number;
  readonly stats: JobStats;
  readonly metadata: JobMetadata | null;
  /** When the lease ends, by the steady clock. */
  endsAt: number;
  /** The server keeps the job reserved until then at least, by the steady clock. */
  reservedUntil: number;
  /** Only one call may settle it. */
  isSettling: boolean;
}

export class LeaseTable implements Iterable<LeasedJob> {
  // Random, so that tokens of other and earlier processes differ.
  readonly #series = randomBytes(9).toString('base64url');
  readonly #jobs: (LeasedJob | null)[] = [];
  readonly #free: number[] = [];
  readonly #clock: Clock;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A new token. Its index is reserved for the job that is added with it. */
  newToken(): string {
    const index = this.#free.pop() ?? this.#jobs.push(null) - 1;
    return `${index}.${++this.#count}.${this.#series}`;
  }

  add(job: LeasedJob): void {
    this.#jobs[indexOf(job.lease.token)] = job;
    job.consumer.held++;
  }

  /** `null` = not found, or being settled. */
  find(token: string): LeasedJob | null {
    const job = this.#jobs[indexOf(token)];
    return job && job.lease.token === token && !job.isSettling ? job : null;
  }

  /** Like `find`, but also `null` if the lease has ended or the server may have taken the job back. */
  findOpen(token: string): LeasedJob | null {
    const job = this.find(token);
    return job && Math.min(job.endsAt, job.reservedUntil) > this.#clock.now() ? job : null;
  }

  has(job: LeasedJob): boolean {
    return this.find(job.lease.token) === job;
  }

  /**
   * Settles the job that `findOpen` finds, and removes it. `false` = not found, or `how` found it lost. Its connection counts it as held
   * until then, so that no fetch waits on that connection: the answer to the command would come after the wait.
   */
  async settle({ token }: JobLease, how: (job: LeasedJob) => Promise<boolean>): Promise<boolean> {
    const job = this.findOpen(token);
    if (!job) return false;
    job.isSettling = true;
    try {
      const isSettled = await how(job);
      this.remove(job);
      return isSettled;
    } catch (error) {
      this.settleFailed(job);
      throw error;
    }
  }

  /** Allows another try, unless the connection is gone and the job with it. */
  settleFailed(job: LeasedJob): void {
    job.isSettling = false;
    if (!job.consumer.connection.isOpen) this.remove(job);
  }

  remove(job: LeasedJob): void {
    const index = indexOf(job.lease.token);
    if (this.#jobs[index] !== job) return;
    this.#jobs[index] = null;
    this.#free.push(index);
    job.consumer.held--;
  }

  /** The jobs at this moment that are not being settled. */
  [Symbol.iterator](): Iterator<LeasedJob> {
    return this.#jobs.filter((job) => job !== null && !job.isSettling).values() as Iterator<LeasedJob>;
  }
}

/** `NaN` for a token of another backend, so that no job is found. */
const indexOf = (token: string): number => Number.parseInt(token, 10);

/** beanstalkd lets any client delete a job that is not reserved, so a delete must not arrive too late. */
const latestDeleteMs = 1_000;

export const ttrMsOf = ({ stats }: LeasedJob): number => Math.max(1, stats.ttrSeconds) * 1_000;

/** Whether a delete that is sent now may arrive after the server has taken the job back. */
export const isLate = (job: LeasedJob, clock: Clock): boolean =>
  job.reservedUntil - clock.now() < Math.min(latestDeleteMs, ttrMsOf(job) / 4);

/** Restarts the job's time to run. */
export async function touchJob(job: LeasedJob, clock: Clock): Promise<boolean> {
  const sentAt = clock.now();
  const reply = job.consumer.connection.send(`touch ${job.jobId}`);
  const isTouched = await succeeded(reply, 'TOUCHED', 'touching a job');
  if (isTouched) job.reservedUntil = Math.max(job.reservedUntil, sentAt + ttrMsOf(job));
  return isTouched;
}

export async function deleteJob(job: LeasedJob, clock: Clock): Promise<boolean> {
  if (isLate(job, clock) && !(await touchJob(job, clock))) return false;
  const reply = job.consumer.connection.send(`delete ${job.jobId}`);
  return succeeded(reply, 'DELETED', 'deleting a job');
}

export function buryJob({ consumer, jobId }: LeasedJob, rank: number): Promise<boolean> {
  return succeeded(consumer.connection.send(`bury ${jobId} ${rank}`), 'BURIED', 'burying a job');
}

/** Makes the job ready again after the delay. */
export async function releaseJob(
  { clock, ageingMs }: BeanstalkdState,
  connection: Connection,
  { jobId, body, delayMs }: { jobId: number; body: string; delayMs: number },
): Promise<boolean> {
  const rank = rankOf(clock.now() + delayMs, infoOf(body, jobId).priority, ageingMs);
  const { word } = await connection.send(`release ${jobId} ${rank} ${secondsOf(delayMs)}`);
  if (word === 'RELEASED') return true;
  if (word === 'NOT_FOUND') return false;
  if (word !== 'BURIED') throw refusal('releasing a job', word);
  // The server had no memory to make it ready and buried it. It must not stay buried.
  const again = await connection.send(`kick-job ${jobId}`);
  if (again.word !== 'KICKED') throw refusal('releasing a job', 'OUT_OF_MEMORY');
  return true;
}
