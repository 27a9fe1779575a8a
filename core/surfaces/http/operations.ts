/** Routes that are made from the records of operations. */

import { LongshoreError, shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import { batch } from '../../operations/batches.ts';
import {
  type AnyChange,
  type AnyLook,
  type HttpRoute,
  type Input,
  look,
  type Need,
  type Operation,
  outcomeOf,
  type Resource,
  textOf,
} from '../../operations/operation.ts';
import { homesOf } from '../../operations/operator.ts';
import { job } from '../../operations/resources.ts';
import { type Json, shaped } from '../../operations/shapes.ts';
import { operations } from '../../operations/table.ts';
import type { Caller } from './auth.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { cursorsOf } from './cursors.ts';
import { Refusal } from './problem.ts';

export type Run = (endpoint: Endpoint, call: Call, parameter: string) => Promise<Answer>;

/** An operation with a route. The route's resource is set. */
export type RoutedOperation = (AnyChange | AnyLook) & {
  readonly http: HttpRoute<unknown> & {
    readonly method: string;
    readonly path: string;
    readonly resource: Resource;
  };
};

/** A client follows a job or a batch with `watch()`, so an operator does not need it. */
const eventsRoute = <Found>(
  subject: Resource<Found>,
  route: HttpRoute<Found>['route'],
  operationId: string,
) =>
  look({
    summary: `Follow a ${subject.noun} until its end`,
    subject,
    run: (client, id: string) => subject.find(client, id),
    http: {
      route,
      operationId,
      description: `Events: the ${subject.noun} each time it changed`,
      events: true,
    },
  });

const { get, result, ...jobs } = operations.jobs;
const groups = Object.values({
  ...operations,
  jobs: { get, result, watch: eventsRoute(job, 'GET /jobs/{id}/events', 'watchJob'), ...jobs },
  batches: { ...operations.batches, watch: eventsRoute(batch, 'GET /batches/{id}/events', 'watchBatch') },
});

export const routedOperations: readonly RoutedOperation[] = groups.flatMap((group) =>
  Object.values(group as Readonly<Record<string, Operation>>).flatMap((one) => {
    if (one.perform || !one.http) return [];
    const { route, resource = one.subject as Resource } = one.http;
    const [method = '', path = ''] = route.split(' ');
    return [{ ...one, http: { ...one.http, method, path, resource } }];
  }),
);

/** Checks a credential for a permission. `detail` is the message of the 403. */
const needs: Readonly<Record<Need, { has(caller: Caller): boolean; readonly detail: string }>> = {
  'all jobs': {
    has: ({ jobs }) => jobs === null,
    detail: 'This credential is limited to some jobs, so it cannot see batches. Use one without "jobs".',
  },
  schedules: {
    has: (caller) => caller.schedules,
    detail: 'This credential may not create schedules. Use one with "schedules".',
  },
};

export const mayUse = (caller: Caller, { needs: need }: Pick<Resource, 'needs'>): boolean =>
  need === undefined || needs[need].has(caller);

/** Throws 403. */
function checkCaller({ caller }: Call, resource: Pick<Resource, 'needs'>): void {
  if (!mayUse(caller, resource)) throw new Refusal(403, 'FORBIDDEN', needs[resource.needs!].detail);
}

/** Reads the arguments of an operation from a request. @param found `null` = the route may make it */
export type ReadBody = (
  endpoint: Endpoint,
  call: Call,
  id: string,
  found: unknown,
) => Promise<readonly unknown[]>;

const nothing: ReadBody = async () => [];

/** Makes the handler of an operation from its record. */
export function runOf(operation: RoutedOperation, read = nothing): Run {
  const { http, run } = operation;
  const { answer, creates, resource, support } = http;
  if (http.list !== undefined) return listOf(operation, http.list);
  return async (endpoint, call, id) => {
    const { client, basePath } = endpoint;
    checkCaller(call, resource);
    const found = creates ? null : await mine(endpoint, call, resource, id);
    if (!operation.action) return lookAt(endpoint, call, operation, id, found);
    await checkSupport(endpoint, support, id);
    let isThere = !creates;
    const guard = (now: unknown): void => {
      if (creates && !isMine(call, resource, now)) throw taken(id);
      if (!creates) checkMine(call, resource, id, now);
      isThere = true;
    };
    const given = await read(endpoint, call, id, found);
    const args = creates ? given : [id, ...given];
    const result: unknown = await asked(resource, async () => {
      const [home] = creates ? [client] : await homesOf(client, resource, id);
      return run(home!, ...args, guard);
    });
    const outcome = outcomeOf(result);
    if (outcome === 'unknown') throw unknown(resource, id);
    if (outcome === 'nothing' && operation.nothing !== undefined)
      throw tooLate(endpoint, http.path.split('/')[1]!, textOf(operation, result, id), id);
    const status = answer?.status ?? (isThere ? (outcome === 'later' ? 202 : 200) : 201);
    const own = answer?.of?.(result, id, basePath);
    if (answer && !answer.beside) return { status, body: own };
    const after = viewOf(endpoint, resource, await mine(endpoint, call, resource, id));
    return { status, body: { ...after, ...own } };
  };
}

async function lookAt(
  endpoint: Endpoint,
  call: Call,
  { http, run }: RoutedOperation,
  id: string,
  found: unknown,
): Promise<Answer> {
  const { client, basePath, resultTimeoutMs } = endpoint;
  const { answer, pending, query, resource } = http;
  const given = query ? queryOf(call.url, query, resultTimeoutMs) : {};
  let result = found;
  if (Object.keys(given).length > 0) {
    result = await asked(resource, () => run(client, id, { ...given, signal: call.request.signal }));
    checkMine(call, resource, id, result);
  }
  if (pending?.is(result)) {
    // Not 408 or 504: clients and proxies treat those as failures and repeat the request.
    const body = shaped(pending.shape.schema, pending.of(result, basePath));
    return { status: 202, body, headers: { 'retry-after': '1' } };
  }
  const body = answer ? shaped(answer.shape.schema, result) : viewOf(endpoint, resource, result);
  return { status: 200, body };
}

/** A page of the caller's own resources. Others are left out, so a page may have fewer than `max` and not be the last. */
function listOf({ http, run }: RoutedOperation, member: string): Run {
  const { answer, query = {}, resource } = http;
  return async (endpoint, call) => {
    checkCaller(call, resource);
    const { client } = endpoint;
    const page = queryOf(call.url, query) as { readonly after?: string };
    const cursors = cursorsOf(client.app.keyRing(), call.caller);
    const after = page.after === undefined ? {} : { after: cursors.open(page.after) };
    const result = (await asked(resource, () => run(client, { ...page, ...after }))) as Json & {
      readonly next: string | null;
    };
    const own = (result[member] as readonly unknown[])
      .filter((one) => isMine(call, resource, one))
      .map((one) => viewOf(endpoint, resource, one));
    const next = result.next === null ? null : cursors.seal(result.next);
    return { status: 200, body: shaped(answer!.shape.schema, { ...result, [member]: own, next }) };
  };
}

/** The members of the query. @param most the largest value of an integer that has no limit of its own */
export function queryOf(
  { searchParams }: URL,
  inputs: Readonly<Record<string, Input>>,
  most = Number.MAX_SAFE_INTEGER,
): Readonly<Record<string, string | number>> {
  const names = Object.keys(inputs);
  const found: Record<string, string | number> = {};
  for (const name of new Set(searchParams.keys())) {
    const input = Object.hasOwn(inputs, name) ? inputs[name]! : null;
    if (!input) throw wrong(`only ${names.join(' and ')} in the query`, shown(name), 'Remove it');
    const [text = '', ...others] = searchParams.getAll(name);
    if (others.length > 0) throw wrong(`${name} once in the query`, `${others.length + 1} of it`, 'Send one');
    if (input.kind === 'integer') {
      const { least, most: largest = most } = input;
      found[name] = Number(text);
      if (!/^\d{1,9}$/.test(text) || Number(text) < least || Number(text) > largest)
        throw wrong(
          `${name} in the query to be an integer from ${least} to ${largest}`,
          shown(text),
          'Leave it out for the default',
        );
    } else found[name] = text;
  }
  return found;
}

const wrong = (expected: string, got: string, remedy: string): Refusal =>
  new Refusal(400, 'OPTION', `Expected ${expected}, got ${got}. ${remedy}.`);

const taken = (name: string): Refusal =>
  new Refusal(409, 'CONFLICT', `Expected a name that is free, got ${shown(name)}. Choose another.`);

async function checkSupport(
  { client }: Endpoint,
  support: HttpRoute<unknown>['support'],
  id: string,
): Promise<void> {
  if (support && !(await support.has(client, id))) throw new Refusal(501, 'CONFIG', support.lack);
}

/** @param plural the first segment of its paths, like `jobs` */
const tooLate = ({ basePath }: Endpoint, plural: string, why: string, id: string): Refusal =>
  new Refusal(409, 'CONFLICT', `${why} GET ${basePath}/${plural}/${id} shows its state.`);

export const viewOf = <Found>({ stacks }: Endpoint, resource: Resource<Found>, found: Found): Json =>
  shaped(resource.shape.schema, resource.view ? resource.view(found, { stacks }) : found) as Json;

/** Throws the same 404 for a resource of another caller as for a missing one, so that guessing ids reveals nothing. */
export async function mine<Found>(
  { client }: Endpoint,
  call: Call,
  resource: Resource<Found>,
  id: string,
): Promise<Found> {
  checkCaller(call, resource);
  const found = await asked(resource, () => resource.find(client, id));
  checkMine(call, resource, id, found);
  return found!;
}

function checkMine<Found>(call: Call, resource: Resource<Found>, id: string, found: Found | null): void {
  if (found === null || !isMine(call, resource, found)) throw unknown(resource, id);
}

function isMine<Found>({ caller }: Call, resource: Resource<Found>, found: Found): boolean {
  const owners = resource.owners(found);
  if (!owners) return false;
  return owners.every(
    ({ job, tenantId }) =>
      (job === undefined || caller.jobs === null || caller.jobs.has(job)) &&
      (tenantId === undefined || caller.tenantId === null || caller.tenantId === tenantId),
  );
}

function unknown({ noun, parameter, origin }: Resource, given: string): Refusal {
  const detail = `There is no ${noun} with ${parameter} ${shown(given)}, or it is not yours. Check it: ${origin}.`;
  return new Refusal(404, 'NOT_FOUND', detail);
}

/** Maps errors of the stores to answers. An unexpected error becomes a backend error. */
async function asked<T>({ noun, notKept }: Resource, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof LongshoreError)) throw backendError(`an operation on a ${noun}`, error);
    if (error instanceof Refusal) throw error;
    const { code, message } = error;
    if (code === 'CONFIG' && notKept) {
      const [status, detail] = notKept;
      throw new Refusal(status, status === 404 ? 'NOT_FOUND' : 'CONFIG', detail, { cause: error });
    }
    if (code === 'BATCH' || code === 'CONFLICT')
      throw new Refusal(409, 'CONFLICT', message, { cause: error });
    // Messages of the cron and time zone libraries do not end with a full stop.
    if (code === 'OPTION')
      throw new Refusal(400, 'OPTION', message.replace(/[^.]$/, '$&.'), { cause: error });
    throw error;
  }
}
