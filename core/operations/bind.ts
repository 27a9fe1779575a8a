/** The methods of an operator, made from the records of operations. */

import { audited } from './audit.ts';
import type { OperatorHost } from './host.ts';
import { type Change, type Look, notThere, type Operation, outcomeOf, textOf } from './operation.ts';

type Method<One> =
  One extends Look<infer Args, infer Result>
    ? (...args: Args) => Promise<Result>
    : One extends Change<infer Args, infer _, infer Returned>
      ? (...args: Args) => Promise<Returned>
      : never;
export type Methods<Group> = { readonly [Name in keyof Group]: Method<Group[Name]> };

export const bind = <Group extends Readonly<Record<string, Operation>>>(
  host: OperatorHost,
  group: Group,
): Methods<Group> =>
  Object.fromEntries(
    Object.entries(group).map(([name, operation]) => [
      name,
      (...args: never) =>
        operation.action ? act(host, operation, args) : operation.run(host.client, ...(args as [])),
    ]),
  ) as Methods<Group>;

// biome-ignore lint/suspicious/noExplicitAny: what it takes and returns is its own
type AnyChange = Change<any, any, any>;

/** Throws `NOT_FOUND`. Without its subject there is no entry. */
async function act(host: OperatorHost, operation: AnyChange, args: readonly string[]): Promise<unknown> {
  const { client } = host;
  const { action, subject, run, returned } = operation;
  const [target = ''] = args;
  if (subject && !(await subject.find(client, target))) throw notThere(subject, target);
  return audited(host, action, target, async (record) => {
    const result: unknown = await run(client, ...args);
    const outcome = outcomeOf(result);
    if (subject && outcome === 'unknown') throw notThere(subject, target);
    if (outcome === 'nothing') record(0, textOf(operation, result));
    else record(typeof result === 'number' ? result : 1);
    return returned ? returned(result) : result;
  });
}
