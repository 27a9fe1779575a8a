/** A queue that keeps no state, a store beside it, and one attempt at a time. */

import type { LongshoreEvent } from '../../../core/base/events.ts';
import type { JobSettler, QueueBackend } from '../../../core/contract/queue.ts';
import type { JobRecord, RecordWriter, Stores } from '../../../core/contract/store.ts';
import { createApp } from '../../../core/features/table.ts';
import type { AppOptions } from '../../../core/kernel/app/app.ts';
import type { AttemptResult } from '../../../core/kernel/attempt/attempt.ts';
import { createRun, type Run } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory, memoryStore } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { ring, startMs } from './kit.ts';

export interface RecordingOptions extends Partial<AppOptions> {
  /** The queue keeps its records itself, as a measure of what they should say. */
  readonly ownRecords?: boolean;
  readonly queue?: (queue: QueueBackend) => QueueBackend;
  readonly store?: (stores: Stores) => Stores;
  readonly settler?: (queue: QueueBackend) => JobSettler;
}

export function recordingBench(options: RecordingOptions) {
  const { ownRecords, queue, store, settler, ...appOptions } = options;
  const clock = createVirtualClock(startMs);
  const { stores: own, ...bare } = memory({ clock });
  const backend: QueueBackend = ownRecords ? { ...bare, stores: own! } : (queue?.(bare) ?? bare);
  const beside = memoryStore({ clock });
  const stores = store?.(beside) ?? beside;
  const events: LongshoreEvent[] = [];
  let ids = 0;
  const app = createApp({
    jobs: [],
    signing: ring,
    clock,
    random: () => 0.5,
    newId: () => `id-${++ids}`,
    on: (event) => events.push(event),
    ...appOptions,
  });
  const client = connect(app, backend, ownRecords ? {} : { store: stores });
  const ports = { client, settler: settler?.(backend) ?? backend };

  async function take(leaseMs = 60_000, from = 'default'): Promise<Run> {
    await bare.reapExpired(from);
    const [lease] = await bare.fetch({ queues: [from], max: 1, leaseMs, waitMs: 0 });
    if (!lease) throw new Error('Expected a ready message, found none.');
    return createRun(lease);
  }
  const run = (one: Run): Promise<AttemptResult> => attempt(app, ports, one);
  return {
    app,
    backend,
    client,
    clock,
    events,
    stores,
    take,
    run,
    next: async (): Promise<AttemptResult> => run(await take()),
    async record(id = 'id-1'): Promise<JobRecord> {
      const record = await client.status(id);
      if (!record) throw new Error(`Expected job ${id} to have a record, found none.`);
      return record;
    },
    failures: () => events.flatMap((event) => (event.type === 'store.failed' ? [event] : [])),
  };
}

export type RecordingBench = ReturnType<typeof recordingBench>;

/** The same stores with another write side. */
export function withWriter(stores: Stores, change: (writer: RecordWriter) => Partial<RecordWriter>): Stores {
  const { records } = stores;
  const writer = { ...records.writer!, ...change(records.writer!) };
  return { ...stores, records: { ...records, writer } };
}

export const failingWriter: RecordWriter = {
  enqueued: () => Promise.reject(new Error('the table is away')),
  started: () => Promise.reject(new Error('the table is away')),
  settled: () => Promise.reject(new Error('the table is away')),
};
