/** What every verb of an operator stands on. */

import { LongshoreError } from '../base/errors.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import type { OperatorIdentity } from './types.ts';

export interface OperatorHost {
  readonly client: Client;
  readonly identity: OperatorIdentity;
}

export const noDeadLetter = (id: string): LongshoreError =>
  new LongshoreError(
    'NOT_FOUND',
    `There is no dead letter ${JSON.stringify(id.slice(0, 128))} here. It may run again, or have been discarded.`,
  );
