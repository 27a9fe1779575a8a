/** What `longshore health` asks about those who run jobs. Each answer that is bad says what to do. */

import type { Clock } from '../../../core/base/clock.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import { readCursor } from '../../../core/features/schedules/cursor.ts';
import { lateStored } from '../../../core/features/schedules/stored/find-late.ts';
import { homeOf } from '../../../core/kernel/enqueue/backends.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { healthyWithinMs, workerStateOf } from '../../../core/kit/worker-state.ts';
import { count, span } from '../output/ui.ts';

/** `null`: could not be asked. What is bad has a remedy. */
export type Answer = readonly [ok: boolean | null, detail: string, remedy?: string];

/** What several checks want to know is asked once. */
export function healthFacts(client: () => Promise<Client>, clock: Clock) {
  return {
    client,
    clock,
    /** Of all queues; `null` on a backend that does not tell. */
    stats: onDemand(async () => (await (await client()).backend.admin?.stats()) ?? null),
    healthyWorkers: onDemand(async () => {
      const { stores } = await client();
      const now = clock.now();
      const beats = await stores.workers.list(now - healthyWithinMs);
      return beats.filter(({ seenAt }) => workerStateOf(seenAt, now) === 'healthy');
    }),
  };
}
export type HealthFacts = ReturnType<typeof healthFacts>;

export async function workersSeen({ healthyWorkers }: HealthFacts, least: number): Promise<Answer> {
  const found = (await healthyWorkers()).length;
  const text = `${count(found, 'worker')} seen within ${span(healthyWithinMs)}`;
  return found >= least
    ? [true, text]
    : [false, `${text}, expected ${least}`, 'Start one with longshore work'];
}

export async function queuesServed({ client, stats, healthyWorkers }: HealthFacts): Promise<Answer> {
  const queues = await stats();
  if (!queues) return [null, `${(await client()).backend.name} does not tell what waits`];
  const waiting = queues.filter(({ ready, paused }) => ready > 0 && !paused);
  const served = new Set((await healthyWorkers()).flatMap(({ queues }) => queues));
  const left = waiting.filter(({ queue }) => !served.has(queue)).map(({ queue }) => queue);
  if (left.length === 0) return [true, 'every queue with waiting jobs has a worker'];
  return [false, `no worker serves ${left.join(', ')}`, `Start one with longshore work ${left.join(' ')}`];
}

export async function deadLettersWithin(
  { client, stats }: HealthFacts,
  most: number | undefined,
): Promise<Answer> {
  const queues = await stats();
  if (!queues)
    return [null, `${(await client()).backend.name} does not tell how many dead letters there are`];
  const sum = queues.reduce((all, { dead }) => all + dead, 0);
  const text = count(sum, 'dead letter');
  if (most === undefined || sum <= most) return [true, text];
  const { name } = await client();
  const worst = queues.toSorted((a, b) => b.dead - a.dead)[0]!;
  return [
    false,
    `${text}, at most ${most} expected, most of them in ${worst.queue}`,
    `See longshore dead list --queue ${worst.queue}${name === undefined ? '' : ` --backend ${name}`}`,
  ];
}

export async function schedulesTicked(facts: HealthFacts, mostLateMs: number): Promise<Answer> {
  const client = await facts.client();
  const { app, backend, stores } = client;
  if (stores.records.recordsDisabled)
    return [null, `${backend.name} does not tell when schedules were checked`];
  const now = (await backend.now?.()) ?? facts.clock.now();
  const late: string[] = [];
  for (const schedule of app.schedules) {
    const home = homeOf(client, schedule.job);
    if (!home) continue;
    const cursor = await readCursor(home, schedule.name);
    if (cursor === 'ticking') continue;
    if (cursor !== 'never' && cursor.pausedAt !== undefined) continue;
    if (cursor === 'never') late.push(`${schedule.name} was never checked`);
    else {
      const overdueAt = await schedule.nextAfter(cursor.at);
      const lateMs = overdueAt === null ? 0 : now - overdueAt;
      if (lateMs > mostLateMs) late.push(`${schedule.name} is ${span(lateMs)} late`);
    }
  }
  late.push(...(await lateMadeAtRunTime(client, now, mostLateMs)));
  if (late.length === 0) return [true, 'every schedule is checked in time'];
  return [
    false,
    late.join(', '),
    'A worker checks schedules unless it runs with --no-schedules; without one run longshore tick every minute. Why one fails: longshore schedule show <name>',
  ];
}

const mostNamed = 5;

async function lateMadeAtRunTime(
  { app, stores }: Client,
  now: number,
  mostLateMs: number,
): Promise<string[]> {
  if (!stores.schedules) return [];
  const { late, more } = await lateStored(app, stores.schedules, now, mostLateMs);
  const named = late
    .slice(0, mostNamed)
    .map(
      ({ schedule, lateMs, why }) => `${schedule} is ${span(lateMs)} late${why === null ? '' : `: ${why}`}`,
    );
  const rest = late.length - named.length;
  return rest > 0 ? [...named, `and ${rest}${more ? ' or more' : ''} others made at run time`] : named;
}
