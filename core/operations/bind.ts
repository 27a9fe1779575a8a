/** The methods of an operator, made from the records of operations. */

import type { Client } from '../kernel/enqueue/client.ts';
import { forEach } from '../kit/parallel.ts';
import { audited } from './audit.ts';
import type { OperatorHost } from './host.ts';
import {
  type AnyChange,
  type Change,
  type Look,
  notThere,
  type Operation,
  type OwnEntries,
  outcomeOf,
  type Subject,
  textOf,
} from './operation.ts';
import { selectionText } from './words.ts';

type Method<One> = One extends { readonly each: true; run(client: Client, id: string): Promise<infer Result> }
  ? (ids: readonly string[]) => Promise<Readonly<Record<string, Result>>>
  : One extends OwnEntries<infer Args, infer Returned>
    ? (...args: Args) => Promise<Returned>
    : One extends Look<infer Args, infer Result>
      ? (...args: Args) => Promise<Result>
      : One extends Change<infer Args, infer _, infer Returned>
        ? (...args: Args) => Promise<Returned>
        : never;
type Methods<Group> = { readonly [Name in keyof Group]: Method<Group[Name]> };

/** By groups. */
export const bind = <Groups extends Readonly<Record<string, Readonly<Record<string, Operation>>>>>(
  host: OperatorHost,
  groups: Groups,
): { readonly [Name in keyof Groups]: Methods<Groups[Name]> } =>
  mapped(groups, (group) => mapped(group, (operation) => methodOf(host, operation))) as never;

const mapped = <From, To>(members: Readonly<Record<string, From>>, to: (member: From) => To) =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, to(member)]));

function methodOf(host: OperatorHost, operation: Operation): (...args: readonly unknown[]) => unknown {
  if (operation.perform) return async (...args) => operation.perform(host, ...args);
  if (!operation.action) return async (...args) => operation.run(host.client, ...args);
  if (operation.each) return (ids) => actOnEach(host, operation, ids as readonly string[]);
  return (...args) => act(host, operation, args);
}

async function act(host: OperatorHost, operation: AnyChange, args: readonly unknown[]): Promise<unknown> {
  const { client } = host;
  const { action, subject, run, entry, returned } = operation;
  const target: string = operation.target?.(args) ?? String(args[0]);
  const homes = await homesOf(client, subject, args[0] as string);
  for (const home of homes) await subject?.check?.(home, ...(args as [string]));
  return audited(host, action, target, async (record) => {
    const results: unknown[] = [];
    for (const home of homes) results.push(await run(home, ...args));
    const result = sumOf(results);
    const outcome = outcomeOf(result);
    if (subject && outcome === 'unknown') throw notThere(subject, target);
    if (entry) record(...entry(result, args));
    else if (outcome === 'nothing') record(0, textOf(operation, result, target));
    else if (result !== undefined) record(typeof result === 'number' ? result : 1);
    return returned ? returned(result) : result;
  });
}

async function homesOf(
  client: Client,
  subject: Subject | undefined,
  given: string,
): Promise<readonly Client[]> {
  const homes = client.backends && (await subject?.homes?.(client, given));
  return homes?.length ? homes : [client];
}

/** What was done on each backend, as one result. */
function sumOf(results: readonly unknown[]): unknown {
  const [first] = results;
  if (typeof first === 'number') return (results as number[]).reduce((sum, one) => sum + one);
  return typeof first === 'boolean' ? results.includes(true) : first;
}

const atOnce = 16;

function actOnEach(
  host: OperatorHost,
  { action, run }: AnyChange,
  ids: readonly string[],
): Promise<Record<string, unknown>> {
  return audited(host, action, selectionText({ ids }, {}), async (record) => {
    const results: Record<string, unknown> = {};
    let count = 0;
    record(count);
    await forEach(
      new Set(ids),
      async (id) => {
        results[id] = await run(host.client, id);
        if (['done', 'later'].includes(outcomeOf(results[id]))) record(++count);
      },
      atOnce,
    );
    return results;
  });
}
