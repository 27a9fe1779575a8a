/**
 * An operation as data. The operator with its audit entries, the HTTP routes and their OpenAPI document, the routes of the dashboard and
 * the commands are made from the same records: `table.ts` has all of them.
 */

import { LongshoreError } from '../base/errors.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import type { OperatorHost } from './audit.ts';
import type { Json, Shape } from './shapes.ts';
import type { OperatorAction } from './types.ts';

/** A caller must be allowed to see this job, and this tenant. What is left out is not asked for. */
export interface Owner {
  readonly job?: string;
  readonly tenantId?: string | null;
}

/** What a credential for HTTP must have. `all jobs`: it is bound to no jobs. `schedules`: it may make them. */
export type Need = 'all jobs' | 'schedules';

/** What an operation is given first: the id of a batch, the name of a queue. */
export interface Subject {
  /** As messages and the OpenAPI document call it: `batch`. */
  readonly noun: string;
  /** What stands for it in a path. */
  readonly parameter: 'id' | 'name';
  /** Its argument, for the help of a command. */
  readonly text: string;
  /** Of several backends those that have it; none = nobody knows. An operator does it on each. @default the client finds it */
  homes?(client: Client, given: string): readonly Client[] | Promise<readonly Client[]>;
  /** Those that there are, for a surface where a name may be mistyped. None = any is tried. */
  names?(client: Client, given: string): readonly string[] | Promise<readonly string[]>;
  /** Before an operator changes anything, or writes an entry. Throws for a value that cannot be meant. */
  check?(client: Client, given: string, ...more: readonly unknown[]): void | Promise<void>;
}

/** A subject that callers look at over HTTP. */
export interface Resource<Found = unknown> extends Subject {
  /** `null` = there is none, or it cannot be one. */
  find(client: Client, given: string): Promise<Found | null>;
  readonly needs?: Need;
  /** A caller must be allowed all of these; `null` = its owner is not known, so no caller is. */
  owners(found: Found): readonly Owner[] | null;
  /** What HTTP answers. Times are numbers, as everywhere inside; the shape makes texts of them. */
  readonly shape: Shape;
  /** @default it is sent as it was found */
  view?(found: Found, options: { readonly stacks: boolean }): unknown;
  /** Where a caller finds its ids or names. */
  readonly origin: string;
  /** What is answered where the queue keeps none of them. */
  readonly notKept?: readonly [status: 404 | 501, detail: string];
}

/** Something that not every queue can do. */
export interface Support {
  has(client: Client, id: string): Promise<boolean>;
  /** The problem's detail, with a 501. */
  readonly lack: string;
}

/** A member of a query. */
export type Input = { readonly text: string } & (
  | { readonly kind: 'text' }
  | { readonly kind: 'integer'; readonly least: number; readonly most?: number }
);

export interface HttpRoute<Result> {
  /** `POST /batches/{id}/cancel`. */
  readonly route: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;
  readonly operationId: string;
  /** @default the subject */
  readonly resource?: Resource;
  /** Of the answer, where `done` does not say it. */
  readonly description?: string;
  /** Statuses of refusals beside those that follow from the record. */
  readonly errors?: readonly (409 | 413 | 422)[];
  readonly support?: Support;
  readonly query?: Readonly<Record<string, Input>>;
  /** What it answers instead of the subject. */
  readonly answer?: {
    readonly shape: Shape;
    /** @default 200, and 202 for what a worker has to hear of first */
    readonly status?: 202;
    /** The members stand beside those of the subject as it is afterwards. */
    readonly beside?: true;
    of(result: NoInfer<Result>, given: string, basePath: string): Json;
  };
  /** The HTTP endpoint handles it itself. Then the record says what the OpenAPI document cannot know. */
  readonly byHand?: {
    readonly body?: Shape;
    readonly answers: Readonly<Partial<Record<200 | 201 | 202, readonly [description: string, Shape]>>>;
  };
}

interface Described {
  /** For people, as an infinitive: `Cancel the children of a batch that have not ended`. */
  readonly summary: string;
  /** Given as the first argument. */
  readonly subject?: Subject;
}

