/** Gauges that are read at each scrape: queues, workers, limits, and numbers of the last hour. */

import type { Clock } from '../../core/base/clock.ts';
import type { QueueStats } from '../../core/contract/admin.ts';
import type { MetricStore } from '../../core/contract/derived/metrics.ts';
import type { WorkerBeat } from '../../core/contract/store.ts';
import { stoppedJobs } from '../../core/features/limits/stopped-jobs.ts';
import { type LimitView, limitViews, sharedKeys } from '../../core/features/limits/views.ts';
import { sums } from '../../core/features/metrics/roll-up.ts';
import type { StoppedJob } from '../../core/kernel/app/breaker.ts';
import type { Job } from '../../core/kernel/app/job.ts';
import { declaredOn } from '../../core/kernel/enqueue/backends.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';
import { stepMs, stepOf } from '../../core/kit/records/metric-steps.ts';
import { forgetWorkerMs, type WorkerHealth, workerStateOf } from '../../core/kit/worker-state.ts';
import { other, unknownJob } from './count-events.ts';
import { askedGauges, bounded, type MetricsSettings, type Registrar, type Sample } from './registrar.ts';

export function gaugeQueues(
  registrar: Registrar,
  clients: readonly Client[],
  settings: MetricsSettings,
  overflow: () => void,
): void {
  const most = settings.maxLabelSets;
  const gauge = askedGauges(registrar, clients, settings, async ({ app, backend, stores }) => {
    const { admin } = backend;
    if (!admin) {
      await stores.records.get('metrics'); // fails if the store does not answer
      return [];
    }
    admin.know?.(app.queues);
    const rows = await admin.stats();
    if (rows.length > most) overflow();
    return withinLimit(rows, app.queues, most);
  });
  type PerQueue = (row: QueueStats) => readonly Sample[];
  const perQueue = (name: string, help: string, labels: readonly string[], samplesOf: PerQueue) =>
    gauge(name, help, ['queue', ...labels], (rows) => (rows ?? []).flatMap(samplesOf));

  const upHelp = '1 if the queue answers in time, otherwise 0.';
  gauge('queue_up', upHelp, ['backend'], (rows, { backend }) => [
    [{ backend: backend.name }, rows === null ? 0 : 1],
  ]);
  const depthHelp = 'Jobs in the queue by status: ready, delayed or leased; pending = ready or delayed.';
  perQueue('queue_depth', depthHelp, ['status'], ({ queue, ready, delayed, leased }) => [
    [{ queue, status: 'pending' }, ready + delayed],
    [{ queue, status: 'ready' }, ready],
    [{ queue, status: 'delayed' }, delayed],
    [{ queue, status: 'leased' }, leased],
  ]);
  const oldestHelp = 'How long the oldest ready job has been ready.';
  perQueue('queue_oldest_job_seconds', oldestHelp, [], ({ queue, ready, oldestReadyMs }) => {
    // The backend does not know the age, so there is no sample instead of 0.
    if (oldestReadyMs === null && ready > 0) return [];
    return [[{ queue }, (oldestReadyMs ?? 0) / 1000]];
  });
  perQueue('queue_dead_letters', 'Number of dead letters.', [], ({ queue, dead }) => [[{ queue }, dead]]);
  perQueue('queue_paused', '1 while the queue is paused.', [], ({ queue, paused }) => [
    [{ queue }, paused ? 1 : 0],
  ]);
}

export function gaugeWorkers(
  registrar: Registrar,
  clients: readonly Client[],
  settings: MetricsSettings,
): void {
  // Stopped workers are not listed. Dead workers are listed as gone until they are forgotten.
  const gauge = askedGauges(registrar, clients, settings, async ({ app: { clock }, stores }) =>
    stores.workers.list(clock.now() - forgetWorkerMs),
  );
  const stateOf = ({ seenAt }: WorkerBeat, { app }: Client) => workerStateOf(seenAt, app.clock.now());

  gauge('workers', 'Workers by status: healthy, unhealthy or gone.', ['status'], (found, client) => {
    if (!found) return [];
    const counts: Record<WorkerHealth, number> = { healthy: 0, unhealthy: 0, gone: 0 };
    for (const beat of found) counts[stateOf(beat, client)]++;
    return Object.entries(counts).map(([status, count]) => [{ status }, count]);
  });
  gauge('queue_workers', 'Healthy workers that take jobs from the queue.', ['queue'], (found, client) => {
    if (!found) return [];
    const healthy = found.filter((beat) => stateOf(beat, client) === 'healthy');
    const serving = healthy.flatMap(({ queues }) => queues);
    const countOf = (queue: string) => serving.filter((one) => one === queue).length;
    return client.app.queues.slice(0, settings.maxLabelSets).map((queue) => [{ queue }, countOf(queue)]);
  });
}

