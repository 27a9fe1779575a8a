import { LongshoreError } from '../../../core/base/errors.ts';
import { hint } from '../../../core/base/nearest.ts';
import { tick as tickOnce } from '../../../core/features/schedules/feature.ts';
import type { ScheduleInCode } from '../../../core/features/schedules/history.ts';
import type { Schedule } from '../../../core/kernel/app/schedule.ts';
import type { StoredScheduleInfo } from '../../../core/kernel/app/stored-schedule.ts';
import { eachOf, keepsSchedules, scoped } from '../../../core/kernel/enqueue/backends.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import type { Operator } from '../../../core/operations/types.ts';
import { missedBy } from '../../../core/routing/each.ts';
import { flag } from '../config/flags.ts';
import { duration, given, integer, moment, name, oneOf, words } from '../config/values.ts';
import { type Command, defineCommand, someAway } from '../definition.ts';
import { notFound, usage } from '../errors.ts';
import { type Column, count, span, type Ui, when } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { change } from './change.ts';
import { payloadFlag, payloadOf } from './enqueue.ts';
import { listed } from './perform.ts';
import { backendColumn } from './running-jobs.ts';
import { type Entry, nameArgs, noSchedule, scheduleIn, showSchedule, tookText } from './show-schedule.ts';

interface Row extends Omit<ScheduleInCode, 'history'> {
  readonly backend?: string;
  readonly last?: Entry | null;
  readonly pausedAt?: number | null;
  readonly lastId?: string | null;
}

async function rowAt(now: number, schedule: Schedule): Promise<Row> {
  const { name, job, timing, overlap, missed } = schedule;
  return { name, timing, job: job.name, overlap, missed, nextAt: await schedule.nextAfter(now) };
}

const withLast = ({ history, ...row }: ScheduleInCode): Row => {
  const { entries = [], pausedAt = null, lastId = null } = history ?? {};
  return { ...row, last: entries[0] ?? null, pausedAt, lastId };
};

const lastColumn: Column<Row> = {
  title: 'last',
  value: ({ last, lastId = null }) =>
    last == null
      ? lastId === null
        ? 'none'
        : 'record deleted'
      : last.kind === 'skipped'
        ? `skipped (${last.reason})`
        : `${last.status} ${tookText(last)}${last.slow ? ', slow' : ''}`.trim(),
};

/** For schedules in code and those made at run time. */
type Titled = Pick<StoredScheduleInfo, 'name' | 'timing' | 'job'>;
const titleColumns: readonly Column<Titled>[] = [
  { title: 'schedule', value: (row) => row.name },
  { title: 'timing', value: (row) => row.timing },
  { title: 'job', value: (row) => row.job },
];

function nextText(now: number, nextAt: number | null, pausedAt: number | null): string {
  if (pausedAt !== null) return `paused for ${span(Math.max(0, now - pausedAt))}`;
  return nextAt === null ? 'never' : `${when(nextAt).slice(0, 16)}Z, in ${span(Math.max(0, nextAt - now))}`;
}

const columnsAt = (now: number): readonly Column<Row>[] => [
  ...titleColumns,
  { title: 'overlap', value: (row) => row.overlap, least: 100 },
  { title: 'missed', value: (row) => row.missed, least: 100 },
  { title: 'next', value: ({ nextAt, pausedAt = null }) => nextText(now, nextAt, pausedAt), whole: true },
];

const list = defineCommand({
  path: 'schedule list',
  summary: "list the app's schedules and when they are due next",
  about: 'Reads the config. Opens a backend only with --last.',
  exits: { 1: someAway },
  flags: {
    last: flag(
      '--last',
      'ask the backend for the last run of each, its pause, and the schedules made at run time',
    ),
  },
  examples: ['longshore schedule list', 'longshore schedule list --last'],
  async run(input) {
    const { flags, session, ui, io } = input;
    const { app } = await session.config();
    const now = io.clock.now();
    if (!flags.last) {
      const schedules = await Promise.all(app.schedules.map((schedule) => rowAt(now, schedule)));
      const text = schedules.length > 0 ? ui.table(schedules, columnsAt(now)) + hintText : noneText;
      return { data: { schedules }, text };
    }
    const operator = await session.operator();
    const { schedules: inCode, ...missed } = await operator.schedules.inCode();
    const stored = await someStored(await session.keyless(), operator);
    const schedules = inCode.map(withLast);
    const columns = [...backendColumn(schedules), ...columnsAt(now), lastColumn];
    const own = app.schedules.length === 0 ? noneText : ui.table(schedules, columns);
    const data = { schedules, ...(stored && { stored: stored.schedules }), ...missedBy(missed, stored) };
    return listed(input, data, own + storedText(ui, stored, now));
  },
});

