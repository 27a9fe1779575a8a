import type { Clock } from '../../../core/base/clock.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import { readCursor } from '../../../core/features/schedules/cursor.ts';
import { lateStored } from '../../../core/features/schedules/stored/find-late.ts';
import { homeOf } from '../../../core/kernel/enqueue/backends.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { healthyWithinMs, workerStateOf } from '../../../core/kit/worker-state.ts';
import { checkSettings } from '../../settings.ts';
import { within } from '../../waiting.ts';
import { flag } from '../config/flags.ts';
import { duration, integer } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { CliError, explain } from '../errors.ts';
import type { Io } from '../io.ts';
import { type Column, columnsOf, count, span, type Ui } from '../output/ui.ts';

interface Check {
  /** Where there are several. */
  readonly backend?: string;
  readonly name:
    | 'keys'
    | 'backend'
    | 'send'
    | 'settings'
    | 'age'
    | 'workers'
    | 'queues'
    | 'dead'
    | 'schedules';
  /** `null` = the backend cannot answer. */
  readonly ok: boolean | null;
  readonly detail: string;
}

interface Limits {
  readonly maxAge: number;
  readonly minWorkers: number;
  readonly maxDead: number | undefined;
  readonly maxLate: number;
}

export const health = defineCommand({
  path: 'health',
  summary: 'check that jobs can be sent and are being run',
  about:
    'A health check for a container or a monitor. A check that the backend cannot answer counts as neither good nor bad. Age and queues ignore paused queues. Every failed check says what to do. With several backends each is checked; a backend without a job of the app needs no workers.',
  flags: {
    maxAge: flag(
      '--max-age <duration>',
      'unhealthy when a job has been ready for longer',
      duration(1),
      '15m',
    ),
    minWorkers: flag(
      '--min-workers <n>',
      'unhealthy when fewer were seen within 15 seconds; 0 where functions run the jobs',
      integer(0),
      '1',
    ),
    maxDead: flag(
      '--max-dead <n>',
      'unhealthy when there are more dead letters; by default any number is healthy',
      integer(0),
    ),
    maxLate: flag(
      '--max-late <duration>',
      'unhealthy when a job of a schedule is this late and not enqueued',
      duration(1),
      '2m',
    ),
    timeout: flag(
      '--timeout <duration>',
      'unhealthy when the backend has not answered by then',
      duration(1),
      '5s',
    ),
  },
  examples: [
    'longshore health',
    'longshore health --max-age 2m --min-workers 2 --json',
    'longshore health --min-workers 0 --max-dead 100',
  ],
  exits: { 0: 'healthy', 1: 'unhealthy, or the check failed' },
  async run(input) {
    const { flags, session, ui, io } = input;
    const { app } = await session.config();
    const late = (): never => {
      const limit = span(flags.timeout);
      throw new CliError('INTERNAL', 1, `no answer within ${limit}. Check the server, or raise --timeout`);
    };
    const inTime = <T>(answer: Promise<T>): Promise<T> => within(io.clock, flags.timeout, answer, late);
    const checks = [await check('keys', async () => [true, `signs with ${app.keyRing().kid}`])];
    let clients: readonly Client[] = [];
    const opened = await check('backend', async () => {
      clients = await inTime(session.clients());
      return [true, ''];
    });
    if (!opened.ok) checks.push(opened);
    for (const client of clients) {
      const own = await checksOf(client, input, inTime);
      checks.push(...(clients.length > 1 ? own.map((one) => ({ backend: client.name!, ...one })) : own));
    }
    const healthy = checks.every(({ ok }) => ok !== false);
    return {
      data: { healthy, checks },
      text: `${tableOf(checks, ui)}\n${healthy ? 'healthy' : ui.paint('red', 'unhealthy')}`,
      exit: healthy ? 0 : 1,
    };
  },
});

async function checksOf(
  client: Client,
  { flags, io }: { readonly flags: Limits; readonly io: Io },
  inTime: (answer: Promise<Answer>) => Promise<Answer>,
): Promise<Check[]> {
  const { app, backend, name } = client;
  const facts = healthFacts(async () => client, io.clock);
  const reached = await check('backend', () => inTime(reach(facts)));
  if (!reached.ok) return [reached];
  const checks = [reached];
  const add = async (what: Check['name'], ask: () => Promise<Answer>) => {
    checks.push(await check(what, () => inTime(ask())));
  };
  const { probe } = backend.admin ?? {};
  if (probe) await add('send', () => probe().then((): Answer => [true, 'it takes jobs']));
  if (backend.admin?.check) await add('settings', () => settings(facts));
  await add('age', () => age(facts, flags.maxAge));
  const minWorkers = name !== undefined && app.queues.length === 0 ? 0 : flags.minWorkers;
  await add('workers', () => workersSeen(facts, minWorkers));
  if (minWorkers > 0) await add('queues', () => queuesServed(facts));
  await add('dead', () => deadLettersWithin(facts, flags.maxDead));
  const some = app.schedules.length > 0 || (await hasStored(client).catch(() => false));
  if (some) await add('schedules', () => schedulesTicked(facts, flags.maxLate));
  return checks;
}

