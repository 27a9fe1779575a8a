/** Worker, scheduler tick and logging in one process, with a clean stop. */

import { type Logger, pino } from 'pino';
import { checkOptions, type OptionKinds } from '../core/base/checks.ts';
import { latestMs } from '../core/base/clock.ts';
import { config, LongshoreError, shown } from '../core/base/errors.ts';
import { optional } from '../core/base/optional.ts';
import { tick } from '../core/features/schedules/tick.ts';
import type { App } from '../core/kernel/app/app.ts';
import { unsendable } from '../core/kernel/app/unsendable.ts';
import { eachOf, isBackend, keepsSchedules } from '../core/kernel/enqueue/backends.ts';
import type { Client } from '../core/kernel/enqueue/client.ts';
import { type WorkerOptions, type WorkerSummary, workerKinds } from '../core/kernel/worker/options.ts';
import type { Worker } from '../core/kernel/worker/state.ts';
import { connect } from '../core/routing/connect.ts';
import { type EachWorkerOptions, startWorker } from '../core/routing/worker.ts';
import { createHttpHandler, type HttpOptions } from '../core/surfaces/http/index.ts';
import { logTo } from './log.ts';
import type { LocalMetricsOptions } from './prometheus/serve.ts';
import { type HttpServer, type ServeOptions, serveHttp } from './serve.ts';
import { checkSettings } from './settings.ts';
import { watchParent, within } from './waiting.ts';

interface LocalParts {
  /** Whether this process enqueues what the app's schedules owe. Several may: a moment is enqueued once. @default true */
  readonly schedules?: boolean;
  /** `false`: no log lines; listen to `app.events` instead. @default pino, JSON lines on stdout */
  readonly logger?: Logger | false;
  /** Serves the jobs over HTTP too: the port and who may call. @default no HTTP */
  readonly http?: HttpOptions & ServeOptions;
  /** Numbers for Prometheus at `GET /metrics`: `true` = beside the routes of `http`. Needs the package prom-client. @default false */
  readonly metrics?: boolean | LocalMetricsOptions;
}

export interface LocalOptions extends WorkerOptions, LocalParts {}
/** Works several backends. */
export interface EachLocalOptions extends EachWorkerOptions, LocalParts {}

/** Where the jobs are served, and with which credential in development. */
export type LocalHttp = Pick<HttpServer, 'url' | 'port'> & { readonly developmentToken: string | null };

export interface Local {
  readonly client: Client;
  readonly worker: Worker;
  readonly http: LocalHttp | null;
  /** Where the metrics are, with the path. */
  readonly metrics: { readonly url: string } | null;
  /** Drains the worker and the HTTP server, stops the tick and closes the backend. */
  stop(): Promise<WorkerSummary>;
  /** Resolves after everything has stopped, for whatever reason. */
  readonly done: Promise<WorkerSummary>;
}

/** A tick at least this often, so that a schedule another process has moved is noticed. */
const longestTickMs = 60_000;
const behindOthersMs = 1_000;
const longestCheckMs = 2_000;
/** From the beginning of a stop, how long a tick that is under way has at least. */
const leastTickMs = 1_000;

const kinds = {
  ...workerKinds,
  schedules: 'boolean',
  logger: '',
  http: '',
  metrics: '',
} satisfies OptionKinds<LocalOptions>;
const eachKinds = { ...kinds, backendName: '', failover: '' } satisfies OptionKinds<EachLocalOptions>;

/** Throws `CONFIG` for a wrong option, `SCHEMA_VERSION` when the tables are not those of this version. */
export async function startLocal(app: App, options: LocalOptions | EachLocalOptions): Promise<Local> {
  if (typeof options?.backend !== 'object' || options.backend === null) {
    throw config(
      `startLocal() expects { backend }, such as sqlite('jobs.db') or postgres(url), got ${shown(options?.backend)}.`,
    );
  }
  checkOptions<object>('startLocal()', options, isBackend(options.backend) ? kinds : eachKinds);
  const {
    logger = pino({ name: 'longshore' }),
    schedules = true,
    http: httpOptions,
    metrics: metricsOptions = false,
    ...workerOptions
  } = options;
  for (const job of app.jobs.values()) {
    const why = unsendable(job);
    if (why !== null) throw config(why);
  }
  app.keyRing(); // a missing key must stop the start, not the first job
  if (schedules) await checkSchedules(app);
  const unsubscribe = logger ? app.events.on(logTo(logger)) : () => {};
  const { backend, store, failover } = options as EachLocalOptions;
  const client = connect(app, backend, { ...(store && { store }), ...(failover && { failover }) });
  try {
    await Promise.all(eachOf(client).flatMap((one) => [checkTables(one), tellSettings(one)]));
  } catch (error) {
    unsubscribe();
    throw error;
  }
  // Before the worker, because a port that is taken must stop the start before a job runs.
  const servers = startServers(client, httpOptions, metricsOptions, logger);
  const { metered, http } = await servers.catch((error) => {
    unsubscribe();
    throw error;
  });
  let ticking: Awaited<ReturnType<typeof startTicking>> | null = null;
  let worker: Worker | null = null;
  let endAt = 0;
  const draining = new Set<string>();
  // All drain in the same time: a supervisor does not wait for one after the other.
  function endOthers(): void {
    if (endAt > 0 || !worker || !(worker.workers ?? [worker]).every(({ id }) => draining.has(id))) return;
    endAt = app.clock.now() + leastTickMs;
    void http?.close();
    void ticking?.stop();
  }
  const unwatch = app.events.on((event) => {
    if (event.type !== 'worker.draining') return;
    draining.add(event.worker);
    endOthers();
  });
  try {
    // The tick comes first: a worker that stops when it is idle must find the jobs of the schedules.
    if (schedules && (app.schedules.length > 0 || keepsSchedules(client)))
      ticking = await startTicking(app, client);
    worker = await startWorker(app, {
      signals: ['SIGINT', 'SIGTERM'],
      ...workerOptions,
    } as EachWorkerOptions);
    endOthers(); // it may have ended already
  } catch (error) {
    unwatch();
    await ticking?.stop();
    await http?.close();
    await metered?.close();
    unsubscribe();
    throw error;
  }
  const started = worker;
  // Without signals somebody else decides when this process ends.
  const isOurs = workerOptions.signals === undefined || workerOptions.signals.length > 0;
  const forgetParent = isOurs ? watchParent(app.clock, () => void started.stop('orphaned')) : () => {};
  const done = started.done.then(async (summary) => {
    forgetParent();
    // A tick that is cut off is repeated by the next one: a silent server must not make a stop longer.
    await within(app.clock, endAt - app.clock.now(), Promise.resolve(ticking?.stop()), () => {});
    await http?.close();
    await metered?.close(); // it may be read until the last job has ended
    unwatch();
    await client.close();
    unsubscribe();
    return summary;
  });
  return {
    client,
    worker: started,
    http,
    metrics: metered && { url: metered.url },
    done,
    async stop() {
      await started.stop();
      return done;
    },
  };
}

