import type { OutgoingMessage } from '../../../core/contract/queue.ts';

export function message(parts: Partial<OutgoingMessage> & { id: string }): OutgoingMessage {
  const defaults = { queue: 'default', job: 'test', body: '{}', priority: 5, notBefore: null, group: null };
  return { ...defaults, tenantId: null, ...parts };
}