const noneText = 'The app has no schedules.';

const hintText =
  '\n\nWhether one is paused: longshore schedule list --last\nThose made at run time: longshore schedule stored';

const inBoth = {
  example: 'nightly-report',
  arg: nameArgs[0],
  exits: noSchedule,
  find: async (session: Session, target: string) => ({ target, found: await jobOfSchedule(session, target) }),
};

const runNow = change('schedules.run', {
  ...inBoth,
  path: 'schedule run',
  about:
    'Its scheduled times do not change. Like pause and resume, it takes schedules in code and those made at run time.',
  async find(session, target) {
    const wanted = await jobOfSchedule(session, target);
    const { name, queue } = (await session.config()).app.jobs.get(wanted) ?? { name: null, queue: null };
    return { target, found: { job: name, queue } };
  },
  data: (schedule, id, job) => ({ schedule, id, ...job }),
});

const pause = change('schedules.pause', {
  ...inBoth,
  path: 'schedule pause',
  about:
    'Its job is not enqueued until `longshore schedule resume`. Runs that fall due meanwhile are skipped, even with `missed: all`. Jobs that are already enqueued still run.',
  data: (schedule) => ({ schedule, paused: true }),
  next: (schedule) => `Go on with: longshore schedule resume ${schedule}`,
});

const resume = change('schedules.resume', {
  ...inBoth,
  path: 'schedule resume',
  about: 'The next run is the first that is due after now. Does nothing if the schedule is not paused.',
  data: (schedule) => ({ schedule, paused: false }),
});

const tick = defineCommand({
  path: 'tick',
  summary: 'enqueue the jobs of schedules whose time has come since the last tick',
  about:
    'Workers tick by themselves. If no worker runs, call it from a cron job or a timer. Each run is enqueued once, even if several processes tick. It also evaluates the alerts of the app.',
  examples: ['longshore tick --json'],
  exits: { 1: 'failed, or a job could not be enqueued; the next tick tries again' },
  async run({ session }) {
    const client = await session.client();
    const { app } = client;
    const failed: { schedule: string; code: string; message: string }[] = [];
    const unlisten = app.events.on((event) => {
      if (event.type !== 'schedule.failed') return;
      failed.push({ schedule: event.schedule, code: event.error.code, message: event.error.message });
    });
    const enqueued = await tickOnce(app, client).finally(unlisten);
    for (const one of eachOf(client)) await app.alerts?.evaluate(scoped(one), 'worker');
    const lines = failed.map(({ schedule, code, message }) => `${schedule}: ${code}: ${message}`);
    return {
      data: { enqueued, failed },
      text: [...lines, `${count(enqueued.length, 'job')} enqueued.`].join('\n'),
      exit: failed.length > 0 ? 1 : 0,
    };
  },
});

/** The job's name of a schedule in code or made at run time. Throws `NOT_FOUND`. */
async function jobOfSchedule(session: Session, wanted: string): Promise<string> {
  const { app } = await session.config();
  if (app.schedules.some((one) => one.name === wanted)) return scheduleIn(app, wanted).job.name;
  const client = await session.client();
  const stored = keepsSchedules(client) ? await client.schedules.get(wanted) : null;
  return stored ? stored.job : scheduleIn(app, wanted).job.name;
}

const overlapOf = oneOf(['allow', 'skip']);
const missedOf = oneOf(['one', 'all', 'skip']);

const storedColumnsAt = (now: number): readonly Column<StoredScheduleInfo>[] => [
  ...titleColumns,
  { title: 'tenant', value: (row) => row.context?.tenantId ?? '', least: 100 },
  {
    title: 'next',
    value: ({ nextAt, pausedAt, failure }) =>
      failure !== null && pausedAt === null
        ? `${failure.code}: ${failure.message}`
        : nextText(now, nextAt, pausedAt),
    whole: true,
  },
];

type Page = Awaited<ReturnType<Operator['schedules']['list']>>;

/** The first page of schedules made at run time; `null` = no store keeps them. */
const someStored = async (client: Client, { schedules }: Operator): Promise<Page | null> =>
  keepsSchedules(client) ? schedules.list({ max: 20 }) : null;

const moreText = ({ next }: Page): string =>
  next === null ? '' : `\n\nThere are more: longshore schedule stored --after ${next}`;

/** The table below the schedules in code. */
function storedText(ui: Ui, page: Page | null, now: number): string {
  if (!page || page.schedules.length === 0) return '';
  const columns = [...backendColumn(page.schedules), ...storedColumnsAt(now)];
  return `\n\nmade at run time\n${ui.table(page.schedules, columns)}${moreText(page)}`;
}

