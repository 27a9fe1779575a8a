import type { AuditLog } from '../../../core/contract/audit.ts';
import { type AuditPosition, auditLog } from '../../../core/kit/records/audit-log.ts';

export function memoryAudit(): AuditLog {
  /** In order, the newest last. */
  const rows: (AuditPosition & { readonly text: string })[] = [];
  const ids = new Set<string>();
  return auditLog({
    async add(position, text) {
      if (ids.has(position.id)) return;
      ids.add(position.id);
      const i = rows.findLastIndex((row) => isBefore(row, position));
      rows.splice(i + 1, 0, { ...position, text });
    },
    async read(before, max) {
      const end = before === null ? rows.length : rows.findLastIndex((row) => isBefore(row, before)) + 1;
      return rows
        .slice(Math.max(0, end - max), end)
        .reverse()
        .map(({ text }) => text);
    },
    async purge(before) {
      const gone = rows.splice(0, rows.findLastIndex(({ at }) => at < before) + 1);
      for (const { id } of gone) ids.delete(id);
      return gone.length;
    },
  });
}

const isBefore = (a: AuditPosition, b: AuditPosition): boolean =>
  a.at < b.at || (a.at === b.at && a.id < b.id);
