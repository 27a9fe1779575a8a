import { scheduleHistory } from '../../../core/features/schedules/history.ts';
import { tick as tickOnce } from '../../../core/features/schedules/tick.ts';
import type { Schedule } from '../../../core/kernel/app/schedule.ts';
import { eachOf, scoped } from '../../../core/kernel/enqueue/backends.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { flag } from '../config/flags.ts';
import { type Command, defineCommand } from '../definition.ts';
import { type Column, count, span, when } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { change } from './change.ts';
import { type Entry, nameArgs, noSchedule, showSchedule, tookText } from './show-schedule.ts';
import { jobOfSchedule, someStored, storedScheduleCommands, storedText } from './stored-schedules.ts';

async function rowAt(now: number, schedule: Schedule) {
  const { name, job, timing, overlap, missed } = schedule;
  return { name, timing, job: job.name, overlap, missed, nextAt: await schedule.nextAfter(now) };
}
type Row = Awaited<ReturnType<typeof rowAt>> & {
  readonly last?: Entry | null;
  readonly pausedAt?: number | null;
  readonly lastId?: string | null;
};

/** What the backend says of it. */
async function told(client: Client, schedule: string) {
  const { entries, pausedAt, lastId } = await scheduleHistory(client, schedule);
  return { last: entries[0] ?? null, pausedAt, lastId };
}

const lastColumn: Column<Row> = {
  title: 'last',
  value: ({ last, lastId = null }) =>
    last == null
      ? lastId === null
        ? 'none'
        : 'kept no more'
      : last.kind === 'skipped'
        ? `skipped (${last.reason})`
        : `${last.status} ${tookText(last)}${last.slow ? ', slow' : ''}`.trim(),
};

const columnsAt = (now: number): readonly Column<Row>[] => [
  { title: 'schedule', value: (row) => row.name },
  { title: 'timing', value: (row) => row.timing },
  { title: 'job', value: (row) => row.job },
  { title: 'overlap', value: (row) => row.overlap, least: 100 },
  { title: 'missed', value: (row) => row.missed, least: 100 },
  {
    title: 'next',
    value: ({ nextAt, pausedAt = null }) => {
      if (pausedAt !== null) return `paused for ${span(Math.max(0, now - pausedAt))}`;
      return nextAt === null ? 'never' : `${when(nextAt).slice(0, 16)}Z, in ${span(nextAt - now)}`;
    },
    whole: true,
  },
];

const list = defineCommand({
  path: 'schedule list',
  summary: "list the app's schedules and when they are due next",
  about: 'Read from the config; no backend is opened without --last.',
  flags: {
    last: flag(
      '--last',
      'ask the backend how the last moment of each went, whether it is paused, and for those made at run time',
    ),
  },
  examples: ['longshore schedule list', 'longshore schedule list --last'],
  async run({ flags, session, ui, io }) {
    const { app } = await session.config();
    const now = io.clock.now();
    const client = flags.last ? await session.client() : null;
    const schedules = await Promise.all(
      app.schedules.map(async (schedule) => {
        const row = await rowAt(now, schedule);
        return client ? { ...row, ...(await told(client, schedule.name)) } : row;
      }),
    );
    const stored = client ? await someStored(client) : null;
    const columns = [...columnsAt(now), ...(client ? [lastColumn] : [])];
    const data = { schedules, ...(stored && { stored: stored.schedules }) };
    const own = schedules.length === 0 ? 'The app has no schedules.' : ui.table(schedules, columns);
    if (!client && schedules.length === 0) return { data, text: own };
    return { data, text: own + (client ? storedText(ui, stored, now) : hintText) };
  },
});

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
    'Its planned times stay as they are. Takes one in code or one made at run time, as pause and resume do.',
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
    'Its job is not enqueued until `longshore schedule resume`. What falls due meanwhile is left out for good, whatever its missed says; jobs that are enqueued already run.',
  data: (schedule) => ({ schedule, paused: true }),
  next: (schedule) => `Go on with: longshore schedule resume ${schedule}`,
});

const resume = change('schedules.resume', {
  ...inBoth,
  path: 'schedule resume',
  about: 'Its next planned time is the first after now. Does nothing to a schedule that is not paused.',
  data: (schedule) => ({ schedule, paused: false }),
});

const tick = defineCommand({
  path: 'tick',
  summary: 'enqueue the jobs of schedules whose time has come since the last tick',
  about:
    'Workers tick by themselves. Use it from a cron job or a timer where no worker runs. Each moment is enqueued once, however many processes tick. Looks at the alerts of the app too.',
  examples: ['longshore tick --json'],
  exits: { 1: 'failed, or some schedule could not be enqueued; the next tick tries it again' },
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

export const scheduleCommands: readonly Command[] = [
  list,
  showSchedule,
  runNow,
  pause,
  resume,
  ...storedScheduleCommands,
  tick,
];
