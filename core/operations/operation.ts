/**
 * An operation as data. The operator with its audit entries, the HTTP routes and their OpenAPI document, the routes of the dashboard and
 * the commands are made from the same records: `table.ts` has all of them.
 */

import { LongshoreError } from '../base/errors.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import type { Json } from './shapes.ts';
import type { OperatorAction } from './types.ts';

/** A schema with the name that the OpenAPI document gives it. */
export interface NamedShape {
  readonly name: string;
  readonly schema: Json;
}

/** A caller must be allowed to see this job, and this tenant. What is left out is not asked for. */
export interface Owner {
  readonly job?: string;
  readonly tenantId?: string | null;
}

/** What a credential for HTTP must have. `all jobs`: it is bound to no jobs. */
export type Need = 'all jobs';

/** What an operation is about: a batch, a chain. */
export interface Subject<Found = unknown> {
  /** As messages and the OpenAPI document call it: `batch`. */
  readonly noun: string;
  /** What stands for it in a path. */
  readonly parameter: 'id' | 'name';
  /** Its argument, for the help of a command. */
  readonly text: string;
  /** `null` = there is none, or it cannot be one. */
  find(client: Client, given: string): Promise<Found | null>;
  readonly needs?: Need;
  /** A caller must be allowed all of these; `null` = its owner is not known, so no caller is. */
  owners(found: Found): readonly Owner[] | null;
  /** What HTTP answers. Times are numbers, as everywhere inside; the shape makes texts of them. */
  readonly shape: NamedShape;
  /** @default it is sent as it was found */
  view?(found: Found): unknown;
  /** Where a caller finds its ids or names. */
  readonly origin: string;
  /** The problem's detail where the queue keeps none of them. */
  readonly notKept: string;
}

/** One value beside the subject: a member of a query or a body, a flag of a command. */
export type Input = { readonly text: string } & (
  | { readonly kind: 'text' }
  | { readonly kind: 'integer'; readonly least: number; readonly most: number }
  | { readonly kind: 'choice'; readonly of: readonly string[] }
);

export interface HttpRoute<Result> {
  /** `POST /batches/{id}/cancel`. */
  readonly route: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;
  readonly operationId: string;
  /** For the OpenAPI document, where `done` is not one text. */
  readonly description?: string;
  /** Statuses of refusals beside those that follow from the record. */
  readonly errors?: readonly 409[];
  /** Beside the subject as it is afterwards. */
  readonly more?: { readonly shape: NamedShape; of(result: Result): Json };
}

interface Common<Args extends readonly unknown[], Result> {
  /** For people, as an infinitive: `Cancel the children of a batch that have not ended`. */
  readonly summary: string;
  /** Given as the first argument. */
  readonly subject?: Subject;
  /** Given as members of the last argument. */
  readonly input?: Readonly<Record<string, Input>>;
  /** Of several backends the client finds the right one. */
  run(client: Client, ...args: Args): Promise<Result>;
  /** The surfaces that have no route of their own for it. */
  readonly http?: HttpRoute<Result>;
}

/** Looks at something. `null` = there is no such thing. */
export interface Look<Args extends readonly unknown[], Result> extends Common<Args, Result> {
  readonly action?: never;
  readonly done?: never;
  readonly later?: never;
  readonly nothing?: never;
}

/** Changes something, between two audit entries. */
export interface Change<Args extends readonly [string, ...unknown[]], Result, Returned>
  extends Common<Args, Result> {
  /** In the audit log, whose target is the first argument. */
  readonly action: OperatorAction;
  /** What people read when it is done, and for a `result` that says so when it is not. */
  readonly done: string | ((result: Result) => string);
  /** Instead of `done` where a worker has to hear of it first. */
  readonly later?: string;
  /** When there was nothing to change: a refusal, except for the operator. */
  readonly nothing?: string;
  /** What the operator resolves with. @default the result */
  returned?(result: Result): Returned;
  /** It may take longer than a request usually does. */
  readonly lasts?: true;
}

// biome-ignore lint/suspicious/noExplicitAny: what they take and return differs
export type Operation = Look<any, any> | Change<any, any, any>;

/** Keeps the types of one record. */
export const look = <const Args extends readonly unknown[], Result>(
  record: Look<Args, Result>,
): Look<Args, Result> => record;

export const change = <const Args extends readonly [string, ...unknown[]], Result, Returned = Result>(
  record: Change<Args, Result, Returned>,
): Change<Args, Result, Returned> => record;

/** How a change went, by its result: client and operators say it in the same words everywhere. */
export type Outcome = 'done' | 'later' | 'nothing' | 'unknown';

export function outcomeOf(result: unknown): Outcome {
  if (result === false || result === 'finished') return 'nothing';
  if (result === 'cancelling') return 'later';
  return result === 'unknown' ? 'unknown' : 'done';
}

/** For people: what the change did, or why it did nothing. */
export function textOf<Result>(
  { done, later, nothing }: Pick<Change<[string], Result, unknown>, 'done' | 'later' | 'nothing'>,
  result: Result,
): string {
  const outcome = outcomeOf(result);
  if (outcome === 'nothing' && nothing !== undefined) return nothing;
  if (outcome === 'later' && later !== undefined) return later;
  return typeof done === 'string' ? done : done(result);
}

export const notThere = ({ noun }: Pick<Subject, 'noun'>, given: string): LongshoreError =>
  new LongshoreError('NOT_FOUND', `There is no ${noun} ${JSON.stringify(given.slice(0, 96))} here.`);
