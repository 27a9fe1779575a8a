/** A queue in this process's memory: for tests and for work that may be lost with the process. */

import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import type { JobLease, QueueBackend } from '../../../core/contract/queue.ts';
import type { Retention } from '../../../core/contract/store.ts';
import { before, type KeptJob } from '../../../core/kit/in-memory/job.ts';
import { pendingOf } from '../../../core/kit/in-memory/pending.ts';
import { recordsOf } from '../../../core/kit/in-memory/records.ts';
import { createJobTable } from '../../../core/kit/in-memory/table.ts';
import { backendDefaults } from '../shared/defaults.ts';
import { movableAdmin } from '../shared/transfer.ts';
import { createWaiters } from '../shared/waiters.ts';
import { createGroups } from './groups.ts';
import { memoryKeys } from './keys.ts';
import { createReadyList, type ReadyList } from './ready-list.ts';
import { memoryStores, memoryTexts } from './texts.ts';

export type { QueueBackend } from '../../../core/contract/queue.ts';
export type { Stores } from '../../../core/contract/store.ts';
export { type MemoryStoreOptions, memoryStore } from './store.ts';

export interface MemoryOptions {
  /** For tests. @default the system's clock */
  readonly clock?: Clock;
  /** How much later a job is ranked per priority level, ms. @default 3_600_000 */
  readonly ageingMs?: number;
  /** How long ended jobs are kept. @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  /** Largest body of a job, bytes. A larger one is refused with `LIMIT`. @default 1_048_576 */
  readonly maxBodyBytes?: number;
}

export function memory(options: MemoryOptions = {}): QueueBackend {
  const { clock = systemClock, ageingMs = backendDefaults.ageingMs } = options;
  const maxBodyBytes = options.maxBodyBytes ?? backendDefaults.maxBodyBytes;
  const retention = { ...backendDefaults.retention, ...options.retention };
  const waiters = createWaiters(clock);
  const lists = new Map<string, ReadyList>();
  let open = true;

  const groups = createGroups(ageingMs, (head, readyAt) => {
    head.rank = readyAt + head.message.priority * ageingMs;
    pushed(head);
  });
  // Other processes may use the same stores, where the token is the owner of a key.
  const tokenPrefix = `${randomUUID()}-`;
  let tokens = 0;
  const table = createJobTable(
    { clock, retention, maxBodyBytes, ageingMs },
    {
      queue(job, readyAt, rank) {
        const now = clock.now();
        const isGrouped = job.message.group !== null;
        const mayHold = job.state === 'leased' || (isGrouped && groups.isHead(job));
        job.readyAt = readyAt;
        job.rank = rank;
        job.inLine = false;
        job.state = readyAt > now ? 'delayed' : 'ready';
        if (job.state === 'delayed' || !isLined(job, now)) pushed(job);
        if (job.state === 'delayed' && isGrouped) groups.delay(job, now, mayHold);
      },
      leased(job) {
        if (job.message.group !== null) groups.lease(job, clock.now());
      },
      left(job) {
        if (job.message.group !== null) groups.advance(job, clock.now());
      },
      wake: () => waiters.wake(),
    },
  );

  function listOf(queue: string): ReadyList {
    let list = lists.get(queue);
    if (!list) {
      list = createReadyList(isLined);
      lists.set(queue, list);
      table.queues.add(queue);
    }
    return list;
  }

  function pushed(job: KeptJob): void {
    listOf(job.message.queue).push(job);
    waiters.wake();
  }

  /** Puts a ready job of a group into its line, unless it is the head. */
  function isLined(job: KeptJob, now: number): boolean {
    if (job.message.group === null || groups.isHead(job)) return false;
    groups.join(job, now);
    return true;
  }

  const keys = memoryKeys(clock);
  const texts = memoryTexts(clock);

  return {
    name: 'memory',
    inProcess: true,
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    keepsOrder: () => true,
    stores: {
      keys,
      records: recordsOf(table, () => keys.purgeEnded() + texts.purgeEnded()),
      ...memoryStores(texts, clock),
    },
    admin: movableAdmin(table),
    pending: pendingOf(table),

    async enqueue(messages) {
      return messages.map((message) =>
        table.add(message, (job) => table.queue(job, Math.max(clock.now(), message.notBefore ?? 0))),
      );
    },

    async fetch({ queues, max, leaseMs, waitMs, signal }) {
      const until = clock.now() + waitMs;
      for (;;) {
        const now = clock.now();
        const leases: JobLease[] = [];
        const unpaused = queues.filter((queue) => !table.paused.has(queue));
        while (leases.length < max) {
          const job = next(unpaused, now);
          if (!job) break;
          leases.push(table.lease(job, `${tokenPrefix}${++tokens}`, leaseMs));
        }
        if (leases.length > 0 || now >= until || signal?.aborted || !open) return leases;
        const readyAt = Math.min(until, ...unpaused.map((queue) => listOf(queue).nextReadyAt()));
        await waiters.wait(Math.max(1, readyAt - now), signal);
      }
    },

    hints: { reapsForAll: true, freeWaits: true },

    async reapExpired(queue) {
      const lost = table.takeExpired(queue);
      for (const job of lost) table.requeue(job, clock.now());
      return lost.length;
    },

    async ack(acks) {
      return acks.map(({ lease, report, complete, keepBody = false, keepMs }) => {
        const job = table.take(lease, report);
        if (!job) return false;
        job.keepsBody = keepBody;
        if (complete) keys.completeNow(complete);
        table.finish(job, null, null, keepMs);
        return true;
      });
    },

    async nack(lease, { delayMs, countAttempt, report }) {
      const job = table.take(lease, countAttempt ? report : undefined);
      if (!job) return false;
      if (countAttempt) job.interrupted = false;
      else job.attempt--;
      table.requeue(job, clock.now() + delayMs);
      return true;
    },

    async abandon(lease, { reason, error, report, keepMs }) {
      const job = table.take(lease, report);
      if (!job) return false;
      table.finish(job, reason, error, keepMs);
      return true;
    },

    async renew(leases, leaseMs) {
      return leases.map((lease) => table.renew(lease, leaseMs));
    },

    async close() {
      open = false;
      waiters.wake();
    },
  };

  function next(queues: readonly string[], now: number): KeptJob | undefined {
    let best: ReadyList | null = null;
    for (const queue of queues) {
      const list = listOf(queue);
      const candidate = list.first(now);
      if (candidate && (!best || before(candidate, best.first(now)!))) best = list;
    }
    return best?.take(now);
  }
}
