import type { AuditEntry } from '../../../core/contract/derived/audit.ts';

export const auditEntry = (id: string, at: number, change: Partial<AuditEntry> = {}): AuditEntry => ({
  id,
  at,
  operation: `operation of ${id}`,
  phase: 'done',
  actor: 'anna',
  from: 'cli build-1',
  action: 'dead.retry',
  target: 'all dead letters of queue mail',
  count: 3,
  note: null,
  ...change,
});
