import type { Client } from '../../kernel/enqueue/client.ts';
import type { Operator } from '../../operations/types.ts';
import type { Visitor } from './access/identify.ts';

/** Who acts, and from where, as the audit log shall name them. Loaded when somebody looks at dead letters or changes something. */
export const operators =
  (client: Client) =>
  async ({ actor, from }: Visitor): Promise<Operator> => {
    const { createOperator } = await import('../../operations/operator.ts');
    return createOperator(client, { actor, from: from === undefined ? 'dashboard' : `dashboard ${from}` });
  };
