/**
 * A complete backend as a starting point for your own: a queue and its stores in memory that pass all laws. This file has the eight
 * methods. `example-jobs.ts` has the order of jobs, `example-admin.ts` the administration, and `example-store.ts` the three tables on which
 * the kit builds all other stores. It is not optimized; use `longshore/local/memory` for real work.
 */

import type { Outcome } from '../../core/base/events.ts';
import type { AttemptReport } from '../../core/contract/outcome.ts';
import type { JobLease, OutgoingMessage, QueueBackend, SendResult } from '../../core/contract/queue.ts';
import type { AttemptEnd, RecordStore } from '../../core/contract/store.ts';
import { tooLarge } from '../../core/kit/body-limit.ts';
import * as rules from '../../core/kit/records/row.ts';
import { defaultRetention } from '../../core/kit/records/store.ts';
import { exampleAdmin } from './example-admin.ts';
import { byRank, createJobs, type Job, maxBodyBytes } from './example-jobs.ts';
import { type ExampleStoreOptions, exampleStores } from './example-store.ts';

export function exampleBackend({ clock, retention }: ExampleStoreOptions): QueueBackend {
  const keep = { ...defaultRetention, ...retention };
  const state = createJobs(clock, keep);
  const { jobs, queues, paused, ends, waiting, all, put, queue, newJob, wake, owned } = state;
  const { groupOf, isWaiting, isReady, comeForward } = state;
  let [tokens, open] = [0, true];

  function send(message: OutgoingMessage): SendResult {
    const error = tooLarge(message.body, maxBodyBytes);
    if (error) return { ok: false, id: message.id, error };
    queues.add(message.queue);
    if (jobs.get(message.id)) return { ok: true, id: message.id, duplicate: true };
    // A time in the past must give no advantage over jobs that already wait.
    const readyAt = Math.max(clock.now(), message.notBefore ?? 0);
    queue(newJob(message, readyAt), readyAt);
    return { ok: true, id: message.id, duplicate: false };
  }

  /** Counts the attempt at the lease, so that a job that kills its worker also runs out of attempts. */
  function leaseOut(one: Job, leaseMs: number): JobLease {
    const lease = { token: `${++tokens}`, until: clock.now() + leaseMs };
    const attempt = one.record.attempt + 1;
    const begun = { status: 'processing', owner: lease.token, attempt, startedAt: clock.now() } as const;
    const stands = groupOf(one) === null;
    put({
      ...one,
      lease,
      stands,
      interrupted: false,
      record: { ...one.record, ...begun, movedAt: clock.now() },
    });
    const { queue, body } = one.message;
    return { queue, body, attempt, token: lease.token, interrupted: one.interrupted, expiresAt: lease.until };
  }

  /** The record after an attempt. Without a report it does not list the attempt. */
  function ended(one: Job, outcome: Outcome | 'interrupted', how: Partial<AttemptEnd>): rules.RecordRow {
    const { record } = one;
    const at = { startedAt: record.startedAt!, endedAt: clock.now() };
    const report: AttemptReport = { attempt: record.attempt, ...at, outcome, error: null, output: null };
    const rest = { report, counted: true, runAt: null, reason: null, error: null, ...how };
    const next = rules.end(record, record, one.lease!.token, rest, keep)!;
    return how.report || !rest.counted ? next : { ...next, attempts: record.attempts };
  }

  /** Waits until a job comes or becomes ready, the time is over, or the caller aborts. */
  function wait(until: number, signal: AbortSignal | undefined): Promise<void> {
    const delayed = all().filter((job) => isWaiting(job) && !isReady(job));
    const next = Math.min(until, ...delayed.map(({ readyAt }) => readyAt));
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        waiting.delete(end);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const cancel = clock.after(next - clock.now(), end);
      waiting.add(end);
      signal?.addEventListener('abort', end);
    });
  }

  /** The kit's rules, over the jobs of this queue. */ const ofKit = exampleStores(
    { clock, retention: keep },
    jobs,
    (record, old) => old && put({ ...old, record }),
    false,
  );
  const records: RecordStore = {
    get: ofKit.records.get,
    page: ofKit.records.page,
    body: ofKit.records.body,
    cancel: ofKit.records.cancel,
    cancelRequested: ofKit.records.cancelRequested,
    purge: ofKit.records.purge,
    progress: async (id, token, progress) =>
      owned({ token }) !== undefined && ofKit.records.progress(id, token, progress),
    watchEnd: ({ id }, look) => ({ hears: true, stop: ends.add(id, look) }),
  };

  return {
    name: 'example',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    stores: { ...ofKit, records },
    ...exampleAdmin(state, clock),
    keepsOrder: () => true,
    enqueue: async (messages) => messages.map(send),
    async fetch({ queues: names, max, leaseMs, waitMs, signal }) {
      const until = clock.now() + waitMs;
      for (const name of names) queues.add(name);
      for (;;) {
        const leases: JobLease[] = [];
        while (leases.length < max) {
          comeForward();
          const [next] = all()
            .filter((job) => isWaiting(job) && job.stands && isReady(job))
            .filter(({ message }) => names.includes(message.queue) && !paused.has(message.queue))
            .sort(byRank);
          if (!next) break;
          leases.push(leaseOut(next, leaseMs));
        }
        if (leases.length > 0 || clock.now() >= until || signal?.aborted || !open) return leases;
        await wait(until, signal);
      }
    },
    async ack(acks) {
      const settled = acks.map(({ lease, report, keepBody, keepMs }) => {
        const one = owned(lease);
        if (!one) return false;
        const how = { ...(report && { report }), ...(keepMs !== undefined && { keepMs }) };
        const { body, ...record } = ended(one, 'acked', how);
        put({ ...one, record: { ...record, ...(keepBody && body !== undefined && { body }) } });
        return true;
      });
      // A queue with its own store completes the idempotency key together with the ack.
      for (const [i, { complete }] of acks.entries())
        if (settled[i] && complete) await ofKit.keys.complete(complete.key, complete.owner, complete);
      return settled;
    },
    async nack(lease, { delayMs, countAttempt, report }) {
      const one = owned(lease);
      if (!one) return false;
      const readyAt = clock.now() + delayMs;
      const how = { counted: countAttempt, runAt: readyAt, ...(report && { report }) };
      // An uncounted attempt leaves no trace, so the job is still marked as interrupted if it was.
      const interrupted = !countAttempt && lease.interrupted;
      again({ ...one, interrupted, record: ended(one, 'requeued', how) }, readyAt);
      return true;
    },
    async abandon(lease, { reason, error, report, keepMs }) {
      const one = owned(lease);
      if (!one) return false;
      const rest = { ...(report && { report }), ...(keepMs !== undefined && { keepMs }) };
      put({ ...one, record: ended(one, 'dead-lettered', { reason, error, ...rest }) });
      return true;
    },
    async renew(leases, leaseMs) {
      return leases.map((lease) => {
        const one = owned(lease);
        if (one) put({ ...one, lease: { ...one.lease!, until: clock.now() + leaseMs } });
        return one !== undefined;
      });
    },
    async reapExpired(name) {
      const lost = all().filter(
        ({ message, lease }) => message.queue === name && lease !== null && lease.until <= clock.now(),
      );
      for (const one of lost) {
        const at = { startedAt: one.record.startedAt!, endedAt: clock.now() };
        const report = { ...rules.lostAttempt(one.record.attempt), ...at };
        const record = ended(one, 'interrupted', { report, runAt: clock.now() });
        again({ ...one, interrupted: true, record }, clock.now());
      }
      return lost.length;
    },
    async close() {
      open = false;
      wake();
    },
  };

  /** Requeues the job, unless it was cancelled while it ran. */
  function again(one: Job, readyAt: number): void {
    if (one.record.finishedAt === null) queue(one, readyAt);
    else put(one);
  }
}
