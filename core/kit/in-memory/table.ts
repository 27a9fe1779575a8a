/**
 * The jobs of a queue that keeps them in the memory of this process, and the changes that do not depend on how the queue finds its next
 * job. The verbs of the administration are made from a table: see the files beside this one.
 */

import { type Clock, steadyNow } from '../../base/clock.ts';
import type { AbandonReason, AttemptReport } from '../../contract/outcome.ts';
import type { JobLease, OutgoingMessage, SendResult } from '../../contract/queue.ts';
import type { Retention } from '../../contract/store.ts';
import { tooLarge } from '../body-limit.ts';
import { createEndWatchers } from '../records/end-watchers.ts';
import { lostAttempt, statusOfEnd } from '../records/row.ts';
import { addReport, type KeptJob, newJob } from './job.ts';

export interface TableSettings {
  readonly clock: Clock;
  readonly retention: Retention;
  readonly maxBodyBytes: number;
  /** How much later a job is ranked per priority level. */
  readonly ageingMs: number;
}

/** Each queue does this in its own way. */
export interface JobOrder {
  /** Makes a new, leased, held, dead or waiting job wait until `readyAt`. */
  queue(job: KeptJob, readyAt: number, rank: number): void;
  /** The job has just been leased or held. */
  leased(job: KeptJob): void;
  /** The job has just ended, or was removed: the next one of its group may become the head. */
  left(job: KeptJob): void;
  /** Lets waiting fetches look again. */
  wake(): void;
}

export type JobTable = ReturnType<typeof createJobTable>;

export function createJobTable(settings: TableSettings, order: JobOrder) {
  const { clock, retention, maxBodyBytes, ageingMs } = settings;
  const jobs = new Map<string, KeptJob>();
  /** All queues that were ever used. */
  const queues = new Set<string>();
  const leases = new Map<string, KeptJob>();
  const ends = createEndWatchers();
  let seq = 0;

  /** The job of a lease; `null` = the lease has ended. */
  function owned({ token }: Pick<JobLease, 'token'>): KeptJob | null {
    const job = leases.get(token);
    return job && job.leaseUntil > steadyNow(clock) ? job : null;
  }

  /** @param rank by default from `readyAt` and the priority */
  function queue(job: KeptJob, readyAt: number, rank = readyAt + job.message.priority * ageingMs): void {
    order.queue(job, readyAt, rank);
  }

  /** @param reason `null` = completed */
  function finish(job: KeptJob, reason: AbandonReason | null, error: string | null, keepMs?: number): void {
    job.state = statusOfEnd(reason);
    job.finishedAt = clock.now();
    job.reason = reason;
    job.error = error;
    job.inLine = false;
    job.keepMs = keepMs ?? null;
    const usualMs = reason === null || reason === 'cancelled' ? retention.completedMs : Infinity;
    if ((keepMs ?? usualMs) === 0) jobs.delete(job.message.id);
    order.left(job);
    ends.tell(job.message.id);
  }

  return {
    ...settings,
    jobs,
    queues,
    paused: new Set<string>(),
    ends,
    queue,
    finish,
    leased: order.leased,
    wake: order.wake,
    /** Adds a job, unless its id is known or its body too large. @param begin queues or holds it */
    add(message: OutgoingMessage, begin: (job: KeptJob) => void): SendResult {
      const { id, body } = message;
      const error = tooLarge(body, maxBodyBytes);
      if (error) return { ok: false, id, error };
      queues.add(message.queue);
      if (jobs.has(id)) return { ok: true, id, duplicate: true };
      const job = newJob(seq++, message, clock.now());
      jobs.set(id, job);
      begin(job);
      return { ok: true, id, duplicate: false };
    },
    /** Begins an attempt. It is counted now, so that a job that kills its worker also runs out of attempts. */
    lease(job: KeptJob, token: string, leaseMs: number): JobLease {
      const now = clock.now();
      job.state = 'leased';
      job.attempt++;
      job.token = token;
      job.leasedAt = now;
      job.leaseUntil = steadyNow(clock) + leaseMs;
      leases.set(token, job);
      order.leased(job);
      const { queue, body } = job.message;
      const { attempt, interrupted } = job;
      return { queue, body, attempt, token, expiresAt: now + leaseMs, interrupted };
    },
    /** Ends a lease and returns its job; `null` = it had ended before. */
    take(lease: JobLease, report: AttemptReport | undefined): KeptJob | null {
      const job = owned(lease);
      if (job) leases.delete(lease.token);
      if (job && report) addReport(job, report);
      return job;
    },
    renew(lease: JobLease, leaseMs: number): boolean {
      const job = owned(lease);
      if (job) job.leaseUntil = steadyNow(clock) + leaseMs;
      return job !== null;
    },
    /** Ends the expired leases of a queue, reports their attempts as interrupted, and returns their jobs. */
    takeExpired(name: string): KeptJob[] {
      const [now, steady] = [clock.now(), steadyNow(clock)];
      const lost = [...leases.values()].filter(
        (job) => job.message.queue === name && job.leaseUntil <= steady,
      );
      for (const job of lost) {
        leases.delete(job.token);
        job.interrupted = true;
        addReport(job, { ...lostAttempt(job.attempt), startedAt: job.leasedAt, endedAt: now });
      }
      return lost;
    },
    /** Queues a job that was leased or held, unless its cancellation was requested meanwhile. */
    requeue(job: KeptJob, readyAt: number): void {
      if (job.cancelRequested) finish(job, 'cancelled', null);
      else queue(job, readyAt);
    },
    /** Removes waiting or held jobs without a trace. */
    drop(gone: readonly KeptJob[]): void {
      for (const job of gone) {
        job.state = 'cancelled'; // makes its items in the queue's lists stale
        job.inLine = false;
        jobs.delete(job.message.id);
      }
      for (const job of gone) order.left(job);
      for (const job of gone) ends.tell(job.message.id);
    },
  };
}
