import type { AuditLog } from '../../../core/contract/audit.ts';
import { auditLog } from '../../../core/kit/records/audit-log.ts';
import { cursorOf, wrongCursor } from '../../../core/kit/records/filter.ts';
import { scripts } from './scripts.ts';
import type { RedisState } from './state.ts';

export function redisAudit({ link, prefix }: Pick<RedisState, 'link' | 'prefix'>): AuditLog {
  const base = `${prefix}:{audit}`;
  return auditLog({
    add: ({ at, id }, text) =>
      link.run('writing the audit log', scripts.audit, base, ['add', `${at}`, id, text]),
    async read(before, max) {
      const args = ['read', before?.id ?? '', `${max}`];
      const texts = (await link.run('reading the audit log', scripts.audit, base, args)) as string[] | null;
      if (texts === null) throw wrongCursor(cursorOf(before!.at, before!.id));
      return texts;
    },
  });
}
