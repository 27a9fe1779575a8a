import type { Client } from '../../../kernel/enqueue/client.ts';
import type { Operator } from '../../../operations/types.ts';
import type { Done } from '../api.ts';
import type { Endpoint, Run } from '../call.ts';

/** What an operator does to something with a name. @param find the name, or a refusal where there is no such thing */
export const change =
  (
    find: (endpoint: Endpoint, given: string) => string | Promise<string>,
    act: (operator: Operator, name: string, client: Client) => Promise<Done>,
  ): Run =>
  async (endpoint, { visitor, parameter }) => {
    const name = await find(endpoint, parameter);
    return act(await endpoint.operatorFor(visitor), name, endpoint.client);
  };
