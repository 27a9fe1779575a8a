import type { AuditEntry } from '../../../core/contract/audit.ts';

export const auditEntry = (id: string, at: number): AuditEntry => ({
  id,
  at,
  operation: id,
  phase: 'done',
  actor: 'anna',
  from: 'cli build-1',
  action: 'dead.retry',
  target: 'all dead letters of queue mail',
  count: 3,
  note: null,
});
