/** Which path and method means what; loaded with the first request that enqueues nothing. */

import { shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import { emit } from '../../features/steps/emit.ts';
import type { EmitOptions } from '../../kernel/app/durable.ts';
import { eachOf } from '../../kernel/enqueue/backends.ts';
import { readJson } from './body.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { assertFlat, enqueueMany, enqueueOne } from './enqueue.ts';
import { changeJob, showResult } from './jobs.ts';
import { openApiOf } from './openapi.ts';
import { mayUse, type Run, routedOperations, runOf } from './operations.ts';
import { Refusal, refusalOf } from './problem.ts';
import { listSchedules, putSchedule } from './schedules.ts';

type Methods = Readonly<Record<string, Run>>;

/** By `operationId`: of the operations that HTTP handles itself. */
export const byHand: Methods = { changeJob, getResult: showResult, listSchedules, putSchedule };

const showDocument: Run = async ({ client, basePath, metrics }, { caller }) => {
  const jobs = [...client.app.jobs.values()].filter(({ name }) => caller.jobs?.has(name) !== false);
  const has = {
    operations: routedOperations.filter(({ http }) => mayUse(caller, http.resource)),
    events: caller.events && [...caller.events],
    metrics: metrics !== null && caller.jobs === null && caller.tenantId === null,
  };
  return { status: 200, body: openApiOf(jobs, basePath, has) };
};

/** The numbers of all jobs, for callers that may see all of them. */
const showMetrics: Run = async ({ metrics }, { caller }) => {
  if (caller.tenantId !== null || caller.jobs !== null) {
    throw new Refusal(
      403,
      'FORBIDDEN',
      'Expected a credential that is bound to no tenant and to no jobs, got another one. Metrics are about all jobs: make a credential for your monitoring.',
    );
  }
  return { status: 200, body: await metrics!.text(), contentType: metrics!.contentType };
};

/** A path as `GET /openapi.json` describes it, with at most one parameter. `{id}` of a job stands there for each job. */
export const routes: Record<string, Methods> = {
  '/jobs': { POST: enqueueMany },
  '/jobs/{id}': { POST: enqueueOne },
  '/events/{event}': { POST: emitEvent },
  '/metrics': { GET: showMetrics },
  '/openapi.json': { GET: showDocument },
};
for (const operation of routedOperations) {
  const { method, operationId, path } = operation.http;
  routes[path] = { ...routes[path], [method]: byHand[operationId] ?? runOf(operation) };
}

const inOrder = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

const table = Object.entries(routes).map(([path, methods]) => ({
  path: new RegExp(`^${path.replace('.', '\\.').replace(/\{\w+\}/, '([^/]+)')}$`),
  methods,
}));

/** `null`: no such path. The path comes without the base path. */
export function match(path: string, method: string, hasMetrics: boolean) {
  for (const route of table) {
    if (route.methods.GET === showMetrics && !hasMetrics) continue;
    const found = route.path.exec(path);
    if (!found) continue;
    const { methods } = route;
    const named = inOrder.filter((name) => Object.hasOwn(methods, name === 'HEAD' ? 'GET' : name));
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    return { allow: [...named, 'OPTIONS'].join(', '), run, parameter: found[1] ?? '' };
  }
  return null;
}

const members = ['payload', 'key', 'keepMs'];

async function emitEvent(endpoint: Endpoint, call: Call, event: string): Promise<Answer> {
  const { caller, request } = call;
  // Says nothing of whether somebody waits for it.
  if (caller.events !== null && !caller.events.has(event)) {
    const detail = `Expected an event that this credential may emit, got ${shown(event)}. Ask for a credential with this event.`;
    throw new Refusal(403, 'FORBIDDEN', detail);
  }
  const body = await readJson(request, endpoint.maxBodyBytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw unfit(`an object with any of ${members.join(', ')}, got ${shown(body)}`);
  const unknown = Object.keys(body).find((member) => !members.includes(member));
  if (unknown !== undefined) throw unfit(`only ${members.join(', ')} in an event, got ${shown(unknown)}`);
  const { payload, ...options } = body as { payload?: unknown } & EmitOptions;
  if (payload !== undefined) assertFlat(payload);
  if (caller.tenantId !== null && options.keepMs !== undefined)
    throw unfit(
      'no keepMs from a credential that is bound to a tenant, because what is kept belongs to all tenants. Leave it out',
    );
  const clients = eachOf(endpoint.client);
  if (!clients.some(({ stores }) => stores.steps)) {
    const detail = 'Expected a path of this API, got /events, because no store here keeps the steps of jobs.';
    throw new Refusal(404, 'NOT_FOUND', detail);
  }
  const reached = await emit(clients, event, payload, options, caller.tenantId).catch((cause) => {
    const refusal = refusalOf(cause);
    throw refusal.status < 500 ? refusal : backendError('emitting an event', cause);
  });
  return { status: 200, body: { event, reached } };
}

function unfit(expected: string): Refusal {
  return new Refusal(422, 'REQUEST', `Expected ${expected}.`);
}