const stored = defineCommand({
  path: 'schedule stored',
  summary: 'list the schedules that were made at run time',
  about: 'Sorted by name. `longshore schedule list` lists those in code.',
  flags: {
    max: flag('--max <n>', 'at most this many, up to 1000', integer(1, 1_000), '100'),
    after: flag('--after <name>', 'list the schedules after this name', name),
  },
  examples: ['longshore schedule stored', 'longshore schedule stored --max 1000 --json'],
  exits: { 1: someAway },
  async run(input) {
    const { flags, session, ui, io } = input;
    const { schedules: stored } = await session.operator();
    const data = await stored.list(given(flags));
    const { schedules } = data;
    if (schedules.length === 0) return listed(input, { ...data }, 'No schedule was made at run time.');
    const columns = [...backendColumn(schedules), ...storedColumnsAt(io.clock.now())];
    return listed(input, { ...data }, ui.table(schedules, columns) + moreText(data));
  },
});

const upsert = defineCommand({
  path: 'schedule upsert',
  summary: 'make a schedule at run time, or change one',
  about:
    'Values that are not given get their defaults, also if the schedule exists. With the same timing its scheduled times stay; with a new timing they start from now. The payload is checked against the schema of the job. Refuses the name of a schedule in code.',
  args: [...nameArgs, { name: '<job>', text: 'name of a job of the app', parse: name }],
  flags: {
    payload: {
      ...payloadFlag,
      text: 'the payload as JSON, @ and the name of a file, or - to read it from stdin',
    },
    cron: {
      flags: '--cron <pattern>',
      text: 'five fields, or six with seconds first',
      parse: words,
      conflicts: ['every'],
    },
    every: flag('--every <duration>', 'a fixed interval, at least 1s', duration(1_000)),
    timezone: flag('--timezone <zone>', 'IANA name, for --cron (UTC)', words),
    overlap: flag('--overlap <policy>', 'allow or skip', overlapOf),
    missed: flag('--missed <policy>', 'one, all or skip', missedOf),
    until: flag('--until <moment>', 'no run is due after it, like 2030-01-31T18:00:00Z', moment),
    limit: flag('--limit <n>', 'it ends after this many runs', integer(1)),
    tenant: flag('--tenant <id>', 'the tenant of its jobs', words),
  },
  examples: [
    `longshore schedule upsert remind-7 remind --cron '0 9 * * 1' --timezone Europe/Berlin --payload '{"userId":"7"}'`,
    `longshore schedule upsert poll-7 poll --every 15m --payload '{"userId":"7"}' --overlap skip --tenant acme`,
  ],
  exits: { 2: 'the command line, the job, the payload or the timing is wrong, and nothing was changed' },
  async run({ args: [wanted = '', jobName = ''], flags, session, io }) {
    const { app } = await session.config();
    const job = app.jobs.get(jobName);
    if (!job)
      throw new LongshoreError(
        'UNKNOWN_JOB',
        `The app has no job "${jobName}".${hint(jobName, app.jobs.keys())}`,
      );
    const { cron, every: everyMs, timezone, overlap, missed, until, limit, tenant } = flags;
    if (cron === undefined && everyMs === undefined) throw usage('Expected --cron or --every, got neither.');
    if (flags.payload === undefined) throw usage('Expected --payload with the payload as JSON, got none.');
    const made = await (await session.operator()).schedules.upsert({
      ...{ name: wanted, job, payload: await payloadOf({ io }, flags.payload) },
      ...given({ cron, everyMs, timezone, overlap, missed, until, limit }),
      ...(tenant !== undefined && { context: { tenantId: tenant } }),
    });
    const next = made.nextAt === null ? (made.pausedAt === null ? 'never' : 'paused') : when(made.nextAt);
    return { data: { ...made }, text: `${made.name}  ${made.timing}  ${made.job}  next: ${next}` };
  },
});

const remove = change('schedules.remove', {
  path: 'schedule remove',
  about: 'Jobs that it has already enqueued stay.',
  example: 'remind-7',
  arg: nameArgs[0],
  exits: { 3: 'no schedule of this name was made at run time' },
  async find(session, target) {
    const client = await session.client();
    if (keepsSchedules(client) && (await client.schedules.get(target))) return { target, found: null };
    throw notFound(`No schedule "${target}" was made at run time. longshore schedule stored lists them.`);
  },
  data: (schedule) => ({ schedule, removed: true }),
});

export const scheduleCommands: readonly Command[] = [
  list,
  showSchedule,
  runNow,
  pause,
  resume,
  stored,
  upsert,
  remove,
  tick,
];
