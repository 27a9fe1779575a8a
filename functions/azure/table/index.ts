/** Keys, records and workers in one table of Azure Table storage: an app on Azure needs no other database. */

import { systemClock } from '../../../core/base/clock.ts';
import { config, shown } from '../../../core/base/errors.ts';
import { withoutSeparators } from '../../../core/base/json.ts';
import type { AuditEntry, AuditLog } from '../../../core/contract/derived/audit.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { type AuditPosition, auditLog } from '../../../core/kit/records/audit-log.ts';
import { keyStore, textKeys } from '../../../core/kit/records/keys.ts';
import { backwards } from '../../../core/kit/records/sortable.ts';
import { defaultRetention, type RecordTable, recordStore } from '../../../core/kit/records/store.ts';
import { sectionOf } from '../../../core/kit/texts/section.ts';
import { mostSlotsOfItem, storesOf } from '../../../core/kit/texts/stores.ts';
import { checkStorage } from '../storage/access.ts';
import { auditPartition as partition, safe, textOf, textProperties } from './layout.ts';
import { tableMetrics } from './metrics.ts';
import { migrateTable } from './migrate.ts';
import { tableRecords } from './records.ts';
import { tableSchedules } from './schedules.ts';
import { openTable, type Table, type TableStoreOptions } from './sdk.ts';
import { purgeTexts, tableTexts } from './texts.ts';

export type { TableStoreOptions } from './sdk.ts';

/**
 * Opens no connection and loads no SDK before the first use. The table must exist: create it by `longshore migrate` or a template. Times are
 * read from the clocks of the processes, so the hosts' clocks should agree to the second.
 */
export function tableStore(options: TableStoreOptions): Stores & Required<Pick<Stores, 'migrate' | 'close'>> {
  const { table } = options;
  if (typeof table !== 'string' || !/^[A-Za-z][A-Za-z0-9]{2,62}$/.test(table)) {
    throw config(
      `tableStore() expects table to be 3 to 63 letters and digits, the first one a letter, got ${shown(table)}.`,
    );
  }
  checkStorage(options, 'tableStore()');
  return {
    ...openStores(options),
    migrate: () => migrateTable(options),
  };
}

/** Every change of a key writes all jobs that wait for it. */
const mostWaiters = 250;

export function openStores(options: TableStoreOptions): Stores & Required<Pick<Stores, 'close'>> {
  const { clock = systemClock } = options;
  const table = openTable(options);
  const retention = { ...defaultRetention, ...options.retention };
  const rows = tableRecords(table);
  const texts = tableTexts(table);
  /** Table storage has no expiry, so a purge removes keys and texts, too. */
  const purge: RecordTable['purge'] = async (past, now) => {
    const work = [rows.purge(past, now), purgeTexts(table, now)];
    return (await Promise.all(work)).reduce((sum, count) => sum + count, 0);
  };
  return {
    keys: keyStore(textKeys(sectionOf(texts, 'key/')), clock),
    records: recordStore({ ...rows, purge }, { clock, retention }),
    ...storesOf(texts, clock, { mostSlots: mostSlotsOfItem, mostWaiters }),
    // Not built on texts: one transaction holds 100 rows of metrics, or a schedule and its due time. With texts each row would be one request.
    metrics: tableMetrics(table),
    schedules: tableSchedules(table),
    audit: tableAudit(table),
    close: async () => {}, // no connection to close
  };
}

/** A write that collides with another one of the same entry is repeated. */
const mostTries = 5;
/** The most entries that one purge call removes. */
const stepSize = 100;

/** Reverses the order of ids: rows are read in ascending order, and the newest entry must come first. */
const idBackwards = (id: string): string =>
  `${Buffer.from(Buffer.from(id).map((byte) => 255 - byte)).toString('hex')}~`;
const entryRowOf = ({ at, id }: AuditPosition): string => `at:${backwards(at)}:${idBackwards(id)}`;

function tableAudit(table: Table): AuditLog {
  return auditLog({
    add: ({ at, id }, text) =>
      table.call('writing the audit log', async (api) => {
        const [idRow, entry] = [`id:${safe(id)}`, entryRowOf({ at, id })];
        const steps = [
          { create: { partitionKey: partition, rowKey: idRow, entry } },
          { create: { partitionKey: partition, rowKey: entry, ...textProperties(withoutSeparators(text)) } },
        ];
        // If two writers create the same rows at once, both may get the answer that the rows exist.
        for (let tries = 0; tries < mostTries; tries++)
          if ((await api.commit(partition, steps)) || (await api.get(partition, idRow))) return;
        throw new Error(`lost ${mostTries} races for the same entry`);
      }),
    read: (before, max) =>
      table.call('reading the audit log', async (api) => {
        // `!` sorts before all characters that can follow in a row's key.
        const from = before === null ? 'at:' : `${entryRowOf(before)}!`;
        return (await api.range({ partition, from, to: 'at;', max })).map(textOf);
      }),
    purge: (before) =>
      table.call('purging the audit log', async (api) => {
        const from = `at:${backwards(Math.ceil(before) - 1)}`;
        let count = 0;
        await forEach(await api.range({ partition, from, to: 'at;', max: stepSize }), async (entry) => {
          const { id } = JSON.parse(textOf(entry)) as AuditEntry;
          const rows = [`id:${safe(id)}`, entry.rowKey];
          if (
            await api.commit(
              partition,
              rows.map((remove) => ({ remove })),
            )
          )
            count++;
        });
        return count;
      }),
  });
}
