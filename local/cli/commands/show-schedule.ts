import type { App } from '../../../core/app/app.ts';
import type { Schedule } from '../../../core/app/schedule.ts';
import { type ScheduleHistory, type ScheduleRun, scheduleHistory } from '../../../core/scheduler/history.ts';
import { maxFlag } from '../config/flags.ts';
import { hint } from '../config/nearest.ts';
import { name } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { notFound } from '../errors.ts';
import { type Column, count, span, when } from '../output/ui.ts';
import { statusStyles } from './jobs.ts';

export const nameArgs = [{ name: '<name>', text: 'name of a schedule', parse: name }] as const;
export const noSchedule = { 3: 'the app has no such schedule' };

export const showSchedule = defineCommand({
  path: 'schedule show',
  summary: 'show the last runs of a schedule, and the moments it left out',
  about:
    'A run is slow when it took more than twice the median of the completed ones here, of which there are at least five. Runs are listed as long as their records are kept, moments without a job as the last fifty entries.',
  args: nameArgs,
  flags: { max: maxFlag },
  examples: [
    'longshore schedule show nightly-report',
    'longshore schedule show nightly-report --max 100 --json',
  ],
  exits: noSchedule,
  async run({ args, flags, session, ui, io }) {
    const schedule = scheduleIn((await session.config()).app, args[0] ?? '');
    const found = await scheduleHistory(await session.client(), schedule.name, { max: flags.max });
    const { entries, checkedAt } = found;
    const now = io.clock.now();
    const at = (time: number | null): string =>
      time === null
        ? 'not known'
        : `${when(time)} (${time > now ? `in ${span(time - now)}` : `${span(now - time)} ago`})`;
    const facts = ui.facts([
      ['schedule', schedule.name],
      ['timing', schedule.timing],
      ['job', schedule.job.name],
      ['ticked', checkedAt === null ? 'never, or right now' : at(checkedAt)],
      ['next', found.pausedAt === null ? at(found.nextAt) : `paused since ${at(found.pausedAt)}`],
    ]);
    const table = entries.length > 0 ? ui.table(entries, entryColumns) : 'Nothing has fallen due yet.';
    return { data: { ...found }, text: `${facts}\n\n${table}` };
  },
});

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

/** What a tick once a minute can be late is not worth a word. */
const lateMs = 90_000;

/** Throws `NOT_FOUND`. */
export function scheduleIn(app: App, wanted: string): Schedule {
  const schedule = app.schedules.find((one) => one.name === wanted);
  if (schedule) return schedule;
  const names = app.schedules.map((one) => one.name);
  throw notFound(`The app has no schedule "${wanted}".${hint(wanted, names)}`);
}
