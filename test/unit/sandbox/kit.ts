/** A real worker on the memory backend and the real clock: a blocked event loop and a killed process know no other. */

import { readFileSync } from 'node:fs';
import type { JobRecord } from '../../../core/contract/store.ts';
import { poolOf } from '../../../core/features/sandbox/host.ts';
import {
  type AppOptions,
  connect,
  createApp,
  type Job,
  keyRing,
  type LongshoreEvent,
  startWorker,
  type WorkerOptions,
} from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { heldTimers } from '../../kit/clocks.ts';
import { eventsIn } from '../../kit/events.ts';
import { until } from '../../kit/until.ts';

export function createBench(
  jobs: readonly Job[],
  options: Partial<WorkerOptions> = {},
  use: AppOptions['use'] = [],
) {
  const events: LongshoreEvent[] = [];
  const clock = heldTimers();
  const app = createApp({
    jobs,
    use,
    clock,
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    on: (event) => events.push(event),
  });
  const stored = memory();
  let renewals = 0;
  let reports = 0;
  const { records } = stored.stores!;
  const backend: typeof stored = {
    ...stored,
    stores: {
      ...stored.stores!,
      records: {
        ...records,
        progress(...report) {
          reports++;
          return records.progress(...report);
        },
      },
    },
    renew(leases, leaseMs) {
      renewals++;
      return stored.renew(leases, leaseMs);
    },
  };
  const client = connect(app, backend);
  const worker = startWorker(app, { backend, leaseMs: 2_000, drainMs: 100, ...options });
  return {
    app,
    backend,
    client,
    worker,
    events,
    /** How often the worker has renewed leases. */
    renewals: () => renewals,
    /** How often progress was written. */
    reports: () => reports,
    /** Has the timeouts come that are held. */
    timeOut: clock.fire,
    isolates: () => poolOf(app).all(),
    idle: () => poolOf(app).idle(),
    eventsOf: eventsIn(events),
    /** Enqueues, waits for the end and returns the record. */
    async run(job: Job, payload: unknown, how: object = {}): Promise<JobRecord> {
      const { id } = await client.enqueue(job, payload, how);
      return until(async () => {
        const record = await client.status(id);
        return record?.finishedAt == null ? null : record;
      });
    },
  };
}

/** Whether it runs. One that has ended keeps its id until its parent looks, and in a container that may be never. */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
