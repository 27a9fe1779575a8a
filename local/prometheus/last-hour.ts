/**
 * Numbers of the last hour: failures by queue, of all workers where the store keeps numbers, else as this process has seen them; and how much memory
 * attempts took, where the store keeps that.
 */

import type { Clock } from '../../core/base/clock.ts';
import type { MetricStore } from '../../core/contract/metrics.ts';
import { sums } from '../../core/features/metrics/roll-up.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';
import { stepMs, stepOf } from '../../core/kit/records/metric-steps.ts';
import { bounded } from './ask.ts';
import { other, unknownJob } from './label-sets.ts';
import type { MetricsSettings } from './options.ts';
import type { Registrar, Sample } from './registrar.ts';

/** Workers write their numbers every ten seconds; reading those of an hour more often tells nothing new. */
const leastCacheMs = 10_000;

/** Returns what is to be called with the queue of each attempt that failed. */
export function gaugeLastHour(
  { gauge }: Registrar,
  clients: readonly Client[],
  settings: MetricsSettings,
): (queue: string) => void {
  const { clock } = clients[0]!.app;
  const naming = [
    'queue_failed_jobs_hourly',
    'Attempts that failed within the last hour.',
    ['queue'],
  ] as const;
  // One that several share is counted once.
  const stores = new Set(clients.map(({ stores }) => stores.metrics));
  if (!stores.has(undefined)) {
    const cacheMs = Math.max(settings.cacheMs, leastCacheMs);
    const most = settings.maxLabelSets;
    const hour = bounded({ clock, timeoutMs: settings.timeoutMs, cacheMs }, async () =>
      jobsOf([...stores] as MetricStore[], clock.now()),
    );
    gauge(async () => samplesOf(failedOf((await hour()) ?? [], most)), ...naming);
    gauge(async () => memoryOf((await hour()) ?? []).slice(0, 2 * most), ...ofMemory);
    return () => {};
  }
  gauge(async () => [], ...ofMemory);
  const failures = createFailureWindow(clock);
  gauge(async () => samplesOf(failures.read()), ...naming);
  return failures.add;
}

const ofMemory = [
  'queue_job_memory_bytes',
  'Memory that attempts took within the last hour, on average and at most.',
  ['queue', 'job', 'stat'],
] as const;

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

const samplesOf = (sums: Iterable<readonly [string, number]>): Sample[] =>
  [...sums].map(([queue, count]) => [{ queue }, count]);

/** Counts by minute. The minute that has begun counts whole, so the oldest one is left out when the hour is over. */
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

/** Empties the minutes that have come round again. After a clock was set back its newest minute goes on. */
function roll(found: Minutes, minute: number): void {
  const passed = Math.min(minutes, minute - found.newest);
  for (let i = 0; i < passed; i++) found.counts[(minute - i) % minutes] = 0;
  found.newest = Math.max(found.newest, minute);
}
