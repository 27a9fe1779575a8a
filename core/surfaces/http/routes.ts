/** The routing table, and the handlers that are not made from a record. Loaded with the first request that does not enqueue. */

import { shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import type { JobRecord } from '../../contract/store.ts';
import { emit } from '../../features/steps/emit.ts';
import type { EmitOptions } from '../../kernel/app/durable.ts';
import { eachOf } from '../../kernel/enqueue/backends.ts';
import { keeperOf } from '../../operations/resources.ts';
import { readJson } from './body.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { assertFlat, enqueueMany, enqueueOne, optionsOfChange, readMoment, rulesOf } from './enqueue.ts';
import { eventsOf } from './events.ts';
import { openApiOf } from './openapi.ts';
import { mayUse, type ReadBody, type Run, routedOperations, runOf } from './operations.ts';
import { Refusal, refusalOf } from './problem.ts';

type Methods = Readonly<Record<string, Run>>;

/** Readers of the operations with a `body`, by `operationId`. */
export const bodies: Readonly<Record<string, ReadBody>> = {
  changeJob: readChange,
  putSchedule: readSchedule,
};

const showDocument: Run = async ({ client, basePath, metrics }, { caller }) => {
  const jobs = [...client.app.jobs.values()].filter(({ name }) => caller.jobs?.has(name) !== false);
  const has = {
    operations: routedOperations.filter(({ http }) => mayUse(caller, http.resource)),
    events: caller.events && [...caller.events],
    metrics: metrics !== null && caller.jobs === null && caller.tenantId === null,
  };
  return { status: 200, body: openApiOf(jobs, basePath, has) };
};

/** Metrics of all jobs, for callers that may see all of them. */
const showMetrics: Run = async ({ metrics }, { caller }) => {
  if (caller.tenantId !== null || caller.jobs !== null) {
    throw new Refusal(
      403,
      'FORBIDDEN',
      'Metrics cover all jobs, so they need a credential without a tenant and without "jobs". Make one for your monitoring.',
    );
  }
  return { status: 200, body: await metrics!.text(), contentType: metrics!.contentType };
};

/** Handlers by path and method. A path has at most one parameter. */
export const routes: Record<string, Methods> = {
  '/jobs': { POST: enqueueMany },
  '/jobs/{id}': { POST: enqueueOne },
  '/events/{event}': { POST: emitEvent },
  '/metrics': { GET: showMetrics },
  '/openapi.json': { GET: showDocument },
};
for (const operation of routedOperations) {
  const { method, operationId, path } = operation.http;
  const run = operation.http.events ? eventsOf(operation) : runOf(operation, bodies[operationId]);
  routes[path] = { ...routes[path], [method]: run };
}

const inOrder = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

const table = Object.entries(routes).map(([path, methods]) => ({
  path: new RegExp(`^${path.replace('.', '\\.').replace(/\{\w+\}/, '([^/]+)')}$`),
  methods,
}));

/** `null` = no such path. @param path without the base path */
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

/** Reads a body: an object with no other members than these. */
async function bodyOf(
  { maxBodyBytes }: Endpoint,
  request: Request,
  what: string,
  form: string,
  members: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const body = await readJson(request, maxBodyBytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw unfit(`${form}, got ${shown(body)}`);
  const unknown = Object.keys(body).find((member) => !members.includes(member));
  if (unknown !== undefined) throw unfit(`only ${members.join(', ')} in ${what}, got ${shown(unknown)}`);
  return body as Readonly<Record<string, unknown>>;
}

const eventMembers = ['payload', 'key', 'keepMs'];

async function emitEvent(endpoint: Endpoint, call: Call, event: string): Promise<Answer> {
  const { caller, request } = call;
  // The answer does not reveal whether a job waits for the event.
  if (caller.events !== null && !caller.events.has(event)) {
    const detail = `Expected an event that this credential may emit, got ${shown(event)}. Ask for a credential with this event.`;
    throw new Refusal(403, 'FORBIDDEN', detail);
  }
  const form = `an object with any of ${eventMembers.join(', ')}`;
  const body = await bodyOf(endpoint, request, 'an event', form, eventMembers);
  const { payload, ...options } = body as { payload?: unknown } & EmitOptions;
  if (payload !== undefined) assertFlat(payload);
  if (caller.tenantId !== null && options.keepMs !== undefined)
    throw unfit(
      'no keepMs from a credential that is bound to a tenant, because kept events reach all tenants. Leave it out',
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

async function readChange(endpoint: Endpoint, call: Call, id: string, found: unknown) {
  const rules = rulesOf(endpoint, call, (found as JobRecord).job);
  const { limits } = (await keeperOf(endpoint.client, id)).backend;
  const body = await readJson(call.request, endpoint.maxBodyBytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const detail = `Expected an object with payload, delayMs, runAt or priority, got ${shown(body)}. GET /openapi.json describes the body.`;
    throw new Refusal(422, 'REQUEST', detail);
  }
  const { payload, ...options } = body as Record<string, unknown>;
  const change = optionsOfChange(options, { ...rules, limits });
  const hasPayload = Object.hasOwn(body, 'payload');
  if (hasPayload) assertFlat(payload);
  if (!hasPayload && Object.keys(change).length === 0) {
    const detail =
      'Expected at least one of payload, delayMs, runAt and priority, got none. Send what shall change.';
    throw new Refusal(400, 'OPTION', detail);
  }
  return [{ ...change, ...(hasPayload && { payload }) }];
}

const scheduleMembers = [
  'job',
  'payload',
  'cron',
  'everyMs',
  'timezone',
  'overlap',
  'missed',
  'until',
  'limit',
];

/** The definition, with the tenant and the actor of the caller. */
async function readSchedule(endpoint: Endpoint, call: Call, name: string) {
  const form = 'a schedule { "job", "payload", "cron" or "everyMs" }';
  const body = await bodyOf(endpoint, call.request, 'a schedule', form, scheduleMembers);
  assertJson(body, 'schedule');
  const { job: jobName, until: end, ...definition } = body;
  if (typeof jobName !== 'string') throw unfit(`"job" to be the name of a job, got ${shown(jobName)}`);
  const { job } = rulesOf(endpoint, call, jobName);
  const { tenantId, actorId } = call.caller;
  const context = { ...(tenantId !== null && { tenantId }), ...(actorId !== null && { actorId }) };
  const until = end === undefined ? undefined : readMoment(end);
  if (until === null)
    throw unfit(`"until" to be a moment like 2026-01-31T12:00:00Z (RFC 3339), got ${shown(end)}`);
  const more = { ...(until && { until }), ...(Object.keys(context).length > 0 && { context }) };
  return [{ ...definition, name, job, ...more }];
}

const unfit = (expected: string): Refusal => new Refusal(422, 'REQUEST', `Expected ${expected}.`);
