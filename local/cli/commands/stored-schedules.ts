/** `longshore schedule upsert`, `stored` and `remove`: schedules that are made at run time. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { hint } from '../../../core/base/nearest.ts';
import type { StoredScheduleInfo } from '../../../core/kernel/app/stored-schedule.ts';
import { keepsSchedules } from '../../../core/kernel/enqueue/backends.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { flag } from '../config/flags.ts';
import { duration, given, integer, name, oneOf, words } from '../config/values.ts';
import { type Command, defineCommand } from '../definition.ts';
import { notFound, usage } from '../errors.ts';
import { type Column, span, type Ui, when } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { change } from './change.ts';
import { payloadFlag, payloadOf } from './enqueue.ts';
import { nameArgs, scheduleIn } from './show-schedule.ts';

/** The name of its job, of one in code or one made at run time. Throws `NOT_FOUND`. */
export async function jobOfSchedule(session: Session, wanted: string): Promise<string> {
  const { app } = await session.config();
  if (app.schedules.some((one) => one.name === wanted)) return scheduleIn(app, wanted).job.name;
  const client = await session.client();
  const stored = keepsSchedules(client) ? await client.schedules.get(wanted) : null;
  return stored ? stored.job : scheduleIn(app, wanted).job.name;
}

const overlapOf = oneOf(['allow', 'skip']);
const missedOf = oneOf(['one', 'all', 'skip']);

const columnsAt = (now: number): readonly Column<StoredScheduleInfo>[] => [
  { title: 'schedule', value: (row) => row.name },
  { title: 'timing', value: (row) => row.timing },
  { title: 'job', value: (row) => row.job },
  { title: 'tenant', value: (row) => row.context?.tenantId ?? '', least: 100 },
  {
    title: 'next',
    value: ({ nextAt, pausedAt, failure }) => {
      if (pausedAt !== null) return `paused for ${span(Math.max(0, now - pausedAt))}`;
      if (failure !== null) return `${failure.code}: ${failure.message}`;
      return nextAt === null
        ? 'never'
        : `${when(nextAt).slice(0, 16)}Z, in ${span(Math.max(0, nextAt - now))}`;
    },
    whole: true,
  },
];

type Page = Awaited<ReturnType<Client['schedules']['list']>>;

/** The first ones by name; `null` = none are kept here. */
export const someStored = async (client: Client): Promise<Page | null> =>
  keepsSchedules(client) ? client.schedules.list({ max: 20 }) : null;

/** Below those in code. */
export function storedText(ui: Ui, page: Page | null, now: number): string {
  if (!page || page.schedules.length === 0) return '';
  const more = page.next === null ? '' : `\n\nThere are more: longshore schedule stored --after ${page.next}`;
  return `\n\nmade at run time\n${ui.table(page.schedules, columnsAt(now))}${more}`;
}

const stored = defineCommand({
  path: 'schedule stored',
  summary: 'list the schedules that were made at run time',
  about: 'By name. Those in code are in `longshore schedule list`.',
  flags: {
    max: flag('--max <n>', 'at most this many, up to 1000', integer(1, 1_000), '100'),
    after: flag('--after <name>', 'those behind this name', name),
  },
  examples: ['longshore schedule stored', 'longshore schedule stored --max 1000 --json'],
  async run({ flags: { max, after }, session, ui, io }) {
    const client = await session.client();
    const { schedules, next } = await client.schedules.list({ max, ...given({ after }) });
    const data = { schedules, next };
    if (schedules.length === 0) return { data, text: 'No schedule was made at run time.' };
    const more = next === null ? '' : `\n\nThere are more: longshore schedule stored --after ${next}`;
    return { data, text: ui.table(schedules, columnsAt(io.clock.now())) + more };
  },
});

const upsert = defineCommand({
  path: 'schedule upsert',
  summary: 'make a schedule at run time, or change one',
  about:
    'What is not given gets its default, also where the schedule is there. With the same timing its planned times stay, with another one they begin now. The payload is checked against the schema of the job. A name in code is refused.',
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
    const { cron, every: everyMs, timezone, overlap, missed, tenant } = flags;
    if (cron === undefined && everyMs === undefined) throw usage('Expected --cron or --every, got neither.');
    if (flags.payload === undefined) throw usage('Expected --payload with the payload as JSON, got none.');
    const made = await (await session.operator()).schedules.upsert({
      ...{ name: wanted, job, payload: await payloadOf({ io }, flags.payload) },
      ...given({ cron, everyMs, timezone, overlap, missed }),
      ...(tenant !== undefined && { context: { tenantId: tenant } }),
    });
    const next = made.nextAt === null ? (made.pausedAt === null ? 'never' : 'paused') : when(made.nextAt);
    return { data: { ...made }, text: `${made.name}  ${made.timing}  ${made.job}  next: ${next}` };
  },
});

const remove = change('schedules.remove', {
  path: 'schedule remove',
  about: 'Jobs that it has enqueued stay.',
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

export const storedScheduleCommands: readonly Command[] = [stored, upsert, remove];
