import { hint } from '../../../core/base/nearest.ts';
import {
  type ScheduleHistory,
  type ScheduleRun,
  scheduleHistory,
} from '../../../core/features/schedules/history.ts';
import { showStored } from '../../../core/features/schedules/stored/show.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import type { Schedule } from '../../../core/kernel/app/schedule.ts';
import type { StoredScheduleInfo } from '../../../core/kernel/app/stored-schedule.ts';
import { maxFlag } from '../config/flags.ts';
import { name } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { notFound } from '../errors.ts';
import { type Column, count, span, when } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { statusStyles } from './jobs.ts';

export const nameArgs = [{ name: '<name>', text: 'name of a schedule', parse: name }] as const;
export const noSchedule = { 3: 'the app has no such schedule' };

export const showSchedule = defineCommand({
  path: 'schedule show',
  summary: 'show the last runs of a schedule, and its skipped runs',
  about:
    'Takes schedules in code and those made at run time. A run is slow if it took more than twice the median of the completed runs listed; that needs at least five of them. Runs are listed while their records are kept, and skipped runs up to the last fifty.',
  args: nameArgs,
  flags: { max: maxFlag },
  examples: [
    'longshore schedule show nightly-report',
    'longshore schedule show nightly-report --max 100 --json',
  ],
  exits: noSchedule,
  async run({ args: [wanted = ''], flags, session, ui, io }) {
    const { app } = await session.config();
    const { schedule, found, info } = app.schedules.some(({ name }) => name === wanted)
      ? await inCode(session, wanted, flags)
      : await atRunTime(session, wanted, flags);
    const entries = found?.entries ?? [];
    const checkedAt = found?.checkedAt ?? null;
    const now = io.clock.now();
    const at = (time: number | null): string =>
      time === null
        ? 'not known'
        : `${when(time)} (${time > now ? `in ${span(time - now)}` : `${span(now - time)} ago`})`;
    const pausedAt = info ? info.pausedAt : (found?.pausedAt ?? null);
    const nextAt = info ? info.nextAt : (found?.nextAt ?? null);
    const facts = ui.facts([
      ['schedule', schedule.name],
      ['timing', schedule.timing],
      ['job', schedule.job],
      ['made', info ? `at run time, ${at(info.createdAt)}` : null],
      ['tenant', info?.context?.tenantId ?? null],
      ['ticked', checkedAt === null ? 'never, or right now' : at(checkedAt)],
      ['next', pausedAt === null ? at(nextAt) : `paused since ${at(pausedAt)}`],
      ['fails', info?.failure ? `${info.failure.code}: ${info.failure.message}` : null],
    ]);
    const lastId = found?.lastId ?? null;
    const nothing =
      lastId === null
        ? 'Nothing has fallen due yet.'
        : `The records of its jobs have been deleted. The last job was ${lastId}.`;
    const table = entries.length > 0 ? ui.table(entries, entryColumns) : nothing;
    const none = { schedule: schedule.name, checkedAt, nextAt, pausedAt, lastId, entries };
    return { data: { ...(found ?? none), ...(info && { stored: info }) }, text: `${facts}\n\n${table}` };
  },
});

interface Shown {
  readonly schedule: { readonly name: string; readonly timing: string; readonly job: string };
  readonly found: ScheduleHistory | null;
  readonly info: StoredScheduleInfo | null;
}

type Page = { readonly max: number };

async function inCode(session: Session, wanted: string, { max }: Page): Promise<Shown> {
  const { name, timing, job } = scheduleIn((await session.config()).app, wanted);
  const found = await scheduleHistory(await session.client(), name, { max });
  return { schedule: { name, timing, job: job.name }, found, info: null };
}

/** Throws `NOT_FOUND`. */
async function atRunTime(session: Session, wanted: string, { max }: Page): Promise<Shown> {
  const shown = await showStored(await session.client(), wanted, { max, mostNext: 0 });
  if (!shown) throw noScheduleCalled((await session.config()).app, wanted);
  return { schedule: shown.info, found: shown.history, info: shown.info };
}

export type Entry = ScheduleHistory['entries'][number];

const entryColumns: readonly Column<Entry>[] = [
  { title: 'due', value: (row) => when(row.dueAt) },
  {
    title: 'outcome',
    value: (row) => (row.kind === 'run' ? row.status : 'skipped'),
    style: (row) => (row.kind === 'skipped' ? 'yellow' : (statusStyles[row.status] ?? null)),
  },
  { title: 'took', align: 'right', value: (row) => (row.kind === 'run' ? tookText(row) : '') },
  { title: '', value: entryText },
];

export const tookText = ({ durationMs }: ScheduleRun): string =>
  durationMs === null ? '' : span(durationMs);

const reasons = { missed: 'nothing ticked in time', paused: 'the schedule was paused' };

function entryText(row: Entry): string {
  if (row.kind === 'skipped') {
    const why = row.reason === 'overlap' ? `job ${row.id} had not ended` : reasons[row.reason];
    return row.count === 1 ? why : `${count(row.count, 'moment')} until ${when(row.lastDueAt)}: ${why}`;
  }
  const remarks = [
    row.slow ? 'slow' : '',
    row.lateMs > lateMs ? `${span(row.lateMs)} late` : '',
    row.attempts > 1 ? `${row.attempts} attempts` : '',
    row.error ?? '',
  ];
  return [row.id, ...remarks.filter((text) => text !== '')].join(', ');
}

/** Runs that are less late are normal with a tick once a minute, and not marked. */
const lateMs = 90_000;

/** Throws `NOT_FOUND`. */
export function scheduleIn(app: App, wanted: string): Schedule {
  const schedule = app.schedules.find((one) => one.name === wanted);
  if (schedule) return schedule;
  throw noScheduleCalled(app, wanted);
}

function noScheduleCalled(app: App, wanted: string): Error {
  const names = app.schedules.map((one) => one.name);
  return notFound(`The app has no schedule "${wanted}".${hint(wanted, names)}`);
}
