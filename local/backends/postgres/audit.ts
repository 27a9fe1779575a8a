import type { AuditLog } from '../../../core/contract/audit.ts';
import { auditLog } from '../../../core/kit/records/audit-log.ts';
import { removeSome } from './sql.ts';
import type { PostgresState } from './state.ts';

export function postgresAudit({ db }: Pick<PostgresState, 'db'>): AuditLog {
  const table = `${db.schema}.audit`;
  // Of any index: the table has two, and another writer may be seen in either first.
  const insert = `INSERT INTO ${table} (at, id, entry) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`;
  const select = `SELECT entry FROM ${table} WHERE (at, id) < ($1, $2) ORDER BY at DESC, id DESC LIMIT $3`;
  const remove = removeSome(table, 'ctid', 'at < $1 ORDER BY at');
  return auditLog({
    add: ({ at, id }, text) => db.query('writing the audit log', insert, [at, id, text]),
    async read(before, max) {
      const { at, id } = before ?? { at: Number.MAX_SAFE_INTEGER, id: '' };
      const rows = await db.query('reading the audit log', select, [at, id, max]);
      return rows.map(([entry]) => entry as string);
    },
    async purge(before) {
      const [row] = await db.query('purging the audit log', remove, [before]);
      return Number(row![0]);
    },
  });
}
