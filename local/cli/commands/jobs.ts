import type { JobStatus } from '../../../core/contract/outcome.ts';
import type { CancelResult, JobRecord } from '../../../core/contract/store.ts';
import { maxFlag } from '../config/flags.ts';
import { id, words } from '../config/values.ts';
import { type Command, defineCommand } from '../definition.ts';
import type { ExitCode } from '../errors.ts';
import { type Column, count, type Style, span } from '../output/ui.ts';
import { filterFlags, filterOf, firstOf, unknownNames } from './select-jobs.ts';
import { progressText, showJob } from './show-job.ts';

export const statusStyles: Readonly<Partial<Record<JobStatus, Style>>> = {
  completed: 'green',
  failed: 'red',
  expired: 'red',
  retrying: 'yellow',
  processing: 'cyan',
};

const list = defineCommand({
  path: 'jobs list',
  summary: 'list jobs, newest first',
  about:
    'All that is given must hold. Finished jobs are listed as long as the backend or the store keeps them. What only attempts tell (--worker, --error) is looked for job by job, and so are tenant, key, schedule and id on DynamoDB and table storage: that takes longer the more jobs there are.',
  flags: {
    ...filterFlags,
    max: maxFlag,
    after: { flags: '--after <cursor>', text: 'go on where an earlier list has ended', parse: words },
  },
  examples: [
    'longshore jobs list',
    'longshore jobs list --job invoice.send --status retrying --max 100',
    'longshore jobs list --tenant acme --error "421 busy" --newer-than 1d',
  ],
  async run({ flags, session, ui, io }) {
    const { stores } = await session.client();
    const now = io.clock.now();
    const filter = filterOf(flags, now);
    const { found, next } = await firstOf(stores.records, filter, flags.max, flags.after);
    const more = next === null ? '' : `\n\nOlder ones: the same with --after ${next}`;
    return {
      data: { jobs: found.map(brief), next },
      text:
        (found.length > 0
          ? ui.table(found, columnsAt(now))
          : `No job matches.${await unknownNames(filter, session)}`) + more,
    };
  },
});

/** Without stacks and logs, which `jobs show` prints. */
const brief = (record: JobRecord) => ({
  ...record,
  attempts: record.attempts.map(({ log: _, error, ...report }) => {
    return { ...report, error: error && { code: error.code, message: error.message } };
  }),
});

const columnsAt = (now: number): readonly Column<JobRecord>[] => [
  { title: 'id', value: (row) => row.id, whole: true },
  { title: 'job', value: (row) => row.job },
  { title: 'queue', value: (row) => row.queue },
  { title: 'status', value: (row) => row.status, style: (row) => statusStyles[row.status] ?? null },
  { title: 'runs', align: 'right', value: (row) => String(row.attempts.length) },
  { title: 'age', align: 'right', value: (row) => span(now - row.createdAt) },
  { title: '', value: (row) => remark(row, now) },
];

function remark(row: JobRecord, now: number): string {
  if (row.error !== null) return row.error;
  if (row.progress !== null && row.finishedAt === null) return progressText(row.progress);
  return row.finishedAt === null && row.runAt > now ? `in ${span(row.runAt - now)}` : '';
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

export const jobsCommands: readonly Command[] = [list, showJob, cancel];
