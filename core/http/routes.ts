/** Which path and method means what. */

import type { Answer, Call, Endpoint } from './call.ts';
import { enqueueMany, enqueueOne } from './enqueue.ts';
import { showMetrics } from './metrics.ts';
import { Refusal } from './problem.ts';
import { cancelJob, showJob } from './records.ts';

type Run = (endpoint: Endpoint, call: Call, parameter: string) => Promise<Answer>;

interface Route {
  readonly path: RegExp;
  readonly methods: Readonly<Record<string, Run>>;
}

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

const routes: readonly Route[] = [
  { path: /^\/jobs$/, methods: { POST: enqueueMany } },
  {
    path: /^\/jobs\/([^/]+)$/,
    methods: { GET: showJob, POST: enqueueOne, PATCH: waiting('changeJob'), DELETE: cancelJob },
  },
  { path: /^\/jobs\/([^/]+)\/result$/, methods: { GET: showResult } },
  { path: /^\/jobs\/([^/]+)\/promote$/, methods: { POST: waiting('promoteJob') } },
  { path: /^\/jobs\/([^/]+)\/remove$/, methods: { POST: waiting('removeJob') } },
  { path: /^\/schedules$/, methods: { GET: onSchedules((it) => it.listSchedules) } },
  {
    path: /^\/schedules\/([^/]+)$/,
    methods: {
      GET: onSchedules((it) => it.showSchedule),
      PUT: onSchedules((it) => it.putSchedule),
      DELETE: onSchedules((it) => it.removeSchedule),
    },
  },
  ...(['pause', 'resume', 'run'] as const).map((verb) => ({
    path: new RegExp(`^/schedules/([^/]+)/${verb}$`),
    methods: { POST: onSchedules((it) => it.actOnSchedule(verb)) },
  })),
  { path: /^\/metrics$/, methods: { GET: showMetrics } },
  {
    path: /^\/openapi\.json$/,
    methods: {
      async GET({ client, basePath }, { caller }) {
        const { openApiOf } = await import('./openapi.ts'); // most processes never need it
        const jobs = [...client.app.jobs.values()].filter(({ name }) => caller.jobs?.has(name) !== false);
        return { status: 200, body: openApiOf(jobs, basePath) };
      },
    },
  },
];

/** `null`: no such path. The path comes without the base path. */
export function match(path: string, method: string, hasMetrics: boolean) {
  for (const route of routes) {
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
