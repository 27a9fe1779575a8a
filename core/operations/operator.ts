/** What people who run jobs do, in one place: the page, the command line and programs call the same verbs. */

import { config } from '../base/errors.ts';
import { faultOf, isKept } from '../base/text.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { bind } from './bind.ts';
import type { OperatorHost } from './host.ts';
import { type AnyChange, type Outcome, outcomeOf, textOf } from './operation.ts';
import { operations } from './table.ts';
import type { Operator, OperatorIdentity } from './types.ts';

/** Throws `CONFIG` unless `identity` says who acts and from where. */
export function createOperator(client: Client, identity: OperatorIdentity): Operator {
  const { actor, from } = identity;
  for (const [name, text] of Object.entries({ actor, from }))
    if (!isKept(text)) throw config(`createOperator() expects ${name} to be a text ${faultOf(text)}.`);
  const host: OperatorHost = { client, identity: { actor, from } };
  return {
    identity: host.identity,
    ...bind(host, operations),
    async audit(page = {}) {
      const { audit } = client.stores;
      if (audit) return audit.page(page);
      throw config(`Backend "${client.backend.name}" keeps no audit log. Give it a store that does.`);
    },
  };
}

/** `batches.cancel`: a change that is given one id or name. */
export type ChangeName = {
  [Group in keyof typeof operations]: `${Group}.${Extract<keyof (typeof operations)[Group], string>}`;
}[keyof typeof operations];

/** What a change came to. */
export interface Performed {
  /** What the operator resolves with. */
  readonly result: unknown;
  readonly outcome: Outcome;
  /** For people. */
  readonly text: string;
}

/** For a surface that offers a change under its name. */
export async function perform(operator: Operator, name: ChangeName, target: string): Promise<Performed> {
  const record = changeNamed(name);
  const [group = '', method = ''] = name.split('.');
  const methods = operator[group as keyof typeof operations] as unknown as Record<string, Method>;
  const given = await methods[method]!(record.each ? [target] : target);
  const result = record.each ? (given as Record<string, unknown>)[target] : given;
  return { result, outcome: outcomeOf(result), text: textOf(record, result, target) };
}

type Method = (given: unknown) => Promise<unknown>;

export function changeNamed(name: ChangeName): AnyChange {
  const [group = '', method = ''] = name.split('.');
  return (operations[group as keyof typeof operations] as Record<string, unknown>)[method] as AnyChange;
}
