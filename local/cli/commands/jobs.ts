import { errorText } from '../../../core/base/failure.ts';
import type { QueueStats } from '../../../core/contract/admin.ts';
import type { JobStatus } from '../../../core/contract/outcome.ts';
import type { JobRecord, RecordFilter } from '../../../core/contract/store.ts';
import { sleepersOf } from '../../../core/features/steps/show.ts';
import { believed } from '../../../core/kit/records/believe.ts';
import { type Command, defineCommand } from '../definition.ts';
import { type Column, count, lateness, number, type Style, span, type Under } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { withoutStack } from './attempts.ts';
import { shortIds } from './job-ids.ts';
import { progressText } from './running-jobs.ts';
import { filterFlags, filterOf, firstJobs, pageFlags, unknownNames } from './select-jobs.ts';
import { showJob } from './show-job.ts';

export const statusStyles: Readonly<Partial<Record<JobStatus, Style>>> = {
  completed: 'green',
  failed: 'red',
  expired: 'red',
  retrying: 'yellow',
  processing: 'cyan',
};

const list = defineCommand({
  path: 'jobs list',
  backends: 'each',
  watched: true,
  summary: 'list jobs, newest first',
  about:
    'All that is given must hold. Finished jobs are listed as long as the backend or the store keeps them. What only attempts tell (--worker, --error) is looked for job by job, and so are tenant, key, schedule and id on DynamoDB and table storage: that takes longer the more jobs there are.',
  flags: {
    ...filterFlags,
    ...pageFlags,
  },
  examples: [
    'longshore jobs list',
    'longshore jobs list --job invoice.send --status retrying --max 100',
    'longshore jobs list --tenant acme --error "421 busy" --newer-than 1d',
  ],
  async run({ flags, session, ui, io }) {
    const { app, stores } = await session.client();
    const now = io.clock.now();
    const filter = filterOf(flags, now);
    const { found: records, next } = await firstJobs(stores.records, filter, flags.max, flags.after);
    const found = records.map((record) => believed(app, record));
    const sleepers = await sleepersOf(stores, found, now);
    const columns = columnsAt(now, shortIds(found.map(({ id }) => id)));
    const total = next === null ? '' : await totalText(filter, session);
    return {
      data: { jobs: found.map((job) => ({ ...brief(job), sleeps: sleepers.get(job.id) ?? null })), next },
      text:
        found.length > 0
          ? `${ui.table(found, columns, underOf(sleepers))}\n\n${shownText(found.length, total, flags.after, next)}`
          : `No job matches.${await unknownNames(filter, session)}`,
    };
  },
});

const brief = (record: JobRecord) => ({
  ...record,
  attempts: record.attempts.map(withoutStack),
});

function shownText(shown: number, total: string, after: string | undefined, next: string | null): string {
  const jobs = `${count(shown, 'job')}${after === undefined ? '' : ' more'}${total}`;
  return next === null ? `${jobs}.` : `${jobs}. Older ones: the same with --after ${next}`;
}

/** How many there are, as far as the counts of the queues tell. To count records would take longer the more there are. */
async function totalText({ queue, status, ...others }: RecordFilter, session: Session): Promise<string> {
  const { admin } = await session.backend();
  if (!admin || status === undefined || Object.keys(others).length > 0) return '';
  const stats = await admin.stats(queue);
  const sum = (of: (row: QueueStats) => number) => number(stats.reduce((all, row) => all + of(row), 0));
  switch (status) {
    case 'processing':
      return ` of ${sum((row) => row.leased)}`;
    case 'pending':
    case 'retrying':
      return ` of ${sum((row) => row.ready + row.delayed)} that wait, pending or retrying`;
    case 'failed':
    case 'expired':
      return ` of ${sum((row) => row.dead)} dead letters`;
    default:
      return '';
  }
}

const columnsAt = (now: number, short: (id: string) => string): readonly Column<JobRecord>[] => [
  { title: 'id', value: (row) => short(row.id), whole: true },
  { title: 'job', value: (row) => row.job },
  { title: 'queue', value: (row) => row.queue },
  { title: 'status', value: (row) => row.status, style: (row) => statusStyles[row.status] ?? null },
  { title: 'runs', align: 'right', value: (row) => number(row.attempts.length) },
  { title: 'age', align: 'right', value: (row) => span(now - row.createdAt) },
  { title: 'next', value: (row) => nextRun(row, now), style: (row) => nextStyle(row, now), whole: true },
];

/** Of a job that waits. */
const waits = ({ status }: JobRecord): boolean => status === 'pending' || status === 'retrying';

function nextRun(row: JobRecord, now: number): string {
  if (!waits(row)) return '';
  if (row.runAt > now) return `in ${span(row.runAt - now)}`;
  return lateness(now - row.runAt) === null ? 'now' : `${span(now - row.runAt)} late`;
}

const nextStyle = (row: JobRecord, now: number): Style | null =>
  waits(row) ? lateness(now - row.runAt) : null;

/** The progress of what runs, what a job sleeps for, or else what went wrong last: also when the job will come again. */
const underOf = (sleepers: ReadonlyMap<string, string>): Under<JobRecord> => ({
  text: (row) =>
    row.progress !== null && row.finishedAt === null
      ? progressText(row.progress)
      : (sleepers.get(row.id) ?? row.error ?? lastError(row)),
  style: (row) => (row.progress !== null && row.finishedAt === null ? 'cyan' : 'dim'),
});

const lastError = ({ status, attempts }: JobRecord): string | null =>
  status === 'completed' ? null : errorText(attempts.findLast(({ error }) => error !== null)?.error ?? null);

export const jobsCommands: readonly Command[] = [list, showJob];
