/** Keys, records, texts and the other stores in the table. */

import { systemClock } from '../../../core/base/clock.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { keyStore } from '../../../core/kit/records/keys.ts';
import { mostSlotsOfItem } from '../../../core/kit/records/limits.ts';
import { defaultRetention, type RecordTable, recordStore } from '../../../core/kit/records/store.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import { openTable } from './api.ts';
import { tableAudit } from './audit.ts';
import { purgeKeys, tableKeys } from './keys.ts';
import { tableMetrics } from './metrics.ts';
import type { TableStoreOptions } from './options.ts';
import { tableRecords } from './records.ts';
import { tableSchedules } from './schedules.ts';
import { purgeTexts, tableTexts } from './texts.ts';

/** All jobs that wait for a key are written with every change of it. */
const mostWaiters = 250;

export function openStores(options: TableStoreOptions): Stores & Required<Pick<Stores, 'close'>> {
  const { clock = systemClock } = options;
  const table = openTable(options);
  const retention = { ...defaultRetention, ...options.retention };
  const rows = tableRecords(table);
  /** Table storage has no expiry, so a purge removes keys and texts too. */
  const purge: RecordTable['purge'] = async (past, now) => {
    const work = [rows.purge(past, now), purgeKeys(table, now), purgeTexts(table, now)];
    return (await Promise.all(work)).reduce((sum, count) => sum + count, 0);
  };
  return {
    keys: keyStore(tableKeys(table), clock),
    records: recordStore({ ...rows, purge }, { clock, retention }),
    ...storesOf(tableTexts(table), clock, { mostSlots: mostSlotsOfItem, mostWaiters }),
    // Their own, because a transaction holds 100 rows of numbers, or a schedule and its place in time; over texts each would be a request.
    metrics: tableMetrics(table),
    schedules: tableSchedules(table),
    audit: tableAudit(table),
    close: async () => {}, // there is no connection to close
  };
}
