/** What the queue and the list of workers say at the moment of a scrape. */

import type { QueueStats } from '../../core/contract/admin.ts';
import type { WorkerBeat } from '../../core/contract/store.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';
import { forgetWorkerMs, type WorkerHealth, workerStateOf } from '../../core/kit/worker-state.ts';
import { eachAnswer } from './ask.ts';
import { other } from './label-sets.ts';
import type { MetricsSettings } from './options.ts';
import type { Registrar, Sample } from './registrar.ts';

export function gaugeQueues(
  { gauge }: Registrar,
  clients: readonly Client[],
  settings: MetricsSettings,
  overflow: () => void,
): void {
  const most = settings.maxLabelSets;
  const { all, names } = eachAnswer(clients, settings, async ({ app, backend, stores }) => {
    const { admin } = backend;
    if (!admin) {
      await stores.records.get('metrics'); // it has no numbers, but it can answer
      return [];
    }
    admin.know?.(app.queues);
    const rows = await admin.stats();
    if (rows.length > most) overflow();
    return withinLimit(rows, app.queues, most);
  });
  const perQueue = (samplesOf: (row: QueueStats) => readonly Sample[]) =>
    all((rows) => (rows ?? []).flatMap(samplesOf));

  const up = all((rows, { backend }): Sample[] => [[{ backend: backend.name }, rows === null ? 0 : 1]]);
  gauge(up, 'queue_up', '1 when the queue answers, 0 when it does not or not in time.', ['backend']);
  gauge(
    perQueue(({ queue, ready, delayed, leased }) => [
      [{ queue, status: 'pending' }, ready + delayed],
      [{ queue, status: 'ready' }, ready],
      [{ queue, status: 'delayed' }, delayed],
      [{ queue, status: 'leased' }, leased],
    ]),
    'queue_depth',
    'Jobs in the queue by status: ready, delayed or leased; pending = ready or delayed.',
    names('queue', 'status'),
  );
  gauge(
    perQueue(({ queue, ready, oldestReadyMs }) => {
      // A backend that does not tell is not one whose jobs do not wait.
      if (oldestReadyMs === null && ready > 0) return [];
      return [[{ queue }, (oldestReadyMs ?? 0) / 1000]];
    }),
    'queue_oldest_job_seconds',
    'How long the oldest ready job has been ready.',
    names('queue'),
  );
  gauge(
    perQueue(({ queue, dead }) => [[{ queue }, dead]]),
    'queue_dead_letters',
    'Dead letters that are kept.',
    names('queue'),
  );
  gauge(
    perQueue(({ queue, paused }) => [[{ queue }, paused ? 1 : 0]]),
    'queue_paused',
    '1 while the queue is paused.',
    names('queue'),
  );
}

export function gaugeWorkers(
  { gauge }: Registrar,
  clients: readonly Client[],
  settings: MetricsSettings,
): void {
  // One that was stopped is not listed. One that has died is, as gone, until it is forgotten.
  const { all, names } = eachAnswer(clients, settings, async ({ app: { clock }, stores }) =>
    stores.workers.list(clock.now() - forgetWorkerMs),
  );
  const stateOf = ({ seenAt }: WorkerBeat, { app }: Client) => workerStateOf(seenAt, app.clock.now());

  const byStatus = all((found, client): Sample[] => {
    if (!found) return [];
    const counts: Record<WorkerHealth, number> = { healthy: 0, unhealthy: 0, gone: 0 };
    for (const beat of found) counts[stateOf(beat, client)]++;
    return Object.entries(counts).map(([status, count]) => [{ status }, count]);
  });
  const byQueue = all((found, client): Sample[] => {
    if (!found) return [];
    const serving = found
      .filter((beat) => stateOf(beat, client) === 'healthy')
      .flatMap(({ queues }) => queues);
    const countOf = (queue: string) => serving.filter((one) => one === queue).length;
    return client.app.queues.slice(0, settings.maxLabelSets).map((queue) => [{ queue }, countOf(queue)]);
  });
  gauge(byStatus, 'workers', 'Workers by status: healthy, unhealthy or gone.', names('status'));
  gauge(byQueue, 'queue_workers', 'Healthy workers that take jobs from the queue.', names('queue'));
}

/** Of the app's queues first; those over the limit are added up. */
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
