/** What is stopped, and limits that all jobs share: names that the app declares, and never what is made of a payload. */

import { stoppedJobs } from '../../core/features/limits/stopped-jobs.ts';
import { type LimitView, limitViews, sharedKeys } from '../../core/features/limits/views.ts';
import type { StoppedJob } from '../../core/kernel/app/breaker.ts';
import type { Job } from '../../core/kernel/app/job.ts';
import { declaredOn } from '../../core/kernel/enqueue/backends.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';
import { eachAnswer } from './ask.ts';
import type { MetricsSettings } from './options.ts';
import type { Registrar, Sample } from './registrar.ts';

/** Where no limits are kept there are none. */
export function gaugeLimits(
  { gauge }: Registrar,
  clients: readonly Client[],
  settings: MetricsSettings,
  overflow: () => void,
): void {
  const most = settings.maxLabelSets;

  const stops = eachAnswer(clients, settings, async (client) => {
    if (!client.stores.limits) return [];
    const stopped = await stoppedJobs(client);
    if (stopped.length > most) overflow();
    return stopsOf(declaredOn(client.app, client.name).jobs, stopped, most);
  });
  const perStop = (value: (stop: Stop) => number) =>
    stops.all((found) => (found ?? []).map((stop) => [{ job: stop.job, state: stop.state }, value(stop)]));
  gauge(
    perStop(({ holds }) => (holds ? 1 : 0)),
    'queue_job_stopped',
    '1 while jobs of this name do not begin: paused, or by a breaker that is open or trying.',
    stops.names('job', 'state'),
  );
  gauge(
    perStop(({ waiting }) => waiting),
    'queue_job_stopped_waiting',
    'Jobs that were taken meanwhile, and wait for it.',
    stops.names('job', 'state'),
  );

  const shared = eachAnswer(clients, settings, async (client) => {
    if (!client.stores.limits) return [];
    const keys = sharedKeys(client);
    if (keys.length > most) overflow();
    return limitViews(client, keys.slice(0, most));
  });
  const perLimit = (value: (view: LimitView) => number | null) =>
    shared.all((found) =>
      (found ?? []).flatMap((view): Sample[] => {
        const counted = value(view);
        return counted === null ? [] : [[{ limit: view.key }, counted]];
      }),
    );
  gauge(
    perLimit(({ limit }) => limit),
    'queue_limit_slots',
    'How many slots a limit has.',
    shared.names('limit'),
  );
  gauge(
    perLimit(({ used }) => used),
    'queue_limit_slots_used',
    'Slots in use: of concurrency by jobs that run, of a rate by those that began within its window.',
    shared.names('limit'),
  );
  gauge(
    perLimit(({ waiting }) => waiting),
    'queue_limit_waiting',
    'Jobs that wait for a slot.',
    shared.names('limit'),
  );
}

interface Stop {
  readonly job: string;
  readonly state: StoppedJob['state'];
  readonly holds: boolean;
  readonly waiting: number;
}

/**
 * What can stop these jobs of the app, of at most so many jobs, those that are stopped first. What else is in the store has a name that nobody
 * here has checked.
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
