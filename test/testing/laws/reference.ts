/**
 * A queue as simple as it can be: a list, searched from the front. It is what the random sequences compare a
 * backend with, so it must be obvious, not fast.
 */

import type { AbandonReason, JobStatus } from '../../../core/contract/outcome.ts';
import type { CancelResult } from '../../../core/contract/store.ts';
import { hour } from './kit.ts';

type State = 'waiting' | 'leased' | 'completed' | 'failed' | 'expired' | 'cancelled';

export interface ReferenceJob {
  readonly id: string;
  readonly queue: string;
  readonly createdAt: number;
  priority: number;
  state: State;
  readyAt: number;
  /** The moment that ranks it. */
  rankedAt: number;
  attempt: number;
  interrupted: boolean;
  askedToStop: boolean;
  /** Which claim owns it: every claim has a number of its own. */
  claim: number;
  leaseUntil: number;
}

export interface ReferenceStats {
  readonly ready: number;
  readonly delayed: number;
  readonly leased: number;
  readonly dead: number;
  readonly paused: boolean;
}

export type Reference = ReturnType<typeof createReference>;

export interface ReferenceOptions {
  /** A dead letter that is retried waits since it died, and not since it was retried. */
  readonly retriedKeepPlace?: boolean;
}

export function createReference(now: () => number, { retriedKeepPlace = false }: ReferenceOptions = {}) {
  /** In order of arrival. */
  const jobs: ReferenceJob[] = [];
  const paused = new Set<string>();
  let claims = 0;

  const find = (id: string): ReferenceJob | undefined => jobs.find((job) => job.id === id);
  const isReady = (job: ReferenceJob): boolean => job.state === 'waiting' && job.readyAt <= now();
  const isDead = (job: ReferenceJob): boolean => job.state === 'failed' || job.state === 'expired';
  const rankOf = (job: ReferenceJob): number => job.rankedAt + job.priority * hour;
  const owned = (claim: number): ReferenceJob | undefined =>
    jobs.find((job) => job.state === 'leased' && job.claim === claim && job.leaseUntil > now());

  function again(job: ReferenceJob, readyAt: number): void {
    job.state = job.askedToStop ? 'cancelled' : 'waiting';
    job.readyAt = readyAt;
    job.rankedAt = readyAt;
  }

  const waiting = (id: string, queue: string): ReferenceJob | undefined =>
    jobs.find((job) => job.id === id && job.queue === queue && job.state === 'waiting');

  return {
    jobs,
    enqueue(id: string, queue: string, priority: number, readyAt: number): { duplicate: boolean } {
      if (find(id)) return { duplicate: true };
      const unclaimed = { attempt: 0, interrupted: false, askedToStop: false, claim: 0, leaseUntil: 0 };
      const createdAt = now();
      jobs.push({
        id,
        queue,
        createdAt,
        priority,
        state: 'waiting',
        readyAt,
        rankedAt: readyAt,
        ...unclaimed,
      });
      return { duplicate: false };
    },
    fetch(queues: readonly string[], max: number, leaseMs: number): ReferenceJob[] {
      const open = jobs.filter((job) => queues.includes(job.queue) && !paused.has(job.queue) && isReady(job));
      // A stable sort: what has the same rank stays in order of arrival.
      const taken = open.sort((a, b) => rankOf(a) - rankOf(b)).slice(0, max);
      for (const job of taken) {
        job.state = 'leased';
        job.attempt++;
        job.claim = ++claims;
        job.leaseUntil = now() + leaseMs;
      }
      return taken.map((job) => ({ ...job }));
    },
    ack(claim: number): boolean {
      const job = owned(claim);
      if (job) job.state = 'completed';
      return job !== undefined;
    },
    nack(claim: number, delayMs: number, countAttempt: boolean): boolean {
      const job = owned(claim);
      if (!job) return false;
      if (countAttempt) job.interrupted = false;
      else job.attempt--;
      again(job, now() + delayMs);
      return true;
    },
    abandon(claim: number, reason: AbandonReason): boolean {
      const job = owned(claim);
      if (job) job.state = reason === 'expired' || reason === 'cancelled' ? reason : 'failed';
      if (job && retriedKeepPlace) job.readyAt = now();
      return job !== undefined;
    },
    renew(claim: number, leaseMs: number): boolean {
      const job = owned(claim);
      if (job) job.leaseUntil = now() + leaseMs;
      return job !== undefined;
    },
    reap(queue: string): number {
      const lost = jobs.filter(
        (job) => job.queue === queue && job.state === 'leased' && job.leaseUntil <= now(),
      );
      for (const job of lost) {
        job.interrupted = true;
        again(job, now());
      }
      return lost.length;
    },
    cancel(id: string): CancelResult {
      const job = find(id);
      if (!job) return 'unknown';
      if (job.state === 'leased') {
        job.askedToStop = true;
        return 'cancelling';
      }
      if (job.state !== 'waiting') return 'finished';
      job.state = 'cancelled';
      return 'cancelled';
    },
    retry(id: string): number {
      const job = find(id);
      if (!job || !isDead(job)) return 0;
      Object.assign(job, { attempt: 0, interrupted: false, askedToStop: false });
      again(job, retriedKeepPlace ? job.readyAt : now());
      return 1;
    },
    discard(id: string): number {
      return remove((job) => job.id === id && isDead(job));
    },
    clear(queue: string): number {
      return remove((job) => job.queue === queue && job.state === 'waiting');
    },
    promote(id: string, queue: string): boolean {
      const job = waiting(id, queue);
      if (job && job.readyAt > now()) Object.assign(job, { readyAt: now(), rankedAt: job.createdAt });
      return job !== undefined;
    },
    delay(id: string, queue: string, priority: number, readyAt: number): boolean {
      const job = waiting(id, queue);
      if (job) Object.assign(job, { priority, readyAt, rankedAt: readyAt });
      return job !== undefined;
    },
    remove(id: string, queue: string): boolean {
      return remove((job) => job === waiting(id, queue)) === 1;
    },
    deadIds: () => jobs.filter(isDead).map(({ id }) => id),
    hasEnded(id: string): boolean {
      const job = find(id);
      return job !== undefined && job.state !== 'waiting' && job.state !== 'leased';
    },
    pause: (queue: string) => void paused.add(queue),
    resume: (queue: string) => void paused.delete(queue),
    stats(queue: string): ReferenceStats {
      const mine = jobs.filter((job) => job.queue === queue);
      const count = (test: (job: ReferenceJob) => boolean): number => mine.filter(test).length;
      return {
        ready: count(isReady),
        delayed: count((job) => job.state === 'waiting' && !isReady(job)),
        leased: count((job) => job.state === 'leased'),
        dead: count(isDead),
        paused: paused.has(queue),
      };
    },
    statusOf(job: ReferenceJob): JobStatus {
      if (job.state === 'leased') return 'processing';
      if (job.state !== 'waiting') return job.state;
      return job.attempt > 0 ? 'retrying' : 'pending';
    },
  };

  function remove(test: (job: ReferenceJob) => boolean): number {
    const gone = jobs.filter(test);
    for (const job of gone) jobs.splice(jobs.indexOf(job), 1);
    return gone.length;
  }
}
