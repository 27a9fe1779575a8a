import { config } from '../../base/errors.ts';
import type { DeadLetters, QueueAdmin } from '../../contract/admin.ts';
import { queuesOn } from './backends.ts';
import type { Client } from './client.ts';

/** The administration of a backend. A broker that cannot list its queues gets the app's. Throws `CONFIG` if the backend has no administration. */
export function adminOf(client: Pick<Client, 'app' | 'backend' | 'name'>): QueueAdmin {
  const { app, backend, name } = client;
  if (backend.admin) {
    backend.admin.know?.(name === undefined ? app.queues : queuesOn(app, name));
    return backend.admin;
  }
  throw config(`Backend "${backend.name}" offers no administration. Use the broker's own tools.`);
}

export const deadLettersOf = (client: Parameters<typeof adminOf>[0]): DeadLetters =>
  adminOf(client).deadLetters;
