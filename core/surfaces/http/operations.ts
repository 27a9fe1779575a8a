/** Routes that are made from the records of operations. */

import { LongshoreError, shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import {
  type AnyChange,
  type AnyLook,
  type HttpRoute,
  type Need,
  type Operation,
  outcomeOf,
  type Resource,
  textOf,
} from '../../operations/operation.ts';
import { shaped } from '../../operations/shapes.ts';
import { operations } from '../../operations/table.ts';
import type { Caller } from './auth.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { Refusal } from './problem.ts';

export type Run = (endpoint: Endpoint, call: Call, parameter: string) => Promise<Answer>;

export type RoutedOperation = (AnyChange | AnyLook) & {
  readonly http: HttpRoute<unknown>;
  readonly subject: Resource;
};

export const routedOperations: readonly RoutedOperation[] = Object.values(operations).flatMap((group) =>
  Object.values(group as Readonly<Record<string, Operation>>).filter(
    (one): one is RoutedOperation => 'http' in one,
  ),
);

/** `{ '/batches/{id}': { GET: … } }`. */
export function operationRoutes(): Record<string, Record<string, Run>> {
  const found: Record<string, Record<string, Run>> = {};
  for (const operation of routedOperations) {
    const [method = '', path = ''] = operation.http.route.split(' ');
    found[path] = { ...found[path], [method]: runOf(operation) };
  }
  return found;
}

/** What a credential lacks that may not use an operation. */
const needs: Readonly<Record<Need, { has(caller: Caller): boolean; readonly detail: string }>> = {
  'all jobs': {
    has: ({ jobs }) => jobs === null,
    detail:
      'Expected a credential that is bound to no jobs, got one that is. Ask for one without "jobs" to see batches.',
  },
};

export const mayUse = (caller: Caller, { subject }: Pick<RoutedOperation, 'subject'>): boolean =>
  subject.needs === undefined || needs[subject.needs].has(caller);

function runOf(operation: RoutedOperation): Run {
  const { http, subject, run } = operation;
  return async (endpoint, call, id) => {
    const view = async () => {
      const found = await mine(endpoint, call, subject, id);
      return shaped((http.more?.shape ?? subject.shape).schema, {
        ...((subject.view?.(found) ?? found) as object),
        ...more,
      });
    };
    let more = {};
    if (!operation.action) return { status: 200, body: await view() };
    await mine(endpoint, call, subject, id);
    const result: unknown = await asked(subject, () => run(endpoint.client, id));
    const outcome = outcomeOf(result);
    if (outcome === 'unknown') throw unknown(subject, id);
    if (outcome === 'nothing') throw new Refusal(409, 'CONFLICT', textOf(operation, result, id));
    more = http.more?.of(result) ?? {};
    return { status: outcome === 'later' ? 202 : 200, body: await view() };
  };
}

/** Another's is answered like one that does not exist: an id must not be worth guessing. */
async function mine<Found>(
  { client }: Endpoint,
  { caller }: Call,
  subject: Resource<Found>,
  id: string,
): Promise<Found> {
  if (!mayUse(caller, { subject })) throw new Refusal(403, 'FORBIDDEN', needs[subject.needs!].detail);
  const found = await asked(subject, () => subject.find(client, id));
  const isMine = (job: string | undefined, tenantId: string | null | undefined): boolean =>
    (job === undefined || caller.jobs === null || caller.jobs.has(job)) &&
    (tenantId === undefined || caller.tenantId === null || caller.tenantId === tenantId);
  const owners = found && subject.owners(found);
  if (found && owners?.every(({ job, tenantId }) => isMine(job, tenantId))) return found;
  throw unknown(subject, id);
}

function unknown({ noun, origin }: Resource, id: string): Refusal {
  const detail = `Expected the id of a ${noun} that is still kept and yours, got ${shown(id)}. Check it: ${origin}.`;
  return new Refusal(404, 'NOT_FOUND', detail);
}

/** A failure of the store that is no answer to the caller becomes one of the backend. */
async function asked<T>({ noun, notKept }: Resource, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof LongshoreError)) throw backendError(`an operation on a ${noun}`, error);
    if (error.code === 'CONFIG') throw new Refusal(501, 'CONFIG', notKept, { cause: error });
    if (error.code === 'BATCH') throw new Refusal(409, 'CONFLICT', error.message, { cause: error });
    throw error;
  }
}