/** The app's queues first. Queues above the limit are added up. */
function withinLimit(
  rows: readonly QueueStats[],
  own: readonly string[],
  most: number,
): readonly QueueStats[] {
  if (rows.length <= most) return rows;
  const isOwn = new Set(own);
  const sorted = rows.toSorted((a, b) => Number(isOwn.has(b.queue)) - Number(isOwn.has(a.queue)));
  const rest = sorted.slice(most).reduce((sum, one) => ({
    queue: other,
    ready: sum.ready + one.ready,
    delayed: sum.delayed + one.delayed,
    leased: sum.leased + one.leased,
    dead: sum.dead + one.dead,
    paused: sum.paused && one.paused,
    oldestReadyMs: Math.max(sum.oldestReadyMs ?? 0, one.oldestReadyMs ?? 0),
  }));
  return [...sorted.slice(0, most), { ...rest, queue: other }];
}

/**
 * Stopped jobs, and limits that all jobs share. Labels are names that the app declares, never values from payloads. Without a store of
 * limits there are no samples.
 */
export function gaugeLimits(
  registrar: Registrar,
  clients: readonly Client[],
  settings: MetricsSettings,
  overflow: () => void,
): void {
  const most = settings.maxLabelSets;

  const stops = askedGauges(registrar, clients, settings, async (client) => {
    if (!client.stores.limits) return [];
    const stopped = await stoppedJobs(client);
    if (stopped.length > most) overflow();
    return stopsOf(declaredOn(client.app, client.name).jobs, stopped, most);
  });
  const perStop = (name: string, help: string, value: (stop: Stop) => number) =>
    stops(name, help, ['job', 'state'], (found) =>
      (found ?? []).map((stop) => [{ job: stop.job, state: stop.state }, value(stop)]),
    );
  const stoppedHelp = '1 while jobs of this name do not begin: paused, or stopped by a breaker.';
  perStop('queue_job_stopped', stoppedHelp, ({ holds }) => (holds ? 1 : 0));
  const waitingHelp = 'Jobs of this name that were leased meanwhile and wait.';
  perStop('queue_job_stopped_waiting', waitingHelp, ({ waiting }) => waiting);

  const shared = askedGauges(registrar, clients, settings, async (client) => {
    if (!client.stores.limits) return [];
    const keys = sharedKeys(client);
    if (keys.length > most) overflow();
    return limitViews(client, keys.slice(0, most));
  });
  const perLimit = (name: string, help: string, value: (view: LimitView) => number | null) =>
    shared(name, help, ['limit'], (found) =>
      (found ?? []).flatMap((view): Sample[] => {
        const counted = value(view);
        return counted === null ? [] : [[{ limit: view.key }, counted]];
      }),
    );
  perLimit('queue_limit_slots', 'Number of slots of a limit.', ({ limit }) => limit);
  const usedHelp =
    'Slots in use: by running jobs (concurrency), or by jobs that began within the window (rate).';
  perLimit('queue_limit_slots_used', usedHelp, ({ used }) => used);
  perLimit('queue_limit_waiting', 'Jobs waiting for a slot.', ({ waiting }) => waiting);
}

interface Stop {
  readonly job: string;
  readonly state: StoppedJob['state'];
  readonly holds: boolean;
  readonly waiting: number;
}

/**
 * Breakers and pauses for up to `most` jobs of the app, stopped ones first. Leaves out other jobs in the store, because their names are
 * not verified.
 */
function stopsOf(jobs: readonly Job[], stopped: readonly StoppedJob[], most: number): Stop[] {
  const byJob = Map.groupBy(stopped, ({ job }) => job);
  const all = jobs.toSorted((a, b) => Number(byJob.has(b.name)) - Number(byJob.has(a.name)));
  return all.slice(0, most).flatMap(({ name, breaker }) =>
    (breaker ? (['paused', 'open', 'trying'] as const) : (['paused'] as const)).map((state): Stop => {
      const found = byJob.get(name)?.find((one) => one.state === state);
      return { job: name, state, holds: found !== undefined, waiting: found?.waiting ?? 0 };
    }),
  );
}

