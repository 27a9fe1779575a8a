/** The operator: one set of methods for the dashboard, the command line and programs. */

import { config } from '../base/errors.ts';
import { faultOf, isKept } from '../base/text.ts';
import { eachOf } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { forEach } from '../kit/parallel.ts';
import { keepersOf } from '../routing/each.ts';
import { newestOf, type PageRequest } from '../routing/pages.ts';
import { audited, type OperatorHost, selectionText } from './audit.ts';
import {
  type AnyChange,
  type Change,
  type Look,
  notThere,
  type Operation,
  type Outcome,
  type OwnEntries,
  outcomeOf,
  type Subject,
  textOf,
} from './operation.ts';
import { operations } from './table.ts';
import type { Operator, OperatorIdentity } from './types.ts';

/** Throws `CONFIG` unless `actor` and `from` of `identity` are texts of 1 to 256 characters. */
export function createOperator(client: Client, identity: OperatorIdentity): Operator {
  const { actor, from } = identity;
  for (const [name, text] of Object.entries({ actor, from }))
    if (!isKept(text)) throw config(`createOperator() expects ${name} to be a text ${faultOf(text)}.`);
  const host: OperatorHost = { client, identity: { actor, from } };
  return {
    identity: host.identity,
    ...bind(host, operations),
    async audit(page = {}) {
      const keepers = keepersOf(eachOf(client), ({ stores }) => stores.audit);
      if (keepers.length === 0)
        throw config(`Backend "${client.backend.name}" keeps no audit log. Give it a store that does.`);
      const pageOf = async (one: Client, asked: PageRequest) => {
        const { entries, next } = await one.stores.audit!.page(asked);
        return { rows: entries, next };
      };
      const { rows: entries, ...rest } = await newestOf(keepers, page, pageOf, ({ at }) => at);
      return { entries, ...rest };
    },
  };
}

/** A change that takes one id or name, like `batches.cancel`. */
export type ChangeName = {
  [Group in keyof typeof operations]: `${Group}.${Extract<keyof (typeof operations)[Group], string>}`;
}[keyof typeof operations];

/** The result of a change. */
export interface Performed {
  /** The value that the operator's method resolved with. */
  readonly result: unknown;
  readonly outcome: Outcome;
  /** The message to show. */
  readonly text: string;
}

/** Calls the operator's method of this name. */
export async function perform(operator: Operator, name: ChangeName, target: string): Promise<Performed> {
  const record = changeNamed(name);
  const [group = '', method = ''] = name.split('.');
  const methods = operator[group as keyof typeof operations] as unknown as Record<
    string,
    (given: unknown) => Promise<unknown>
  >;
  const given = await methods[method]!(record.each ? [target] : target);
  const result = record.each ? (given as Record<string, unknown>)[target] : given;
  return { result, outcome: outcomeOf(result), text: textOf(record, result, target) };
}

export function changeNamed(name: ChangeName): AnyChange {
  const [group = '', method = ''] = name.split('.');
  return (operations[group as keyof typeof operations] as Record<string, unknown>)[method] as AnyChange;
}

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

const bind = <Groups extends Readonly<Record<string, Readonly<Record<string, Operation>>>>>(
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
    const failures: unknown[] = [];
    // A backend that does not answer must not keep the change from the others.
    for (const home of homes)
      await run(home, ...args).then(
        (one) => results.push(one),
        (error) => failures.push(error),
      );
    if (failures.length > 0) throw failures[0];
    const result = sumOf(results);
    const outcome = outcomeOf(result);
    if (subject && outcome === 'unknown') throw notThere(subject, target);
    if (entry) record(...entry(result, args));
    else if (outcome === 'nothing') record(0, textOf(operation, result, target));
    else if (result !== undefined) record(typeof result === 'number' ? result : 1);
    return returned ? returned(result) : result;
  });
}

/** The backends on which it acts; the whole client if the record finds them itself. */
export async function homesOf(
  client: Client,
  subject: Subject | undefined,
  given: string,
): Promise<readonly Client[]> {
  const homes = client.backends && (await subject?.homes?.(client, given));
  return homes?.length ? homes : [client];
}

/** Merges the results of several backends: counts add up, and one `true` is enough. */
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
