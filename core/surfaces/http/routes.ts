/** Which path and method means what; loaded with the first request that enqueues nothing. */

import { enqueueMany, enqueueOne } from './enqueue.ts';
import { emitEvent } from './events.ts';
import { changeJob, showResult } from './jobs.ts';
import { openApiOf } from './openapi.ts';
import { mayUse, type Run, routedOperations, runOf } from './operations.ts';
import { Refusal } from './problem.ts';
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
