import type { AttemptReport, JobStatus } from '../../../core/contract/outcome.ts';
import type { CancelResult, JobRecord } from '../../../core/contract/store.ts';
import { statuses } from '../../../core/kit/records/partitions.ts';
import { maxFlag, queueFlag } from '../config/flags.ts';
import { id, name, oneOf } from '../config/values.ts';
import { type Command, defineCommand, type Input } from '../definition.ts';
import { type ExitCode, notFound } from '../errors.ts';
import { type Column, count, type Style, span, type Ui, when } from '../output/ui.ts';

const status = oneOf(statuses);

const styles: Readonly<Partial<Record<JobStatus, Style>>> = {
  completed: 'green',
  failed: 'red',
  expired: 'red',
  retrying: 'yellow',
  processing: 'cyan',
};

const list = defineCommand({
  path: 'jobs list',
  summary: 'list jobs, newest first',
  about: 'Finished jobs are listed as long as the backend or the store keeps them.',
  flags: {
    queue: queueFlag,
    job: { flags: '--job <name>', text: 'only of this job', parse: name },
    status: {
      flags: '--status <status>',
      text: `only with this status: ${statuses.join(', ')}`,
      parse: status,
    },
    max: maxFlag,
  },
  examples: ['longshore jobs list', 'longshore jobs list --job invoice.send --status retrying --max 100'],
  async run({ flags, session, ui, io }) {
    const { stores } = await session.client();
    const { queue, job, status, max } = flags;
    const found = await stores.records.list({
      ...(queue === undefined ? {} : { queue }),
      ...(job === undefined ? {} : { job }),
      ...(status === undefined ? {} : { status }),
      max,
    });
    const now = io.clock.now();
    return {
      data: { jobs: found.map((record) => shown(record, io.env)) },
      text: found.length > 0 ? ui.table(found, columnsAt(now)) : 'No job matches.',
    };
  },
});

const columnsAt = (now: number): readonly Column<JobRecord>[] => [
  { title: 'id', value: (row) => row.id },
  { title: 'job', value: (row) => row.job },
  { title: 'queue', value: (row) => row.queue },
  { title: 'status', value: (row) => row.status, style: (row) => styles[row.status] ?? null },
  { title: 'runs', align: 'right', value: (row) => String(row.attempts.length) },
  { title: 'age', align: 'right', value: (row) => span(now - row.createdAt) },
  { title: '', value: (row) => remark(row, now) },
];

function remark(row: JobRecord, now: number): string {
  if (row.error !== null) return row.error;
  if (row.progress !== null && row.finishedAt === null) return progressText(row.progress);
  return row.finishedAt === null && row.runAt > now ? `in ${span(row.runAt - now)}` : '';
}

const progressText = ({ done, total, message }: NonNullable<JobRecord['progress']>): string =>
  `${done}${total === null ? '' : `/${total}`}${message === null ? '' : ` ${message}`}`;

const show = defineCommand({
  path: 'jobs show',
  summary: 'show one job with all its attempts',
  about: 'A record has no payload; `longshore dead show --body` prints that of a dead letter.',
  args: [{ name: '<id>', text: 'id of the job', parse: id }],
  examples: ['longshore jobs show 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'],
  exits: { 3: 'no such job, or it is no longer kept' },
  async run({ args, session, ui, io }) {
    const [wanted = ''] = args;
    const record = await (await session.client()).status(wanted);
    if (!record)
      throw notFound(`There is no job ${wanted} here, or it is no longer kept. See \`longshore jobs list\`.`);
    const safe = shown(record, io.env);
    return { data: { job: safe }, text: described(safe, ui, io.clock.now()) };
  },
});

function described(record: JobRecord, ui: Ui, now: number): string {
  const facts = ui.facts([
    ['id', record.id],
    ['job', record.job],
    ['queue', record.queue],
    ['status', record.status + (record.reason === null ? '' : ` (${record.reason})`)],
    ['priority', String(record.priority)],
    ['created', `${when(record.createdAt)} (${span(now - record.createdAt)} ago)`],
    ['runs', record.finishedAt === null && record.runAt > now ? `in ${span(record.runAt - now)}` : null],
    ['finished', record.finishedAt === null ? null : when(record.finishedAt)],
    ['progress', record.progress && progressText(record.progress)],
    ['output', record.output === null ? null : JSON.stringify(record.output)],
    ['error', record.error],
  ]);
  const attempts = record.attempts.length > 0 ? `\n\n${ui.table(record.attempts, attemptColumns)}` : '';
  const stacks = record.attempts.flatMap(({ error }) => (error?.stack === undefined ? [] : [error.stack]));
  return [facts + attempts, ...stacks].join('\n\n');
}

const attemptColumns: readonly Column<AttemptReport>[] = [
  { title: 'run', align: 'right', value: (row) => String(row.attempt) },
  { title: 'started', value: (row) => when(row.startedAt) },
  { title: 'took', align: 'right', value: (row) => span(row.endedAt - row.startedAt) },
  {
    title: 'outcome',
    value: (row) => row.outcome,
    style: (row) => (row.outcome === 'acked' ? 'green' : 'yellow'),
  },
  { title: 'error', value: (row) => (row.error === null ? '' : `${row.error.code}: ${row.error.message}`) },
];

/** A stack trace names folders and says little about what became of a job; LONGSHORE_DEBUG=1 keeps it. */
function shown(record: JobRecord, env: Input['io']['env']): JobRecord {
  if (env.LONGSHORE_DEBUG === '1') return record;
  const attempts = record.attempts.map((report) => {
    if (report.error?.stack === undefined) return report;
    const { stack: _, ...error } = report.error;
    return { ...report, error };
  });
  return { ...record, attempts };
}

const cancel = defineCommand({
  path: 'jobs cancel',
  summary: 'cancel jobs that wait or run',
  about: 'A waiting job is cancelled at once. The signal of a running one aborts within about a second.',
  args: [{ name: '<id...>', text: 'ids of jobs', parse: id }],
  examples: ['longshore jobs cancel 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'],
  exits: {
    1: 'failed, or some of the jobs had ended or are not known',
    3: 'none of the jobs could be cancelled',
  },
  async run({ args, session }) {
    const client = await session.client();
    const results: Record<string, CancelResult> = {};
    for (const one of new Set(args)) results[one] = await client.cancel(one);
    const values = Object.values(results);
    const done = values.filter((result) => result === 'cancelled' || result === 'cancelling').length;
    return {
      data: { cancelled: done, results },
      text: [
        ...Object.entries(results).map(([one, result]) => `${one}  ${saying[result]}`),
        `${count(done, 'job')} cancelled.`,
      ].join('\n'),
      exit: exitFor(done, values.length),
    };
  },
});

const saying: Readonly<Record<CancelResult, string>> = {
  cancelled: 'cancelled',
  cancelling: 'runs, and will be aborted',
  finished: 'has already ended',
  unknown: 'is not known, or no longer kept',
};

/** All, some or none of what was named. */
export const exitFor = (done: number, asked: number): ExitCode => (done === asked ? 0 : done === 0 ? 3 : 1);

export const jobsCommands: readonly Command[] = [list, show, cancel];
