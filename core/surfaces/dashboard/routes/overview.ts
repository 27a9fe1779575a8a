/** Routes of the whole page: session, current state and its stream, alerts, audit log, and faults in development. */

import { toError } from '../../../base/failure.ts';
import type { MetricPeriod } from '../../../kernel/app/metric-report.ts';
import { eachOf } from '../../../kernel/enqueue/backends.ts';
import type { Client } from '../../../kernel/enqueue/client.ts';
import { labelled } from '../../../routing/each.ts';
import { Refusal } from '../../http/problem.ts';
import { apiHeaders } from '../answer/responses.ts';
import type { AlertRow, Capability, Overview, Rows, Session } from '../api.ts';
import type { Run } from '../call.ts';
import { knownName, oneOf, pageQuery, queryOf, unavailable } from './query.ts';

export const showLive: Run = ({ live }) => live.current();

export const showOverview: Run = async (endpoint, { url, visitor }) => {
  const { client, live } = endpoint;
  const { last = 'live' } = queryOf(url, { last: oneOf(['live', 'hour', 'day', 'month']) });
  const numbers = await numbersOf(client, last === 'live' ? 'hour' : last);
  const { stopped, ...missed } = await (await endpoint.operatorFor(visitor)).jobs.stopped();
  return { live: await live.current(), ...numbers, stopped, ...missed } satisfies Overview;
};

async function numbersOf(
  client: Client,
  last: MetricPeriod,
): Promise<Pick<Overview, 'numbers' | 'unavailable'>> {
  if (!eachOf(client).some(({ stores }) => stores.metrics)) {
    const numbers = unavailable(
      `Backend "${client.backend.name}" keeps no metrics: give the dashboard and the workers a store that does, for example sqliteStore().`,
    );
    return { numbers };
  }
  const { all, series, jobs, unavailable: missed } = await client.metrics({ last });
  return { numbers: { all, series, jobs }, ...(missed && { unavailable: missed }) };
}

export const showSession: Run = async (endpoint, { visitor }) => {
  const { client, faults, streams } = endpoint;
  const { app } = client;
  const all = eachOf(client);
  return {
    actor: visitor.actor,
    role: visitor.role,
    token: endpoint.tokenFor(visitor),
    backend: all.map(labelOf).join(', '),
    backends: all.length > 1 ? all.map(({ name }) => name!) : [],
    app: {
      jobs: [...app.jobs.keys()],
      queues: app.queues,
      schedules: app.schedules.map(({ name }) => name),
    },
    faults: faults?.list ?? [],
    streams: streams !== null,
  } satisfies Session;
};

const labelOf = ({ name, backend }: Client): string =>
  name === undefined ? backend.name : `${name} (${backend.name})`;

export const openEvents: Run = async ({ streams }) => {
  if (!streams)
    throw new Refusal(404, 'NOT_FOUND', 'Streaming is off here. Poll api/live every few seconds instead.');
  return new Response(streams.open(), {
    headers: {
      ...apiHeaders,
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no', // a proxy that buffers would pass nothing on
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

export const listAlerts: Run = async (endpoint, { visitor }) => {
  if (!endpoint.client.app.alerts)
    return unavailable('The app has no alerts: give createApp() some of defineAlerts() of longshore/alerts.');
  const { alerts } = await endpoint.operatorFor(visitor);
  const { alerts: rows, evaluatedAt: _, ...missed } = await alerts.list();
  return { rows, ...missed } satisfies Rows<AlertRow>;
};

export const listAudit: Run = async (endpoint, { url, visitor }) => {
  const asked = queryOf(url, pageQuery);
  if (!eachOf(endpoint.client).some(({ stores }) => stores.audit))
    return unavailable(
      `Backend "${endpoint.client.backend.name}" has no audit log: give the dashboard a store with one, for example sqliteStore().`,
    );
  return (await endpoint.operatorFor(visitor)).audit({ max: 100, ...asked });
};

export const listCapabilities: Run = async ({ client }) => {
  const rows = eachOf(client).flatMap((one) => labelled(one, capabilitiesOf(one)));
  return { rows } satisfies Rows<Capability>;
};

/** Lists what the backend and its stores declare in code. Sends no request to them. */
function capabilitiesOf({ app, backend, stores }: Client): Capability[] {
  const { limits, admin, hints } = backend;
  const { records } = stores;
  const all: Readonly<Record<string, string | boolean>> = {
    Backend: backend.name,
    'Largest envelope': bytes(Math.min(app.maxBodyBytes, limits.maxBodyBytes)),
    'Larger payloads in a payload store': stores.payloads !== undefined,
    'Longest delay': span(limits.maxDelayMs),
    'Longest lease by renewing': span(limits.maxLeaseMs),
    'Time of its own, which all hosts share': backend.now !== undefined,
    'Enqueues inside your database transaction': backend.enqueueIn !== undefined,
    'Handlers write in the transaction of their ack': backend.begin !== undefined,
    'Ack and fetch in one step': hints?.ackAndFetch !== undefined,
    'Counts, pausing and clearing of queues': admin !== undefined,
    'Waiting jobs are changed, promoted and removed': backend.pending !== undefined,
    'Pages of dead letters':
      admin === undefined ? false : admin.deadLetters.page ? true : 'from the newest on',
    'Dead letters by their id':
      admin === undefined ? false : admin.deadLetters.get ? true : 'by looking through them',
    'Records of jobs': records.recordsDisabled !== true,
    'Lists of jobs in pages': records.recordsDisabled !== true,
    'Payloads of jobs': records.recordsDisabled !== true,
    'Numbers of the last hour, day and month': stores.metrics !== undefined,
    'Limits over all workers': stores.limits !== undefined,
    Batches: stores.batches !== undefined,
    'Steps that are remembered': stores.steps !== undefined,
    'Schedules made at run time': stores.schedules !== undefined,
    'Audit log': stores.audit !== undefined,
  };
  return Object.entries(all).map(([name, value]) => ({
    name,
    value: typeof value === 'string' ? value : value ? 'yes' : 'no',
  }));
}

const bytes = (count: number): string =>
  count % 1_048_576 === 0 ? `${count / 1_048_576} MB` : `${Math.floor(count / 1024)} KB`;

const units = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
  ['seconds', 1_000],
] as const;

function span(ms: number | null): string {
  if (ms === null) return 'no limit';
  const [unit, size] = units.find(([, size]) => ms % size === 0) ?? ['ms', 1];
  return `${ms / size} ${unit}`;
}