async function hasStored({ stores }: Client): Promise<boolean> {
  return (await stores.schedules?.list({ max: 1 }))?.length === 1;
}

/** Width of the state and the longest name, with the space between them. */
const headWidth = 16;

/** Wraps long details, with an indent. */
function tableOf(checks: readonly Check[], ui: Ui): string {
  const widest = Math.max(
    0,
    ...checks.map(({ backend }) => (backend === undefined ? 0 : columnsOf(backend) + 2)),
  );
  const fits = ({ detail }: Check) =>
    ui.columns === null || headWidth + widest + columnsOf(detail) <= ui.columns;
  const columns: readonly Column<Check>[] = [
    {
      title: '',
      value: ({ ok }) => (ok === null ? '?' : ok ? 'ok' : 'bad'),
      style: ({ ok }) => (ok === false ? 'red' : 'green'),
    },
    ...(widest > 0 ? [{ title: 'backend', value: ({ backend = '' }: Check) => backend }] : []),
    { title: 'check', value: (row) => row.name },
    { title: '', value: (row) => (fits(row) ? row.detail : ''), whole: true },
  ];
  return ui.table(checks, columns, { text: (row) => (fits(row) ? null : row.detail), whole: true });
}

async function check(name: Check['name'], ask: () => Promise<Answer>): Promise<Check> {
  try {
    const [ok, found, remedy] = await ask();
    return { name, ok, detail: remedy === undefined ? found : `${found}. ${remedy}` };
  } catch (error) {
    const { code, message } = explain(error);
    return { name, ok: false, detail: `${code}: ${message}` };
  }
}

async function reach({ client, stats }: HealthFacts): Promise<Answer> {
  const { backend, stores } = await client();
  if ((await stats()) === null) await stores.records.get('health');
  return [true, `${backend.name} answers`];
}

/** Advice counts as `null`, neither good nor bad: the setting may be intended. */
async function settings({ client }: HealthFacts): Promise<Answer> {
  const { app, backend } = await client();
  const advice = await checkSettings(app, backend);
  return advice?.length ? [null, advice.join(' ')] : [true, 'the queue settings fit the jobs'];
}

async function age({ client, stats }: HealthFacts, maxAgeMs: number): Promise<Answer> {
  const open = (await stats())?.filter(({ paused }) => !paused);
  if (!open || open.some(({ ready, oldestReadyMs }) => ready > 0 && oldestReadyMs === null)) {
    return [null, `${(await client()).backend.name} does not report how long jobs wait`];
  }
  const oldest = open.toSorted((a, b) => (b.oldestReadyMs ?? -1) - (a.oldestReadyMs ?? -1))[0];
  if (oldest == null || oldest.oldestReadyMs === null) return [true, 'no job is waiting'];
  const ok = oldest.oldestReadyMs <= maxAgeMs;
  const text = `the oldest ready job waits ${span(oldest.oldestReadyMs)} in ${oldest.queue}`;
  if (ok) return [true, text];
  const remedy = 'Start more workers, or see their running jobs with longshore workers';
  return [false, `${text}, longer than ${span(maxAgeMs)}`, remedy];
}

/** `ok` is `null` if the backend cannot answer. If it is `false`, there is a remedy. */
export type Answer = readonly [ok: boolean | null, detail: string, remedy?: string];

/** Queries that several checks share run once. */
export function healthFacts(client: () => Promise<Client>, clock: Clock) {
  return {
    client,
    clock,
    /** Counts of all queues; `null` = the backend has none. */
    stats: onDemand(async () => (await (await client()).backend.admin?.stats()) ?? null),
    healthyWorkers: onDemand(async () => {
      const { stores } = await client();
      const now = clock.now();
      const beats = await stores.workers.list(now - healthyWithinMs);
      return beats.filter(({ seenAt }) => workerStateOf(seenAt, now) === 'healthy');
    }),
  };
}
type HealthFacts = ReturnType<typeof healthFacts>;

async function workersSeen({ healthyWorkers }: HealthFacts, least: number): Promise<Answer> {
  const found = (await healthyWorkers()).length;
  const text = `${count(found, 'worker')} seen within ${span(healthyWithinMs)}`;
  return found >= least
    ? [true, text]
    : [false, `${text}, expected ${least}`, 'Start one with longshore work'];
}

async function queuesServed({ client, stats, healthyWorkers }: HealthFacts): Promise<Answer> {
  const queues = await stats();
  if (!queues) return [null, `${(await client()).backend.name} does not report waiting jobs`];
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
  if (!queues) return [null, `${(await client()).backend.name} does not report the number of dead letters`];
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
    return [null, `${backend.name} does not report when schedules were checked`];
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