type GivenHttp = HttpOptions & ServeOptions;

async function startServers(
  client: Client,
  httpOptions: GivenHttp | undefined,
  given: boolean | LocalMetricsOptions,
  logger: Logger | false,
) {
  if (given === false)
    return { metered: null, http: httpOptions ? await startHttp(client, httpOptions, logger) : null };
  const { startMetrics } = await import('./prometheus/serve.ts').catch(optional('prom-client'));
  const { metrics, server, close } = await startMetrics(
    client,
    given === true ? {} : given,
    httpOptions !== undefined,
  );
  try {
    const http = httpOptions
      ? await startHttp(client, { ...httpOptions, ...(!server && { metrics }) }, logger)
      : null;
    const url = server ? `${server.url}/metrics` : `${http!.url}${httpOptions!.basePath ?? ''}/metrics`;
    if (logger) logger.info({ event: 'metrics.listening', url }, `metrics are served at ${url}`);
    return { metered: { url, close }, http };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startHttp(
  client: Client,
  options: GivenHttp,
  logger: Logger | false,
): Promise<LocalHttp & Pick<HttpServer, 'close'>> {
  const handler = createHttpHandler(client, options);
  const { developmentToken } = handler;
  const server = await serveHttp(handler, options);
  if (logger) {
    const { url } = server;
    logger.info({ event: 'http.listening', url }, `jobs are served at ${url}`);
    if (developmentToken !== null) {
      logger.warn(
        { event: 'http.development' },
        `development only: Authorization: Bearer ${developmentToken}`,
      );
    }
  }
  return { ...server, developmentToken };
}

/** A worker would fail at every fetch, and outlive that as it outlives a server that is away. That one is not waited for here. */
async function checkTables(client: Client): Promise<void> {
  const { clock } = client.app;
  try {
    await within(clock, longestCheckMs, client.status('start'), () => null);
  } catch (error) {
    if (error instanceof LongshoreError && error.code === 'SCHEMA_VERSION') throw error;
  }
}

/** A queue whose settings lose jobs may work for months first. It is told and not refused: a pause may be somebody's plan. */
async function tellSettings({ app, backend }: Client): Promise<void> {
  try {
    await within(app.clock, longestCheckMs, checkSettings(app, backend), () => null);
  } catch (error) {
    if (!(error instanceof LongshoreError) || error.code !== 'CONFIG') return;
    app.events.emit({ type: 'backend.warning', backend: backend.name, message: error.message });
  }
}

/** Finds a wrong pattern when the process starts, not at its first tick. */
async function checkSchedules({ schedules, clock }: App): Promise<void> {
  for (const schedule of schedules) await schedule.nextAfter(clock.now());
}

/**
 * When the first schedule that was made at run time is due. Those made meanwhile are seen by the next tick. One that the last tick has left
 * hides those behind it, so they are asked for again soon.
 */
async function firstStored({ stores }: Client, now: number): Promise<number | null> {
  const first = await stores.schedules?.due(latestMs, 1).catch(() => []);
  const at = first?.[0]?.nextAt ?? null;
  return at !== null && at <= now ? now + behindOthersMs : at;
}

/** Ticks now, and then whenever a schedule falls due. */
async function startTicking(app: App, client: Client): Promise<{ stop(): Promise<void> }> {
  let cancel = () => {};
  let stopped = false;
  let running: Promise<unknown> = Promise.resolve();
  const next = async () => {
    const asked = await client.backend.now?.().catch(() => null);
    const startedAt = app.clock.now();
    const now = asked ?? startedAt; // taken first: what falls due during the tick is the next one's
    // Where the queue does not say its time, or there are several, the tick asks again, and reports why there is no answer.
    await tick(app, client, asked === null || client.backends ? undefined : now);
    const moments = await Promise.all([
      ...app.schedules.map((schedule) => schedule.nextAfter(now)),
      ...eachOf(client).map((one) => firstStored(one, now)),
    ]);
    if (stopped) return;
    const due = moments.map((at) => at ?? Number.POSITIVE_INFINITY);
    const waitMs = Math.min(longestTickMs, ...due.map((at) => at - now)) - (app.clock.now() - startedAt);
    cancel = app.clock.after(Math.max(0, waitMs), () => {
      running = next();
    });
  };
  await next();
  return {
    async stop() {
      stopped = true;
      cancel();
      await running;
    },
  };
}
