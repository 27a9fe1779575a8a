/** State in Postgres 13 or newer, for queues that keep none. The schema may be that of a Postgres queue. */

import { type Clock, systemClock } from '../../../core/base/clock.ts';
import type { Retention, Stores } from '../../../core/contract/store.ts';
import { recordStore } from '../../../core/kit/records/store.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import { backendDefaults } from '../shared/defaults.ts';
import { postgresBatches } from './batches.ts';
import { type DatabaseOptions, openDatabase } from './database.ts';
import { postgresEnds } from './ends.ts';
import { postgresKeys } from './keys.ts';
import { postgresLimits } from './limits.ts';
import { postgresMetrics } from './metrics.ts';
import { storedRecords } from './stored-records.ts';
import { postgresTexts } from './texts.ts';

export interface PostgresStoreOptions extends DatabaseOptions {
  /** @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  /** Whether those who wait for results may keep a connection for LISTEN, of a pool with 5 or more. @default true */
  readonly listen?: boolean;
  /** For tests, also of the keys. @default the process's for records, the database's for keys */
  readonly clock?: Clock;
}

export function postgresStore(
  urlOrOptions: string | PostgresStoreOptions,
): Stores & Required<Pick<Stores, 'migrate' | 'diagnose' | 'close'>> {
  const options = typeof urlOrOptions === 'string' ? { url: urlOrOptions } : urlOrOptions;
  const { clock = systemClock, listen = true, retention } = options;
  const db = openDatabase(options, 'postgresStore()');
  const state = { db, clock, at: () => (options.clock ? clock.now() : null) };
  const ends = postgresEnds(state, listen);
  let open = true;
  return {
    keys: postgresKeys(state),
    records: recordStore(storedRecords(state, ends), { clock, retention }),
    ...storesOf(postgresTexts(state), clock),
    metrics: postgresMetrics(state),
    limits: postgresLimits(state),
    batches: postgresBatches(state),
    migrate: () => db.migrate(),
    async diagnose(request) {
      const { postgresDiagnosis } = await import('./diagnose.ts');
      const kept = { ...backendDefaults.retention, ...retention };
      return postgresDiagnosis({ db, caller: 'postgresStore()', retention: kept, channel: null }, request);
    },
    async close() {
      if (!open) return;
      open = false;
      await ends?.close();
      await db.close();
    },
  };
}
