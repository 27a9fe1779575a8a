/** The page as a whole: its session, the state of this moment and its stream, alerts, the audit log, and faults in development. */

import { toError } from '../../../base/failure.ts';
import { alertStates } from '../../../features/alerts/show.ts';
import { stoppedJobs } from '../../../features/limits/stopped-jobs.ts';
import type { MetricPeriod } from '../../../kernel/app/metric-report.ts';
import type { Client } from '../../../kernel/enqueue/client.ts';
import { Refusal } from '../../http/problem.ts';
import { apiHeaders } from '../answer/responses.ts';
import type { Overview, Session } from '../api.ts';
import type { Run } from '../call.ts';
import { knownName, unavailable } from './find.ts';
import { oneOf, pageQuery, queryOf } from './query.ts';

export const showLive: Run = ({ live }) => live.current();

export const showOverview: Run = async ({ client, live }, { url }) => {
  const { last = 'live' } = queryOf(url, { last: oneOf(['live', 'hour', 'day', 'month']) });
  const numbers = await numbersOf(client, last === 'live' ? 'hour' : last);
  const stopped = await stoppedJobs(client);
  return { live: await live.current(), numbers, stopped } satisfies Overview;
};

async function numbersOf(client: Client, last: MetricPeriod): Promise<Overview['numbers']> {
  if (!client.stores.metrics) {
    return unavailable(
      `Backend "${client.backend.name}" keeps no numbers: give the dashboard and the workers a store that does, for example sqliteStore().`,
    );
  }
  // Asks one backend, like everything else here; a client of several would add them up.
  const one = client.backends?.get(client.name ?? '') ?? client;
  const { all, series, jobs } = await one.metrics({ last });
  return { all, series, jobs };
}

export const showSession: Run = async (endpoint, { visitor }) => {
  const { client, faults, streams } = endpoint;
  const { app, backend } = client;
  return {
    actor: visitor.actor,
    role: visitor.role,
    token: endpoint.tokenFor(visitor),
    backend: client.name === undefined ? backend.name : `${client.name} (${backend.name})`,
    app: {
      jobs: [...app.jobs.keys()],
      queues: app.queues,
      schedules: app.schedules.map(({ name }) => name),
    },
    faults: faults?.list ?? [],
    streams: streams !== null,
  } satisfies Session;
};

export const openEvents: Run = async ({ streams }) => {
  if (!streams)
    throw new Refusal(404, 'NOT_FOUND', 'Nothing streams here: ask for api/live every few seconds.');
  return new Response(streams.open(), {
    headers: {
      ...apiHeaders,
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no', // a proxy that collects answers would show nothing at all
    },
  });
};

export const causeFault: Run = async ({ faults }, { parameter }) => {
  if (!faults) {
    throw new Refusal(
      404,
      'NOT_FOUND',
      'Faults can be caused in development only: start `longshore dev` for that.',
    );
  }
  const names = faults.list.map(({ name }) => name);
  const name = knownName('fault', parameter, names);
  try {
    return await faults.cause(name);
  } catch (cause) {
    throw new Refusal(409, 'CONFLICT', toError(cause).message, { cause });
  }
};

export const listAlerts: Run = async ({ client }) => {
  const { app } = client;
  if (!app.alerts)
    return unavailable('The app has no alerts: give createApp() some of defineAlerts() of longshore/alerts.');
  const { alerts } = await alertStates(app.alerts, client);
  return alerts;
};

export const listAudit: Run = async (endpoint, { url, visitor }) => {
  const asked = queryOf(url, pageQuery);
  if (!endpoint.client.stores.audit)
    return unavailable(
      `Nothing beside backend "${endpoint.client.backend.name}" remembers who did what: give the dashboard a store with an audit log, for example sqliteStore().`,
    );
  return (await endpoint.operatorFor(visitor)).audit({ max: 100, ...asked });
};
