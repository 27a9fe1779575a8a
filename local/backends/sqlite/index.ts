/**
 * A queue in one SQLite file: embedded, durable, safe for several processes on one machine (not on a network
 * share). The row in the queue is also the record of the job, so the history costs no second write.
 */

import { randomBytes } from 'node:crypto';
import { checkInteger } from '../../../core/base/checks.ts';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Retention } from '../../../core/contract/store.ts';
import { createEndWatchers } from '../../../core/kit/records/end-watchers.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import { backendDefaults } from '../shared/defaults.ts';
import { probeKeys } from '../shared/probe.ts';
import { createWaiters } from '../shared/waiters.ts';
import { sqliteAdmin } from './admin.ts';
import { sqliteBatches } from './batches.ts';
import { openDatabase, type SqliteFileOptions } from './database.ts';
import { createEnqueue } from './enqueue.ts';
import { sqliteKeys } from './keys.ts';
import { createLeases, createSettler } from './leases.ts';
import { sqliteLimits } from './limits.ts';
import { createNarrowRows } from './narrow-rows.ts';
import { sqliteRecords } from './records.ts';
import type { SqliteState } from './state.ts';
import { sqliteTexts } from './texts.ts';
import { sqliteWaiting } from './waiting.ts';

export type { QueueBackend } from '../../../core/contract/queue.ts';
export type { Stores } from '../../../core/contract/store.ts';
export { type SqliteStoreOptions, sqliteStore } from './store.ts';

export interface SqliteOptions extends SqliteFileOptions {
  /** How long ended jobs are kept. @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  /** How much later a job is ranked per priority level, ms. @default 3_600_000 */
  readonly ageingMs?: number;
  /** How often an idle worker looks for jobs of other processes, ms. @default 5 */
  readonly pollMs?: number;
  /** Largest body of a job, bytes. A larger one is refused with `LIMIT`. @default 1_048_576 */
  readonly maxBodyBytes?: number;
  /** For tests. @default the system's clock */
  readonly clock?: Clock;
}

export function sqlite(pathOrOptions: string | SqliteOptions): QueueBackend {
  const options = typeof pathOrOptions === 'string' ? { path: pathOrOptions } : pathOrOptions;
  const { pollMs = 5, clock = systemClock, ageingMs = backendDefaults.ageingMs } = options;
  const { maxBodyBytes = backendDefaults.maxBodyBytes } = options;
  checkInteger('pollMs of sqlite()', pollMs, 1);
  checkInteger('ageingMs of sqlite()', ageingMs, 0);

  const waiters = createWaiters(clock);
  const db = openDatabase('sqlite()', options);
  const retention = { ...backendDefaults.retention, ...options.retention };
  const ends = createEndWatchers();
  const state: SqliteState = {
    db,
    clock,
    retention,
    ageingMs,
    narrowRows: createNarrowRows(db, retention, ageingMs, ends),
    ends,
    wake: () => waiters.wake(),
  };
  const keys = sqliteKeys(state);
  const limits = sqliteLimits(state);
  const texts = sqliteTexts(state);
  const batches = sqliteBatches(state);
  const leases = createLeases(state, () => randomBytes(12).toString('base64url'));
  let open = true;

  return {
    name: 'sqlite',
    ...(db.isInMemory && { inProcess: true as const }),
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    keepsOrder: () => true,
    stores: {
      keys,
      records: sqliteRecords(state, [keys, limits, texts, batches]),
      ...storesOf(texts, clock),
      limits,
      batches,
      migrate: async () => db.version, // done when the file was opened
    },
    admin: {
      ...sqliteAdmin(state, maxBodyBytes),
      probe: probeKeys(keys, clock),
      async diagnose(request) {
        const { sqliteDiagnosis } = await import('./diagnose.ts');
        return sqliteDiagnosis({ db, path: options.path, caller: 'sqlite()', retention }, request);
      },
    },
    ...createSettler(state, keys, leases),
    enqueue: createEnqueue(state, maxBodyBytes),
    pending: sqliteWaiting(state, maxBodyBytes),
    async reapExpired(queue) {
      let count = 0;
      // In steps, so that other processes and the jobs of this process run in between.
      for (let jobs = leases.reap(queue); jobs > 0; jobs = open ? leases.reap(queue) : 0) {
        count += jobs;
        await new Promise(setImmediate);
      }
      if (open) leases.heal(queue);
      return count;
    },

    async fetch({ queues, max, leaseMs, waitMs, signal }) {
      const until = clock.now() + waitMs;
      for (;;) {
        const now = clock.now();
        const found = leases.lease(queues, max, leaseMs, now);
        if (found.length > 0 || now >= until || signal?.aborted || !open) return found;
        // This process's enqueues wake it; it polls for those of other processes.
        const lookAt = Math.min(now + pollMs, leases.nextReadyAt(queues), until);
        await waiters.wait(Math.max(1, lookAt - now), signal);
        if (!open) return [];
      }
    },

    async close() {
      if (!open) return;
      open = false;
      waiters.wake();
      db.close();
    },
  };
}
