import type { Client } from '../../../kernel/enqueue/client.ts';
import {
  type ChangeName,
  changeNamed,
  createOperator,
  type Performed,
  perform,
} from '../../../operations/operator.ts';
import type { Operator } from '../../../operations/types.ts';
import { Refusal } from '../../http/problem.ts';
import type { Visitor } from '../access/identify.ts';
import type { Done } from '../api.ts';
import type { Run } from '../call.ts';
import { knownName, missing } from './query.ts';

/**
 * Makes a route of an operator's change. An unknown name is refused first.
 * @param more adds to the answer
 */
export const change =
  (
    name: ChangeName,
    more: (
      client: Client,
      target: string,
      done: Performed,
    ) => Partial<Done> | Promise<Partial<Done>> = () => ({}),
  ): Run =>
  async (endpoint, { visitor, parameter: target }) => {
    const { nothing, subject } = changeNamed(name);
    if (subject!.names) knownName(subject!.noun, target, await subject!.names(endpoint.client, target));
    const done = await perform(await endpoint.operatorFor(visitor), name, target);
    if (done.outcome === 'unknown') throw missing(subject!.noun, target);
    if (done.outcome === 'nothing' && nothing !== undefined) throw new Refusal(409, 'CONFLICT', done.text);
    return { message: done.text, ...(await more(endpoint.client, target, done)) };
  };

/** Adds the id of the job that was enqueued. */
export const withId = (_: Client, __: string, { result }: Performed): Partial<Done> => ({
  id: result as string,
});

/** Makes the operator of a visitor, with the actor and origin for the audit log. */
export const operators =
  (client: Client) =>
  async ({ actor, from }: Visitor): Promise<Operator> => {
    return createOperator(client, { actor, from: from === undefined ? 'dashboard' : `dashboard ${from}` });
  };
