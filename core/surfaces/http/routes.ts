/** Which path and method means what. */

import { enqueueMany, enqueueOne } from './enqueue.ts';
import { showMetrics } from './metrics.ts';
import { mayUse, operationRoutes, type Run, routedOperations } from './operations.ts';
import { Refusal } from './problem.ts';
import { cancelJob, showJob } from './records.ts';

type Methods = Readonly<Record<string, Run>>;

/** What few callers need is loaded with the first request for it. */
const waiting =
  (verb: keyof typeof import('./waiting.ts')): Run =>
  async (...call) =>
    (await import('./waiting.ts'))[verb](...call);

const showResult: Run = async (...call) => (await import('./result.ts')).showResult(...call);

/** Loaded with the first request for schedules: most endpoints have none. */
function onSchedules(pick: (it: typeof import('./schedules.ts')) => Run): Run {
  return async (...asked) => pick(await import('./schedules.ts'))(...asked);
}

/** A path as `GET /openapi.json` describes it, with at most one parameter. `{name}` of a job stands there for each job. */
export const routes: Readonly<Record<string, Methods>> = {
  '/jobs': { POST: enqueueMany },
  '/jobs/{id}': { GET: showJob, POST: enqueueOne, PATCH: waiting('changeJob'), DELETE: cancelJob },
  '/jobs/{id}/result': { GET: showResult },
  '/jobs/{id}/promote': { POST: waiting('promoteJob') },
  '/jobs/{id}/remove': { POST: waiting('removeJob') },
  ...operationRoutes(),
  '/events/{event}': { POST: async (...call) => (await import('./events.ts')).emitEvent(...call) },
  '/schedules': { GET: onSchedules((it) => it.listSchedules) },
  '/schedules/{name}': {
    GET: onSchedules((it) => it.showSchedule),
    PUT: onSchedules((it) => it.putSchedule),
    DELETE: onSchedules((it) => it.removeSchedule),
  },
  '/schedules/{name}/pause': { POST: onSchedules((it) => it.actOnSchedule('pause')) },
  '/schedules/{name}/resume': { POST: onSchedules((it) => it.actOnSchedule('resume')) },
  '/schedules/{name}/run': { POST: onSchedules((it) => it.actOnSchedule('run')) },
  '/metrics': { GET: showMetrics },
  '/openapi.json': {
    async GET({ client, basePath, metrics }, { caller }) {
      const { openApiOf } = await import('./openapi.ts'); // most processes never need it
      const jobs = [...client.app.jobs.values()].filter(({ name }) => caller.jobs?.has(name) !== false);
      const isBound = caller.jobs !== null;
      const has = {
        operations: routedOperations.filter((one) => mayUse(caller, one)),
        schedules: caller.schedules,
        events: caller.events && [...caller.events],
        metrics: metrics !== null && !isBound && caller.tenantId === null,
      };
      return { status: 200, body: openApiOf(jobs, basePath, has) };
    },
  },
};

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
    const named = Object.keys(methods).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    return { allow: [...named, 'OPTIONS'].join(', '), run, parameter: found[1] ?? '' };
  }
  return null;
}

export function decoded(parameter: string): string {
  try {
    return decodeURIComponent(parameter);
  } catch (cause) {
    const detail =
      'Expected a path with valid percent-encoding, got another. Encode the name with encodeURIComponent.';
    throw new Refusal(400, 'REQUEST', detail, { cause });
  }
}
