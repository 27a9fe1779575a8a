/**
 * Describes an operation as data. The operator and its audit entries, the HTTP routes and their OpenAPI document, the dashboard's routes
 * and the commands are all made from these records. `table.ts` lists them.
 */

import { LongshoreError } from '../base/errors.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import type { OperatorHost } from './audit.ts';
import type { Json, Shape } from './shapes.ts';
import type { OperatorAction } from './types.ts';

/** A caller needs access to this job and this tenant. A member that is missing is not checked. */
export interface Owner {
  readonly job?: string;
  readonly tenantId?: string | null;
}

/** A permission that an HTTP credential needs. `all jobs`: it is not limited to some jobs. `schedules`: it may create schedules. */
export type Need = 'all jobs' | 'schedules';

/** The thing that an operation works on. Its id or name is the first argument. */
export interface Subject {
  /** Its name in messages and in the OpenAPI document, like `batch`. */
  readonly noun: string;
  /** The name of its parameter in a path. */
  readonly parameter: 'id' | 'name';
  /** Describes the argument in the help of a command. */
  readonly text: string;
  /** The backends that have it; an operator acts on each. An empty list = not known. @default the client finds the backend */
  homes?(client: Client, given: string): readonly Client[] | Promise<readonly Client[]>;
  /** All existing names, so that a surface can refuse a mistyped one. Without it any name is tried. */
  names?(client: Client, given: string): readonly string[] | Promise<readonly string[]>;
  /** Runs before the operator changes anything or writes an audit entry. Throws for an invalid value. */
  check?(client: Client, given: string, ...more: readonly unknown[]): void | Promise<void>;
}

/** A subject that HTTP callers can read. */
export interface Resource<Found = unknown> extends Subject {
  /** `null` = it does not exist, or the id or name is malformed. */
  find(client: Client, given: string): Promise<Found | null>;
  readonly needs?: Need;
  /** A caller needs access to all of these. `null` = the owner is unknown, so no caller has access. */
  owners(found: Found): readonly Owner[] | null;
  /** Yields it each time it changed, until its end. */
  watch?(client: Client, given: string, signal: AbortSignal): AsyncIterable<Found>;
  hasEnded?(found: Found): boolean;
  /** The HTTP answer. `view` gives times as numbers (epoch ms); the shape turns them into RFC 3339 texts. */
  readonly shape: Shape;
  /** @default what `find` returned */
  view?(found: Found, options: { readonly stacks: boolean }): unknown;
  /** Tells the caller where to find ids or names. Part of a 404. */
  readonly origin: string;
  /** The answer if the queue has no store for them. */
  readonly notKept?: readonly [status: 404 | 501, detail: string];
}

/** A feature that not every queue has. */
export interface Support {
  has(client: Client, id: string): Promise<boolean>;
  /** The `detail` of the 501. */
  readonly lack: string;
}

/** A parameter in the query string. */
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
  /** Description of the answer in the OpenAPI document. @default `done` */
  readonly description?: string;
  /** Error statuses in addition to those that follow from the record. */
  readonly errors?: readonly (409 | 413 | 422)[];
  readonly support?: Support;
  /** The body of the request. The surface reads it, and passes it behind the subject. */
  readonly body?: Shape;
  /** It makes the resource if there is none: 201, and 409 if the name belongs to another caller. */
  readonly creates?: true;
  /** The member of the result with a page of resources. The caller gets those of its own. */
  readonly list?: string;
  /** A look of one thing gets its members as the second argument, with the `signal` of the request. */
  readonly query?: Readonly<Record<string, Input>>;
  /** Answers with server-sent events: the resource each time it changed, until its end. */
  readonly events?: true;
  /** Replaces the subject in the answer. */
  readonly answer?: {
    readonly shape: Shape;
    /** @default 200, or 202 if a worker has to act first */
    readonly status?: 202;
    /** Adds these members to those of the subject, read after the change. */
    readonly beside?: true;
    /** @default the result */
    of?(result: NoInfer<Result>, given: string, basePath: string): Json;
  };
  /** The answer to a look whose result is not there yet: 202, and to ask again. */
  readonly pending?: {
    readonly description: string;
    readonly shape: Shape;
    is(result: NoInfer<Result>): boolean;
    of(result: NoInfer<Result>, basePath: string): Json;
  };
}