interface Run<Args extends readonly unknown[], Result> extends Described {
  /**
   * Of several backends the client finds the right one. HTTP gives a guard after the subject, for what may become somebody else's between
   * a look and the change.
   */
  run(client: Client, ...args: Args): Promise<Result>;
  /** Without it HTTP has no route, or writes one by hand. */
  readonly http?: HttpRoute<Result>;
  readonly perform?: never;
}

/** Looks at something. `null` = there is no such thing. */
export interface Look<Args extends readonly unknown[], Result> extends Run<Args, Result> {
  readonly action?: never;
  readonly done?: never;
  readonly later?: never;
  readonly nothing?: never;
}

/** Changes something, between two audit entries. */
export interface Change<Args extends readonly unknown[], Result, Returned> extends Run<Args, Result> {
  /** In the audit log. */
  readonly action: OperatorAction;
  /** In the audit log. @default the first argument */
  target?(args: NoInfer<Args>): string;
  /** What people read when it is done. */
  readonly done: string | ((result: NoInfer<Result>, target: string) => string);
  /** Instead of `done` where a worker has to hear of it first. */
  readonly later?: string;
  /** When it is too late to change it: a refusal, except for the operator. */
  readonly nothing?: string;
  /** When it was so before. That is no refusal. */
  readonly already?: string;
  /** For the audit log, where the result says more than its outcome. */
  entry?(result: NoInfer<Result>, args: NoInfer<Args>): readonly [count: number, note?: string];
  /** What the operator resolves with. @default the result */
  returned?(result: NoInfer<Result>): Returned;
  /** It may take longer than a request usually does. */
  readonly lasts?: true;
  /** An operator does it to each of a list. */
  readonly each?: true;
}

/** Does not fit between two entries that are written for it: it writes its own. */
export interface OwnEntries<Args extends readonly unknown[], Returned> extends Described {
  readonly action: OperatorAction;
  perform(host: OperatorHost, ...args: Args): Promise<Returned>;
  readonly lasts?: true;
}

// biome-ignore lint/suspicious/noExplicitAny: what it takes and returns is its own
export type AnyChange = Change<any, any, any>;
// biome-ignore lint/suspicious/noExplicitAny: as above
export type AnyLook = Look<any, any>;
// biome-ignore lint/suspicious/noExplicitAny: as above
export type Operation = AnyLook | AnyChange | OwnEntries<any, any>;

/** Keeps the types of one record. `run` comes before the members that are given its result. */
export const look = <const Args extends readonly unknown[], Result>(
  record: Look<Args, Result>,
): Look<Args, Result> => record;

export const change = <const Args extends readonly unknown[], Result, Returned = Result>(
  record: Change<Args, Result, Returned>,
): Change<Args, Result, Returned> => record;

/** What an operator does to each of a list of ids. */
export const changeEach = <Result>(
  record: Change<readonly [id: string], Result, Result>,
): Change<readonly [id: string], Result, Result> & { readonly each: true } => ({ ...record, each: true });

export const withOwnEntries = <const Args extends readonly unknown[], Returned>(
  record: OwnEntries<Args, Returned>,
): OwnEntries<Args, Returned> => record;

/** How a change went, by its result: client and operators say it in the same words everywhere. */
export type Outcome = 'done' | 'later' | 'nothing' | 'unknown';

export function outcomeOf(result: unknown): Outcome {
  if (result === false || result === 'finished') return 'nothing';
  if (result === 'cancelling') return 'later';
  return result === 'unknown' ? 'unknown' : 'done';
}

/** For people: what the change did, or why it did nothing. */
export function textOf(operation: AnyChange, result: unknown, target: string): string {
  const { done, later, nothing, already } = operation;
  const outcome = outcomeOf(result);
  const other = outcome === 'nothing' ? (nothing ?? already) : outcome === 'later' ? later : undefined;
  return other ?? (typeof done === 'string' ? done : done(result, target));
}

export const notThere = ({ noun }: Pick<Subject, 'noun'>, given: string): LongshoreError =>
  new LongshoreError('NOT_FOUND', `There is no ${noun} ${JSON.stringify(given.slice(0, 96))} here.`);

/** For `check`. Throws `NOT_FOUND`. */
export async function mustExist(resource: Resource, client: Client, given: string): Promise<void> {
  if (!(await resource.find(client, given))) throw notThere(resource, given);
}
