/** What every verb of an operator stands on. */

import { config, LongshoreError } from '../base/errors.ts';
import type { DeadLetters, QueueAdmin } from '../contract/admin.ts';
import type { Client } from '../enqueue/client.ts';
import type { OperatorIdentity } from './types.ts';

export interface OperatorHost {
  readonly client: Client;
  readonly identity: OperatorIdentity;
}

/** Throws `CONFIG` where the broker has to be asked with its own tools. */
export function adminOf({ backend }: Pick<Client, 'backend'>): QueueAdmin {
  if (backend.admin) return backend.admin;
  throw config(`Backend "${backend.name}" offers no administration. Use the broker's own tools.`);
}

export const deadLettersOf = (client: Pick<Client, 'backend'>): DeadLetters => adminOf(client).deadLetters;

export const noDeadLetter = (id: string): LongshoreError =>
  new LongshoreError(
    'NOT_FOUND',
    `There is no dead letter ${JSON.stringify(id.slice(0, 128))} here. It may run again, or have been discarded.`,
  );
