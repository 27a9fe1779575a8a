/** The audit log in the table. */

import { withoutSeparators } from '../../../core/base/json.ts';
import type { AuditEntry, AuditLog } from '../../../core/contract/audit.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { type AuditPosition, auditLog } from '../../../core/kit/records/audit-log.ts';
import type { Table } from './api.ts';
import { backwards, auditPartition as partition, safe, textOf, textProperties } from './layout.ts';

/** A write that meets another one of the same entry is sent again. */
const mostTries = 5;
/** One purge call removes at most so many entries. */
const stepSize = 100;

/** The later the id, the earlier the text: rows are read from first to last, and the newest entry comes first. */
const idBackwards = (id: string): string =>
  `${Buffer.from(Buffer.from(id).map((byte) => 255 - byte)).toString('hex')}~`;
const rowOf = ({ at, id }: AuditPosition): string => `at:${backwards(at)}:${idBackwards(id)}`;

export function tableAudit(table: Table): AuditLog {
  return auditLog({
    add: ({ at, id }, text) =>
      table.call('writing the audit log', async (api) => {
        const [idRow, entry] = [`id:${safe(id)}`, rowOf({ at, id })];
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
        const from = before === null ? 'at:' : `${rowOf(before)}!`;
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
