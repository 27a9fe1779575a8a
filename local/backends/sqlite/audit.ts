import type { AuditLog } from '../../../core/contract/audit.ts';
import { auditLog } from '../../../core/kit/records/audit-log.ts';
import { stepSize } from './schema.ts';
import type { SqliteState } from './state.ts';

/** Statements are prepared when they are used: only operators need them. */
export function sqliteAudit({ db }: Pick<SqliteState, 'db'>): AuditLog {
  return auditLog({
    async add({ at, id }, text) {
      const insert = db.prepare(
        'INSERT INTO audit (at, id, entry) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING',
      );
      db.run('writing the audit log', () => insert.run(at, id, text));
    },
    async read(before, max) {
      const select = db.prepare(`
        SELECT entry FROM audit WHERE (at, id) < (?, ?) ORDER BY at DESC, id DESC LIMIT ?`);
      const { at, id } = before ?? { at: Number.MAX_SAFE_INTEGER, id: '' };
      const rows = db.run('reading the audit log', () => select.all(at, id, max));
      return rows.map(({ entry }) => entry as string);
    },
    async purge(before) {
      const remove = db.prepare(`
        DELETE FROM audit WHERE (at, id) IN (SELECT at, id FROM audit WHERE at < ? ORDER BY at LIMIT ${stepSize})`);
      return Number(db.run('purging the audit log', () => remove.run(before)).changes);
    },
  });
}
