/**
 * A complete backend as a starting point for your own: a queue over a `Map` that passes all laws. This file has the eight methods,
 * `example-order.ts` the order in which jobs are leased, and `example-store.ts` the texts. The kit makes all the rest of them:
 * administration, waiting jobs, records, and the other stores. It is not optimized; use `longshore/local/memory` for real work.
 */

import type { JobLease, OutgoingMessage, QueueBackend, SendResult } from '../../core/contract/queue.ts';
import { pendingOf } from '../../core/kit/in-memory/pending.ts';
import { recordsOf } from '../../core/kit/in-memory/records.ts';
import { storesOf } from '../../core/kit/texts/stores.ts';
import { backendDefaults } from '../../local/backends/shared/defaults.ts';
import { movableAdmin } from '../../local/backends/shared/transfer.ts';
import { createWaiters } from '../../local/backends/shared/waiters.ts';
import { exampleJobs } from './example-order.ts';
import { type ExampleStoreOptions, exampleKeys, exampleTexts } from './example-store.ts';

export function exampleBackend({ clock, retention }: ExampleStoreOptions): QueueBackend {
  const waiters = createWaiters(clock);
  const settings = { ...backendDefaults, clock, retention: { ...backendDefaults.retention, ...retention } };
  const { table, next, nextReadyAt } = exampleJobs(settings, () => waiters.wake());
  const texts = exampleTexts(clock);
  const keys = exampleKeys(texts, clock);
  let [tokens, open] = [0, true];

  /** A time in the past must give no advantage over jobs that already wait. */
  const send = (message: OutgoingMessage): SendResult =>
    table.add(message, (job) => table.queue(job, Math.max(clock.now(), message.notBefore ?? 0)));

  return {
    name: 'example',
    limits: { maxBodyBytes: settings.maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    stores: { keys, records: recordsOf(table, texts.purge), ...storesOf(texts, clock) },
    admin: movableAdmin(table),
    pending: pendingOf(table),
    keepsOrder: () => true,

    async enqueue(messages) {
      return messages.map(send);
    },

    async fetch({ queues, max, leaseMs, waitMs, signal }) {
      const until = clock.now() + waitMs;
      for (const queue of queues) table.queues.add(queue);
      for (;;) {
        const leases: JobLease[] = [];
        while (leases.length < max) {
          const job = next(queues);
          if (!job) break;
          leases.push(table.lease(job, `${++tokens}`, leaseMs));
        }
        if (leases.length > 0 || clock.now() >= until || signal?.aborted || !open) return leases;
        await waiters.wait(Math.min(until, nextReadyAt()) - clock.now(), signal);
      }
    },

    /** The job is done. `take` ends the lease; for a stale lease it returns `null`, and the method must change nothing. */
    async ack(acks) {
      const settled = acks.map(({ lease, report, keepBody = false, keepMs }) => {
        const job = table.take(lease, report);
        if (!job) return false;
        job.keepsBody = keepBody;
        table.finish(job, null, null, keepMs);
        return true;
      });
      // A queue with its own store completes the idempotency key together with the ack.
      for (const [i, { complete }] of acks.entries())
        if (settled[i] && complete) await keys.complete(complete.key, complete.owner, complete);
      return settled;
    },

    /** The job runs again later. An uncounted attempt leaves no trace. */
    async nack(lease, { delayMs, countAttempt, report }) {
      const job = table.take(lease, countAttempt ? report : undefined);
      if (!job) return false;
      if (countAttempt) job.interrupted = false;
      else job.attempt--;
      table.requeue(job, clock.now() + delayMs);
      return true;
    },

    /** The job never runs again: it becomes a dead letter, or is cancelled. */
    async abandon(lease, { reason, error, report, keepMs }) {
      const job = table.take(lease, report);
      if (!job) return false;
      table.finish(job, reason, error, keepMs);
      return true;
    },

    async renew(leases, leaseMs) {
      return leases.map((lease) => table.renew(lease, leaseMs));
    },

    async reapExpired(queue) {
      const lost = table.takeExpired(queue);
      for (const job of lost) table.requeue(job, clock.now());
      return lost.length;
    },

    async close() {
      open = false;
      waiters.wake();
    },
  };
}
