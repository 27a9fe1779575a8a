import { hint } from '../../../core/base/nearest.ts';
import type {
  JobReport,
  MetricPeriod,
  MetricReport,
  Flag as PastFlag,
} from '../../../core/kernel/app/metric-report.ts';
import { flag, queueFlag } from '../config/flags.ts';
import { given, name, oneOf } from '../config/values.ts';
import { defineCommand, type Input, someAway } from '../definition.ts';
import { notFound } from '../errors.ts';
import { bytes, type Column, number, short, span, type Ui, when } from '../output/ui.ts';
import { listed } from './perform.ts';
import { chosenQueues } from './select-jobs.ts';

const periods = ['hour', 'day', 'month'] as const satisfies readonly MetricPeriod[];

const period = oneOf(periods);

export const metrics = defineCommand({
  path: 'metrics',
  summary: 'show the recent runs, durations and outcomes of each job',
  about:
    'Workers and functions write their metrics every 10 seconds to the backend or the store beside it. `runs` counts attempts that completed, were retried or died. Times are those of the handler, with an error of at most 5 %. It also names jobs that are slower or fail more often than in their last 30 days. A narrow terminal shows fewer columns; --job and --json show all.',
  flags: {
    last: flag('--last <period>', 'hour (60 minutes), day (24 hours) or month (30 days)', period, 'hour'),
    job: flag('--job <name>', 'only this job, with all its metrics', name),
    queue: queueFlag,
  },
  examples: [
    'longshore metrics',
    'longshore metrics --last day --job invoice.send',
    "longshore metrics --last month --json | jq '.jobs[] | {job, runMs}'",
  ],
  exits: { 1: someAway, 3: 'there is no such job or queue, and nothing ran' },
  async run(input) {
    const { flags, session, ui, io } = input;
    const client = await session.client();
    const { last, job, queue } = flags;
    const report = await client.metrics({ last, ...given({ job, queue }) });
    const isEmpty = report.jobs.length === 0;
    if (job !== undefined && isEmpty) checkJob(client.app.jobs, job);
    if (queue !== undefined && isEmpty) await chosenQueues(session, [queue]);
    return listed(input, { last, ...report }, textOf(report, { last, job, ui, now: io.clock.now() }));
  },
});

function checkJob(jobs: ReadonlyMap<string, unknown>, job: string): void {
  if (!jobs.has(job)) throw notFound(`The app has no job "${job}", and none ran.${hint(job, jobs.keys())}`);
}

interface View {
  readonly last: MetricPeriod;
  readonly job: string | undefined;
  readonly ui: Input['ui'];
  readonly now: number;
}

function textOf(report: MetricReport, view: View): string {
  const { ui, now, job } = view;
  if (report.jobs.length === 0) return `Nothing ran in the last ${view.last}.`;
  const bars = `${ui.paint('dim', `done per ${report.step}`)}  ${barsOf(report)}`;
  const remarks = report.jobs.flatMap((one) =>
    one.flags.map((flag) => ui.paint('yellow', remarkOf(one, flag))),
  );
  const parts =
    job === undefined
      ? [ui.table(report.jobs, columnsAt(now)), bars]
      : report.jobs.map((one) => factsOf(one, ui, now)).concat(bars);
  return [...parts, ...(remarks.length > 0 ? [remarks.join('\n')] : [])].join('\n\n');
}

const titleOf = ({ job, queue }: JobReport): string => job || `(unknown job in ${queue})`;
const runsOf = ({ done, retried, dead }: JobReport): number => done + retried + dead;
const percent = (share: number): string => `${Math.round(share * 1_000) / 10} %`;
const time = (ms: number | undefined): string => (ms === undefined ? '-' : span(ms));

function columnsAt(now: number): Column<JobReport>[] {
  const column = (
    title: string,
    value: (row: JobReport) => string,
    least = 0,
    style?: Column<JobReport>['style'],
  ): Column<JobReport> => ({ title, value, align: 'right', least, ...(style && { style }) });
  const numbers = [
    column('runs', (row) => short(runsOf(row))),
    column('ok', ({ successRate }) => (successRate === null ? '-' : percent(successRate))),
    column('retried', (row) => short(row.retried), 100),
    column(
      'dead',
      (row) => short(row.dead),
      0,
      (row) => (row.dead > 0 ? 'red' : null),
    ),
    column('average', ({ runMs }) => time(runMs?.average), 110),
    column('p50', ({ runMs }) => time(runMs?.p50)),
    column(
      'p95',
      ({ runMs }) => time(runMs?.p95),
      0,
      ({ flags }) => (flags.some(({ kind }) => kind === 'slower') ? 'yellow' : null),
    ),
    column('p99', ({ runMs }) => time(runMs?.p99)),
    column('memory', ({ memory }) => (memory === null ? '-' : bytes(memory.average)), 120),
    column('last', ({ lastAt }) => (lastAt === null ? '-' : `${span(now - lastAt)} ago`)),
  ];
  return [{ title: 'job', value: titleOf }, ...numbers];
}

function factsOf(one: JobReport, ui: Ui, now: number): string {
  const { runMs, waitMs, memory, lastAt, successRate } = one;
  const durations = (all: typeof runMs): string | null =>
    all &&
    `average ${span(all.average)}, p50 ${span(all.p50)}, p95 ${span(all.p95)}, p99 ${span(all.p99)}, longest ${span(all.max)}`;
  const others = (['skipped', 'released', 'cancelled', 'lost'] as const).filter((end) => one[end] > 0);
  return ui.facts([
    ['job', titleOf(one)],
    ['queue', one.queue],
    [
      'runs',
      `${number(runsOf(one))}: ${number(one.done)} done, ${number(one.retried)} retried, ${number(one.dead)} dead`,
    ],
    ['success', successRate === null ? null : percent(successRate)],
    ['ran', durations(runMs)],
    ['waited', durations(waitMs)],
    ['memory', memory && `average ${bytes(memory.average)}, most ${bytes(memory.max)}`],
    ['other ends', others.length > 0 ? others.map((end) => `${number(one[end])} ${end}`).join(', ') : null],
    ['last', lastAt === null ? null : `${when(lastAt)} (${span(now - lastAt)} ago)`],
  ]);
}

function remarkOf(one: JobReport, { kind, now, past }: PastFlag): string {
  return kind === 'slower'
    ? `${titleOf(one)} is slower than it was: p95 ${span(now)}, in its last 30 days ${span(past)}.`
    : `${titleOf(one)} fails more than it did: ${percent(now)} of its runs, in its last 30 days ${percent(past)}.`;
}

const levels = ' ▁▂▃▄▅▆▇█';

/** A bar chart with one character per step. The highest step is a full block. */
function barsOf({ series }: MetricReport): string {
  const most = Math.max(1, ...series.map(({ done }) => done));
  return series.map(({ done }) => levels[Math.ceil((done / most) * (levels.length - 1))]).join('');
}