/** Workers write their metrics every ten seconds, so more frequent reads would bring nothing new. */
const leastCacheMs = 10_000;

/**
 * Failures by queue: from the store for all workers, or of this process if the store keeps no metrics. Also the memory of attempts, if the
 * store has it. Returns a function to call with the queue of each failed attempt.
 */
export function gaugeLastHour(
  { gauge }: Registrar,
  clients: readonly Client[],
  settings: MetricsSettings,
): (queue: string) => void {
  const { clock } = clients[0]!.app;
  const countFailures = (read: () => Promise<Iterable<readonly [string, number]>>) =>
    gauge(
      async () => [...(await read())].map(([queue, count]): Sample => [{ queue }, count]),
      'queue_failed_jobs_hourly',
      'Attempts that failed within the last hour.',
      ['queue'],
    );
  const tellMemory = (read: () => Promise<readonly Sample[]>) =>
    gauge(read, 'queue_job_memory_bytes', 'Memory of attempts within the last hour: average and maximum.', [
      'queue',
      'job',
      'stat',
    ]);
  // A store that several clients share is counted once.
  const stores = new Set(clients.map(({ stores }) => stores.metrics));
  if (!stores.has(undefined)) {
    const cacheMs = Math.max(settings.cacheMs, leastCacheMs);
    const most = settings.maxLabelSets;
    const hour = bounded({ clock, timeoutMs: settings.timeoutMs, cacheMs }, async () =>
      jobsOf([...stores] as MetricStore[], clock.now()),
    );
    countFailures(async () => failedOf((await hour()) ?? [], most));
    tellMemory(async () => memoryOf((await hour()) ?? []).slice(0, 2 * most));
    return () => {};
  }
  tellMemory(async () => []);
  const failures = createFailureWindow(clock);
  countFailures(async () => failures.read());
  return failures.add;
}

type JobTally = ReturnType<typeof sums> extends ReadonlyMap<string, infer One> ? One : never;

async function jobsOf(stores: readonly MetricStore[], now: number): Promise<readonly JobTally[]> {
  const from = stepOf('minute', now) - (minutes - 1) * minuteMs;
  const read = stores.map((store) => store.read({ step: 'minute', from, to: now + 1 }));
  const rows = (await Promise.all(read)).flat();
  return [...sums(rows).values()];
}

function failedOf(jobs: readonly JobTally[], mostQueues: number): Map<string, number> {
  const byQueue = new Map<string, number>();
  for (const { queue, tally } of jobs) {
    const name = byQueue.has(queue) || byQueue.size < mostQueues ? queue : other;
    byQueue.set(name, (byQueue.get(name) ?? 0) + tally.retried + tally.dead);
  }
  return byQueue;
}

const memoryOf = (jobs: readonly JobTally[]): Sample[] =>
  jobs.flatMap(({ queue, job, tally: { memory } }): Sample[] => {
    if (memory.count === 0) return [];
    const labels = { queue, job: job || unknownJob };
    return [
      [{ ...labels, stat: 'average' }, memory.sum / memory.count],
      [{ ...labels, stat: 'max' }, memory.max],
    ];
  });

const minutes = 60;
const minuteMs = stepMs.minute;

/** Counts by minute. The current minute counts as a whole one, so the window is 60 minutes including it. */
function createFailureWindow(clock: Clock) {
  const queues = new Map<string, Minutes>();
  const minuteNow = () => Math.floor(clock.now() / minuteMs);

  function startOf(queue: string): Minutes {
    const started = { counts: new Float64Array(minutes), newest: minuteNow() };
    queues.set(queue, started);
    return started;
  }

  return {
    add(queue: string): void {
      const found = queues.get(queue) ?? startOf(queue);
      roll(found, minuteNow());
      found.counts[found.newest % minutes]! += 1;
    },
    read(): ReadonlyMap<string, number> {
      const sums = new Map<string, number>();
      for (const [queue, found] of queues) {
        roll(found, minuteNow());
        sums.set(
          queue,
          found.counts.reduce((a, b) => a + b, 0),
        );
      }
      return sums;
    },
  };
}

interface Minutes {
  readonly counts: Float64Array;
  newest: number;
}

/** Clears minutes that are reused. After the clock was set back, the newest minute continues. */
function roll(found: Minutes, minute: number): void {
  const passed = Math.min(minutes, minute - found.newest);
  for (let i = 0; i < passed; i++) found.counts[(minute - i) % minutes] = 0;
  found.newest = Math.max(found.newest, minute);
}
