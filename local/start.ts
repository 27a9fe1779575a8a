/** Runs a worker, the scheduler tick and logging in one process, with a clean stop. */

import type { Logger } from 'pino';
import { checkOptions, type OptionKinds } from '../core/base/checks.ts';
import { latestMs } from '../core/base/clock.ts';
import { config, LongshoreError, shown } from '../core/base/errors.ts';
import { optional } from '../core/base/optional.ts';
import { tick } from '../core/features/schedules/feature.ts';
import type { App } from '../core/kernel/app/app.ts';
import { unsendable } from '../core/kernel/app/unsendable.ts';
import { eachOf, isBackend, keepsSchedules } from '../core/kernel/enqueue/backends.ts';
import type { Client } from '../core/kernel/enqueue/client.ts';
import { type WorkerOptions, type WorkerSummary, workerKinds } from '../core/kernel/worker/options.ts';
import type { Worker } from '../core/kernel/worker/state.ts';
import { connect } from '../core/routing/connect.ts';
import { type EachWorkerOptions, startWorker } from '../core/routing/worker.ts';
import type { HttpOptions } from '../core/surfaces/http/index.ts';
import { logTo } from './log.ts';
import type { LocalMetricsOptions } from './prometheus/serve.ts';
import { type HttpServer, type ServeOptions, serveHttp } from './serve.ts';
import { checkSettings } from './settings.ts';
import { watchParent, within } from './waiting.ts';

interface LocalParts {
  /** Whether this process enqueues the jobs of due schedules. Several processes may: each job is enqueued once. @default true */
  readonly schedules?: boolean;
  /** `false` = no log lines; listen to `app.events` instead. @default pino, JSON lines on stdout */
  readonly logger?: Logger | false;
  /** Also serves the HTTP API: the port, and who may call. @default no HTTP */
  readonly http?: HttpOptions & ServeOptions;
  /** Metrics for Prometheus at `GET /metrics`. `true` = on the port of `http`. Needs the package prom-client. @default false */
  readonly metrics?: boolean | LocalMetricsOptions;
}

export interface LocalOptions extends WorkerOptions, LocalParts {}
/** Options for several backends. */
export interface EachLocalOptions extends EachWorkerOptions, LocalParts {}

/** Address of the HTTP API, and its credential in development. */
export type LocalHttp = Pick<HttpServer, 'url' | 'port'> & { readonly developmentToken: string | null };

export interface Local {
  readonly client: Client;
  readonly worker: Worker;
  readonly http: LocalHttp | null;
  /** URL of the metrics, with the path. */
  readonly metrics: { readonly url: string } | null;
  /** Drains the worker and the HTTP server, stops the scheduler tick and closes the backend. */
  stop(): Promise<WorkerSummary>;
  /** Resolves when everything has stopped, for any reason. */
  readonly done: Promise<WorkerSummary>;
}

/** Ticks at least this often, to notice schedules that another process has changed. */
const longestTickMs = 60_000;
const behindOthersMs = 1_000;
const longestCheckMs = 2_000;
/** Minimum time for a running tick, from the beginning of a stop. */
const leastTickMs = 1_000;

const kinds = {
  ...workerKinds,
  schedules: 'boolean',
  logger: '',
  http: '',
  metrics: '',
} satisfies OptionKinds<LocalOptions>;
const eachKinds = { ...kinds, backendName: '', failover: '' } satisfies OptionKinds<EachLocalOptions>;

/** Throws `CONFIG` for a wrong option, and `SCHEMA_VERSION` if the tables belong to another version. */
export async function startLocal(app: App, options: LocalOptions | EachLocalOptions): Promise<Local> {
  if (typeof options?.backend !== 'object' || options.backend === null) {
    throw config(
      `startLocal() expects { backend }, such as sqlite('jobs.db') or postgres(url), got ${shown(options?.backend)}.`,
    );
  }
  checkOptions<object>('startLocal()', options, isBackend(options.backend) ? kinds : eachKinds);
  const {
    logger: given,
    schedules = true,
    http: httpOptions,
    metrics: metricsOptions = false,
    ...workerOptions
  } = options;
  const logger = given ?? (await import('pino')).pino({ name: 'longshore' });
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
  // Before the worker, so that a port in use stops the start before any job runs.
  const servers = startServers(client, httpOptions, metricsOptions, logger);
  const { metered, http } = await servers.catch((error) => {
    unsubscribe();
    throw error;
  });
  let ticking: Awaited<ReturnType<typeof startTicking>> | null = null;
  let worker: Worker | null = null;
  let endAt = 0;
  const draining = new Set<string>();
  // All parts drain at the same time, because a supervisor waits only once.
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
    endOthers(); // the worker may have ended already
  } catch (error) {
    unwatch();
    await ticking?.stop();
    await http?.close();
    await metered?.close();
    unsubscribe();
    throw error;
  }
  const started = worker;
  // Without signals, the caller decides when this process ends.
  const isOurs = workerOptions.signals === undefined || workerOptions.signals.length > 0;
  const forgetParent = isOurs ? watchParent(app.clock, () => void started.stop('orphaned')) : () => {};
  const done = started.done.then(async (summary) => {
    forgetParent();
    // The next tick repeats one that is cut off. A silent server must not delay the stop.
    await within(app.clock, endAt - app.clock.now(), Promise.resolve(ticking?.stop()), () => {});
    await http?.close();
    await metered?.close(); // last, so that metrics can be read until the last job has ended
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
  const { createHttpHandler } = await import('../core/surfaces/http/index.ts');
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

/** Throws for tables of another version: the worker would fail at every fetch and retry for ever. Does not wait for a server that is down. */
async function checkTables(client: Client): Promise<void> {
  const { clock } = client.app;
  try {
    await within(clock, longestCheckMs, client.status('start'), () => null);
  } catch (error) {
    if (error instanceof LongshoreError && error.code === 'SCHEMA_VERSION') throw error;
  }
}

/** Warns of queue settings that lose jobs, because such a queue may work for months first. Only warns: a pause may be intended. */
async function tellSettings({ app, backend }: Client): Promise<void> {
  try {
    await within(app.clock, longestCheckMs, checkSettings(app, backend), () => null);
  } catch (error) {
    if (!(error instanceof LongshoreError) || error.code !== 'CONFIG') return;
    app.events.emit({ type: 'backend.warning', backend: backend.name, message: error.message });
  }
}

/** Finds a wrong pattern at the start of the process, not at the first tick. */
async function checkSchedules({ schedules, clock }: App): Promise<void> {
  for (const schedule of schedules) await schedule.nextAfter(clock.now());
}

/**
 * When the first schedule that was created at run time is due. The next tick sees schedules that are created meanwhile. A schedule that is
 * still due after the last tick hides the later ones, so the next tick comes soon.
 */
async function firstStored({ stores }: Client, now: number): Promise<number | null> {
  const first = await stores.schedules?.due(latestMs, 1).catch(() => []);
  const at = first?.[0]?.nextAt ?? null;
  return at !== null && at <= now ? now + behindOthersMs : at;
}

/** Ticks now, and then whenever a schedule is due. */
async function startTicking(app: App, client: Client): Promise<{ stop(): Promise<void> }> {
  let cancel = () => {};
  let stopped = false;
  let running: Promise<unknown> = Promise.resolve();
  const next = async () => {
    const asked = await client.backend.now?.().catch(() => null);
    const startedAt = app.clock.now();
    const now = asked ?? startedAt; // taken first: schedules that are due during the tick belong to the next one
    // If the queue did not give its time, or there are several queues, the tick asks again and reports the error.
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
