/**
 * The leases of this process, found by their token, which begins with an index. Not a Map, for the reason that
 * core/kernel/worker/run-list.ts gives: what was ever in a Map outlives the young generation.
 */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import type { Consumer } from './consumers.ts';
import type { JobMetadata } from './job-metadata.ts';
import type { JobStats } from './stats.ts';

/** A lease and what beanstalkd knows of its job. */
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
  // No other process has it, nor has an earlier one of this machine.
  readonly #series = randomBytes(9).toString('base64url');
  readonly #jobs: (LeasedJob | null)[] = [];
  readonly #free: number[] = [];
  readonly #clock: Clock;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** New at every call. Its index is reserved for the job that is added with it. */
  newToken(): string {
    const index = this.#free.pop() ?? this.#jobs.push(null) - 1;
    return `${index}.${++this.#count}.${this.#series}`;
  }

  add(job: LeasedJob): void {
    this.#jobs[indexOf(job.lease.token)] = job;
    job.consumer.held++;
  }

  /** `null` also for one that is being settled. */
  find(token: string): LeasedJob | null {
    const job = this.#jobs[indexOf(token)];
    return job && job.lease.token === token && !job.isSettling ? job : null;
  }

  /** As `find`, and neither has the lease ended nor may the server have taken the job back. */
  findOpen(token: string): LeasedJob | null {
    const job = this.find(token);
    return job && Math.min(job.endsAt, job.reservedUntil) > this.#clock.now() ? job : null;
  }

  has(job: LeasedJob): boolean {
    return this.find(job.lease.token) === job;
  }

  /**
   * Settles what `findOpen` finds, and removes it. `false` = there is none, or `how` found it lost. Its connection holds it until
   * then, so that nobody waits on that connection: a command that is sent during a wait is answered after it.
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

  /** It may be tried again, unless the connection is gone and the job with it. */
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

  /** Those of now that nobody settles. */
  [Symbol.iterator](): Iterator<LeasedJob> {
    return this.#jobs.filter((job) => job !== null && !job.isSettling).values() as Iterator<LeasedJob>;
  }
}

/** `NaN` for the token of another backend: nothing has that index. */
const indexOf = (token: string): number => Number.parseInt(token, 10);
