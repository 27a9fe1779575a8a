/** The facts for conditions: each is fetched once per evaluation, with a timeout. */

import { within } from '../../base/clock.ts';
import { config, LongshoreError } from '../../base/errors.ts';
import { onDemand } from '../../base/lazy.ts';
import type { KeyStore } from '../../contract/store.ts';
import type { AlertFacts, AlertHost, AttemptNumbers } from '../../kernel/app/alerts.ts';
import type { Schedule } from '../../kernel/app/schedule.ts';
import { stepOf } from '../../kit/records/metric-steps.ts';
import { healthyWithinMs } from '../../kit/worker-state.ts';
import { stoppedJobs } from '../limits/stopped-jobs.ts';
import { sums } from '../metrics/roll-up.ts';
import { failedOf, ranOf, sumOf } from '../metrics/tally.ts';
import { readCursor } from '../schedules/cursor.ts';
import { lateStored } from '../schedules/stored/find-late.ts';

export const askMs = 10_000;

/** Until when each schedule of a store was ticked, by name, as last read by this process. */
const served = new WeakMap<KeyStore, Map<string, number>>();

export function factsOf(client: AlertHost, byFunctions: boolean, now: number): AlertFacts {
  const { app, backend, stores } = client;
  const { jobs, queues, schedules, clock } = app;
  const inTime = <T>(what: string, ask: () => Promise<T>) =>
    onDemand(() => within(clock, askMs, ask(), () => tooLate(what)));
  // Heartbeats and metrics use the clock of the worker's host. The queue's clock may differ from it by more than their maximum age.
  const ownNow = clock.now();
  const attempts = new Map<number, ReturnType<AlertFacts['attempts']>>();
  return {
    now,
    queues,
    breakers: [...jobs.values()].filter(({ breaker }) => breaker !== null).map(({ name }) => name),
    backend: backend.name,
    stats: inTime('what is in its queues', async () => {
      const { admin, name } = backend;
      if (!admin) throw config(`Backend "${name}" cannot count the jobs in its queues.`);
      admin.know?.(queues);
      return admin.stats();
    }),
    attempts(spanMs) {
      const asked = attempts.get(spanMs) ?? inTime('its numbers', () => attemptsIn(client, ownNow, spanMs))();
      attempts.set(spanMs, asked);
      return asked;
    },
    workers: inTime('its workers', async () => {
      const beats = await stores.workers.list(ownNow - healthyWithinMs);
      return byFunctions && beats.length === 0 ? null : beats;
    }),
    schedules: inTime('the state of its schedules', () =>
      Promise.all(
        schedules.map(async (schedule) => ({
          schedule: schedule.name,
          lateMs: await latenessOf(client, schedule, now),
        })),
      ),
    ),
    lateSchedules: (mostLateMs) =>
      inTime('which schedules made at run time are late', async () => {
        const { schedules: store } = stores;
        if (!store) return { late: [], more: false };
        return lateStored(app, store, now, mostLateMs);
      })(),
    stopped: inTime('which jobs are stopped', () => stoppedJobs(client)),
  };
}

/** Reads the cursor only if a job has become due since the last read, because a read costs two writes. */
async function latenessOf(client: AlertHost, schedule: Schedule, now: number): Promise<number | null> {
  const { keys } = client.stores;
  const until = served.get(keys) ?? new Map<string, number>();
  served.set(keys, until);
  const known = until.get(schedule.name);
  if (known !== undefined && (await lateAt(schedule, known, now)) === 0) return 0;
  const cursor = await readCursor(client, schedule.name);
  if (typeof cursor === 'string') return cursor === 'never' ? null : 0;
  if (cursor.pausedAt !== undefined) return 0;
  until.set(schedule.name, cursor.at);
  return lateAt(schedule, cursor.at, now);
}

async function lateAt(schedule: Schedule, after: number, now: number): Promise<number> {
  const next = await schedule.nextAfter(after);
  return next === null ? 0 : Math.max(0, now - next);
}

function tooLate(what: string): never {
  throw new LongshoreError('TIMEOUT', `The backend did not report ${what} within ${askMs} ms.`);
}

/** Attempts that ended in the last whole minutes, per queue. Throws `CONFIG` if no metrics are kept. */
async function attemptsIn(
  { stores, backend }: Pick<AlertHost, 'stores' | 'backend'>,
  now: number,
  spanMs: number,
): Promise<AttemptNumbers[]> {
  const { metrics } = stores;
  if (!metrics)
    throw config(
      `Backend "${backend.name}" keeps no numbers of attempts: give it a store that does, for example sqliteStore().`,
    );
  // The current minute is left out: its numbers are still arriving.
  const to = stepOf('minute', now);
  const all = [...sums(await metrics.read({ step: 'minute', from: to - spanMs, to })).values()];
  return [...Map.groupBy(all, ({ queue }) => queue)].map(([queue, jobs]) => {
    const tally = sumOf(jobs);
    return { queue, attempts: ranOf(tally), failed: failedOf(tally), dead: tally.dead };
  });
}
