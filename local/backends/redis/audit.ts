import type { AuditLog } from '../../../core/contract/audit.ts';
import { auditLog } from '../../../core/kit/records/audit-log.ts';
import { scripts } from './scripts.ts';
import type { RedisState } from './state.ts';

/** One purge call removes at most so many. */
const stepSize = 1_000;

export function redisAudit({ link, prefix }: Pick<RedisState, 'link' | 'prefix'>): AuditLog {
  const call = (during: string, ...args: readonly string[]) =>
    link.run(`${during} the audit log`, scripts.audit, `${prefix}:{audit}`, args);
  return auditLog({
    add: ({ at, id }, text) => call('writing', 'add', `${at}`, id, text),
    read: (before, max) => call('reading', 'read', before?.id ?? '', `${max}`) as Promise<string[]>,
    purge: (before) => call('purging', 'purge', `${before}`, `${stepSize}`) as Promise<number>,
  });
}