interface Described {
  /** An imperative: `Cancel the children of a batch that have not ended`. */
  readonly summary: string;
  /** Its id or name is the first argument. */
  readonly subject?: Subject;
}

interface Run<Args extends readonly unknown[], Result> extends Described {
  /**
   * The client finds the right backend. HTTP passes a guard as the last argument, because the owner may change between the
   * check and the change.
   */
  run(client: Client, ...args: Args): Promise<Result>;
  /** Without it there is no HTTP route, or one is written by hand. */
  readonly http?: HttpRoute<Result>;
  readonly perform?: never;
}

/** Reads something. `null` = it does not exist. */
export interface Look<Args extends readonly unknown[], Result> extends Run<Args, Result> {
  readonly action?: never;
  readonly done?: never;
  readonly later?: never;
  readonly nothing?: never;
}

/** Changes something. An audit entry is written before and after it. */
export interface Change<Args extends readonly unknown[], Result, Returned> extends Run<Args, Result> {
  /** Its name in the audit log. */
  readonly action: OperatorAction;
  /** The target in the audit log. @default the first argument */
  target?(args: NoInfer<Args>): string;
  /** Message after success. */
  readonly done: string | ((result: NoInfer<Result>, target: string) => string);
  /** Message instead of `done` if a worker has to act first. */
  readonly later?: string;
  /** Message if it is too late for the change. Every surface but the operator treats this as an error. */
  readonly nothing?: string;
  /** Message if nothing had to change. Not an error. */
  readonly already?: string;
  /** Count and note for the audit log. @default they follow from the outcome */
  entry?(result: NoInfer<Result>, args: NoInfer<Args>): readonly [count: number, note?: string];
  /** The value that the operator resolves with. @default the result */
  returned?(result: NoInfer<Result>): Returned;
  /** It may take longer than a usual request. */
  readonly lasts?: true;
  /** The operator's method takes a list of ids and changes each. */
  readonly each?: true;
}

/** A change that writes its own audit entries. */
export interface OwnEntries<Args extends readonly unknown[], Returned> extends Described {
  readonly action: OperatorAction;
  perform(host: OperatorHost, ...args: Args): Promise<Returned>;
  readonly lasts?: true;
}

// biome-ignore lint/suspicious/noExplicitAny: each record has its own arguments and result
export type AnyChange = Change<any, any, any>;
// biome-ignore lint/suspicious/noExplicitAny: as above
export type AnyLook = Look<any, any>;
// biome-ignore lint/suspicious/noExplicitAny: as above
export type Operation = AnyLook | AnyChange | OwnEntries<any, any>;

/** Infers the types of one record. Write `run` before the members that use its result. */
export const look = <const Args extends readonly unknown[], Result>(
  record: Look<Args, Result>,
): Look<Args, Result> => record;

export const change = <const Args extends readonly unknown[], Result, Returned = Result>(
  record: Change<Args, Result, Returned>,
): Change<Args, Result, Returned> => record;

/** A change that the operator makes to each id of a list. */
export const changeEach = <Result>(
  record: Change<readonly [id: string], Result, Result>,
): Change<readonly [id: string], Result, Result> & { readonly each: true } => ({ ...record, each: true });

export const withOwnEntries = <const Args extends readonly unknown[], Returned>(
  record: OwnEntries<Args, Returned>,
): OwnEntries<Args, Returned> => record;

/** The outcome of a change. It follows from the result, because all changes use the same result values. */
export type Outcome = 'done' | 'later' | 'nothing' | 'unknown';

export function outcomeOf(result: unknown): Outcome {
  if (result === false || result === 'finished') return 'nothing';
  if (result === 'cancelling') return 'later';
  return result === 'unknown' ? 'unknown' : 'done';
}

/** The message for a result: what changed, or why nothing did. */
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
