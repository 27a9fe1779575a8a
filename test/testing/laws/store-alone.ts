/**
 * A store held against the laws of records: beside it stands a queue that keeps none, which tells it of every step as the
 * client and an attempt do.
 */

import type { AttemptReport } from '../../../core/contract/outcome.ts';
import type { JobLease, QueueBackend } from '../../../core/contract/queue.ts';
import type { BackendStores, RecordedJob } from '../../../core/contract/store.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import type { Harness, Lack, OpenOptions } from './harness.ts';
import { reportOf } from './kit.ts';

/** One empty storage, used by one law. */
export interface StoreBench {
  readonly stores: BackendStores;
  /** The same storage opened once more, as another process would have it; races are then run over both. */
  readonly peer?: BackendStores;
  close(): Promise<void>;
}

export interface StoreHarness {
  readonly lacks?: readonly Lack[];
  /** @param clock the store's time; the laws move it */
  open(clock: ReturnType<typeof createVirtualClock>, options?: OpenOptions): Promise<StoreBench>;
}

export function besideAQueue(harness: StoreHarness): Harness {
  return {
    storeStandsAlone: true,
    ...(harness.lacks && { lacks: harness.lacks }),
    async open(options) {
      const clock = createVirtualClock();
      const { stores, peer, close } = await harness.open(clock, options);
      // The queue forgets what has ended, so that nothing of its own memory can be taken for the store's.
      const queue = memory({ clock, retention: { completedMs: 0 } });
      const backend = recorded(queue, stores, clock.now);
      return {
        backend,
        ...(peer ? { peer: recorded(queue, peer, clock.now) } : {}),
        now: clock.now,
        advance: clock.advance,
        close,
      };
    },
  };
}

/** Records the messages of the laws, as a store beside a queue would. */
function recorded(queue: QueueBackend, stores: BackendStores, now: () => number): QueueBackend {
  const writer = stores.records.writer!;
  const jobs = new Map<string, RecordedJob>();
  const jobOf = ({ body }: JobLease): RecordedJob => jobs.get(body)!;

  async function end(
    lease: JobLease,
    report: AttemptReport,
    rest: Partial<Parameters<typeof writer.settled>[2]>,
  ) {
    const how = { report, counted: true, runAt: null, reason: null, error: null, ...rest };
    await writer.settled(jobOf(lease), lease.token, how);
  }

  return {
    ...queue,
    stores,
    async enqueue(messages) {
      const at = now();
      const recorded = messages.map(({ body, notBefore, group: _, ...facts }) => {
        const job = { ...facts, createdAt: at, runAt: notBefore ?? at };
        jobs.set(body, job);
        return job;
      });
      const results = await queue.enqueue(messages);
      await writer.enqueued(recorded);
      return results;
    },
    async fetch(request) {
      for (;;) {
        const fetched = await queue.fetch(request);
        const leases = [];
        for (const lease of fetched) {
          const { token: owner, attempt } = lease;
          const { cancelled } = await writer.started(jobOf(lease), { owner, attempt, at: now() });
          if (cancelled) await queue.abandon(lease, { reason: 'cancelled', error: '' });
          else leases.push(lease);
        }
        if (leases.length > 0 || fetched.length === 0) return leases;
      }
    },
    async ack(acks) {
      const answers = await queue.ack(acks);
      for (const [i, { lease, report = reportOf(lease, now(), 'acked') }] of acks.entries())
        if (answers[i]) await end(lease, report, {});
      return answers;
    },
    async nack(lease, how) {
      const { delayMs, countAttempt: counted, report = reportOf(lease, now(), 'requeued') } = how;
      const answer = await queue.nack(lease, how);
      if (answer) await end(lease, report, { counted, runAt: now() + delayMs });
      return answer;
    },
    async abandon(lease, why) {
      const { reason, error, report } = why;
      const answer = await queue.abandon(lease, why);
      const given = report ?? reportOf(lease, now(), 'dead-lettered');
      if (answer) await end(lease, given, { reason, error });
      return answer;
    },
  };
}
