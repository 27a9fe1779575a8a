/** Keys, records, texts and the other stores in the table. */

import { systemClock } from '../../../core/base/clock.ts';
import { withoutSeparators } from '../../../core/base/json.ts';
import type { AuditEntry, AuditLog } from '../../../core/contract/audit.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { type AuditPosition, auditLog } from '../../../core/kit/records/audit-log.ts';
import { endOf, type KeyTable, keyStore, type StoredKey } from '../../../core/kit/records/keys.ts';
import { backwards } from '../../../core/kit/records/sortable.ts';
import { defaultRetention, type RecordTable, recordStore } from '../../../core/kit/records/store.ts';
import { mostSlotsOfItem, storesOf } from '../../../core/kit/texts/stores.ts';
import { openTable, type Table } from './api.ts';
import { type Expiring, purgeExpired, readExpiring, removeExpiring, writeExpiring } from './expiry.ts';
import {
  keyPartition,
  keyPartitions,
  auditPartition as partition,
  safe,
  textOf,
  textProperties,
} from './layout.ts';
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

const during = 'writing a key';

const rowOf = (key: string): string => `key:${safe(key)}`;

const expiringOf = (partition: string, row: string, text: string): Expiring => ({
  ...{ partition, row, text },
  endsAt: endOf(JSON.parse(text) as StoredKey),
});

function tableKeys(table: Table): KeyTable {
  return {
    async read(key) {
      const found = await table.call(during, (api) => readExpiring(api, keyPartition(key), rowOf(key)));
      return found && { stored: JSON.parse(found.text), version: found.version };
    },
    write: (key, stored, over) =>
      table.call(during, (api) =>
        writeExpiring(api, expiringOf(keyPartition(key), rowOf(key), JSON.stringify(stored)), over),
      ),
    remove: (key, version) =>
      table.call(during, (api) => removeExpiring(api, keyPartition(key), rowOf(key), version)),
  };
}

/** Removes keys past their time; returns how many. Bounded. */
const purgeKeys = (table: Table, now: number): Promise<number> =>
  purgeExpired(
    table,
    keyPartitions,
    (found) => expiringOf(found.partitionKey, found.rowKey, textOf(found)),
    now,
  );

/** A write that meets another one of the same entry is sent again. */
const mostTries = 5;
/** One purge call removes at most so many entries. */
const stepSize = 100;

/** The later the id, the earlier the text: rows are read from first to last, and the newest entry comes first. */
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
        // Two that create the same rows at once may both be told that these are there already.
        for (let tries = 0; tries < mostTries; tries++)
          if ((await api.commit(partition, steps)) || (await api.get(partition, idRow))) return;
        throw new Error(`lost ${mostTries} races for the same entry`);
      }),
    read: (before, max) =>
      table.call('reading the audit log', async (api) => {
        // `!` comes before all that a row's key may go on with.
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
