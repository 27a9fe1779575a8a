/** Loaded with the first key, record or heartbeat. */

import { systemClock } from '../../../core/base/clock.ts';
import { keyStore } from '../../../core/kit/records/keys.ts';
import type { OpenStores } from '../../../core/kit/records/lazy-stores.ts';
import { defaultRetention, type RecordTable, recordStore } from '../../../core/kit/records/store.ts';
import { openTable } from './api.ts';
import { tableKeys } from './keys.ts';
import type { TableStoreOptions } from './options.ts';
import { tableRecords } from './records.ts';
import { tableWorkers } from './workers.ts';

export function openStores(options: TableStoreOptions): OpenStores {
  const { clock = systemClock } = options;
  const table = openTable(options);
  const retention = { ...defaultRetention, ...options.retention };
  const [rows, keys, workers] = [tableRecords(table), tableKeys(table), tableWorkers(table)];
  /** Table storage has no expiry, so a purge removes keys and workers too. */
  const swept: RecordTable = {
    ...rows,
    async purge(past, now) {
      const [records, ended] = await Promise.all([
        rows.purge(past, now),
        keys.purge(now),
        workers.purge(now),
      ]);
      return records + ended;
    },
  };
  const records = recordStore(swept, { clock, retention });
  return {
    keys: keyStore(keys, clock),
    records,
    writer: records.writer,
    workers,
    close: async () => {}, // there is no connection to close
  };
}
