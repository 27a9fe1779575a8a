import { errorText } from '../../../core/base/failure.ts';
import type { QueueStats } from '../../../core/contract/admin.ts';
import type { JobStatus, Progress } from '../../../core/contract/outcome.ts';
import type { JobRecord, RecordFilter, WorkerBeat } from '../../../core/contract/store.ts';
import { chainText } from '../../../core/envelope/flow-ids.ts';
import { type BatchRole, batchRoleOf } from '../../../core/features/batches/show.ts';
import { whyWaits } from '../../../core/features/limits/explain.ts';
import { type StepView, stepsOf } from '../../../core/features/steps/show.ts';
import { eachOf } from '../../../core/kernel/enqueue/backends.ts';
import { believed } from '../../../core/kit/records/believe.ts';
import { runsOf } from '../../../core/kit/records/partitions.ts';
import { payloadOf, type StoredPayload } from '../../../core/kit/records/payload.ts';
import { forgetWorkerMs, runnerOf, workerStateOf } from '../../../core/kit/worker-state.ts';
import { keeperOf } from '../../../core/operations/resources.ts';
import type { ListedJob } from '../../../core/operations/types.ts';
import type { OfOne } from '../../../core/routing/each.ts';
import { flag } from '../config/flags.ts';
import { given } from '../config/values.ts';
import { type Command, defineCommand, someAway } from '../definition.ts';
import { notFound } from '../errors.ts';
import { stackLines } from '../output/stack.ts';
import {
  type Column,
  count,
  lateness,
  number,
  plain,
  type Style,
  span,
  type Ui,
  type Under,
  when,
} from '../output/ui.ts';
import type { Session } from '../session.ts';
import { attemptsTable, payloadText, withoutStack } from './attempts.ts';
import { listed } from './perform.ts';
import { backendColumn, nameOf, progressText } from './running-jobs.ts';
import {
  chosenQueues,
  filterFlags,
  filterOf,
  firstJobs,
  idArgs,
  pageFlags,
  shortIds,
  unknownNames,
  wholeId,
} from './select-jobs.ts';

export const statusStyles: Readonly<Partial<Record<JobStatus, Style>>> = {
  completed: 'green',
  failed: 'red',
  expired: 'red',
  retrying: 'yellow',
  processing: 'cyan',
};

const list = defineCommand({
  path: 'jobs list',
  watched: true,
  summary: 'list jobs, newest first',
  about:
    'Lists jobs that match all given filters. Finished jobs are listed while the backend or the store keeps their records. --worker and --error read every job, and so do tenant, key, schedule and id on DynamoDB and table storage: they are slow with many jobs.',
  flags: {
    ...filterFlags,
    ...pageFlags,
  },
  examples: [
    'longshore jobs list',
    'longshore jobs list --job invoice.send --status retrying --max 100',
    'longshore jobs list --tenant acme --error "421 busy" --newer-than 1d',
  ],
  exits: { 1: someAway },
  async run(input) {
    const { flags, session, ui, io } = input;
    const now = io.clock.now();
    const filter = filterOf(flags, now);
    const { found, ...rest } = await firstJobs(session, filter, flags.max, flags.after);
    const { next } = rest;
    const columns = [...backendColumn(found), ...columnsAt(now, shortIds(found.map(({ id }) => id)))];
    const total = next === null ? '' : await totalText(filter, session);
    const text =
      found.length > 0
        ? `${ui.table(found, columns, under)}\n\n${shownText(found.length, total, flags.after, next)}`
        : `No job matches.${await unknownNames(filter, session)}`;
    return listed(input, { jobs: found.map(brief), ...rest }, text);
  },
});

const brief = (record: OfOne<ListedJob>) => ({
  ...record,
  attempts: record.attempts.map(withoutStack),
});

function shownText(shown: number, total: string, after: string | undefined, next: string | null): string {
  const jobs = `${count(shown, 'job')}${after === undefined ? '' : ' more'}${total}`;
  return next === null ? `${jobs}.` : `${jobs}. Older ones: the same with --after ${next}`;
}

/** The total from the counts of the queues. Empty if they do not have it: counting records would be slow. */
async function totalText({ queue, status, ...others }: RecordFilter, session: Session): Promise<string> {
  const clients = eachOf(await session.keyless());
  const hasCounts = clients.every(({ backend }) => backend.admin);
  if (!hasCounts || status === undefined || Object.keys(others).length > 0) return '';
  const { queues: stats } = await chosenQueues(session, queue === undefined ? [] : [queue]);
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
  { title: 'runs', align: 'right', value: (row) => number(runsOf(row)) },
  { title: 'age', align: 'right', value: (row) => span(now - row.createdAt) },
  { title: 'next', value: (row) => nextRun(row, now), style: (row) => nextStyle(row, now), whole: true },
];

const waits = ({ status }: JobRecord): boolean => status === 'pending' || status === 'retrying';

function nextRun(row: JobRecord, now: number): string {
  if (!waits(row)) return '';
  if (row.runAt > now) return `in ${span(row.runAt - now)}`;
  return lateness(now - row.runAt) === null ? 'now' : `${span(now - row.runAt)} late`;
}

const nextStyle = (row: JobRecord, now: number): Style | null =>
  waits(row) ? lateness(now - row.runAt) : null;

/** Under a row: the progress of a running job, what a sleeping job waits for, or the last error. */
const under: Under<ListedJob> = {
  text: (row) =>
    row.progress !== null && row.finishedAt === null
      ? progressText(row.progress)
      : (row.sleeps ?? row.error ?? lastError(row)),
  style: (row) => (row.progress !== null && row.finishedAt === null ? 'cyan' : 'dim'),
};

const lastError = ({ status, attempts }: JobRecord): string | null =>
  status === 'completed' ? null : errorText(attempts.findLast(({ error }) => error !== null)?.error ?? null);

const showJob = defineCommand({
  path: 'jobs show',
  summary: 'show one job with all its attempts',
  about:
    'Shows its actor, why it waits, every attempt with its worker, its stored steps, the log of its handler, and the place in your code where it failed. --payload prints the payload if it is still stored; values under names that look like secrets are masked. Payloads of completed jobs are stored only with keepPayload: true.',
  args: idArgs,
  flags: { payload: flag('--payload', 'print the payload, masked') },
  watched: true,
  examples: [
    'longshore jobs show 0199a1b2-c3d4-7e5f --watch',
    'longshore jobs show 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b --payload --json',
  ],
  exits: { 3: 'no such job, or its record has been deleted' },
  async run({ args, flags, session, ui, io }) {
    const wanted = await wholeId(session, args[0] ?? '');
    const client = await keeperOf(await session.keyless(), wanted);
    const { records, workers: registry } = client.stores;
    const job = believed(client.app, await records.get(wanted));
    if (!job)
      throw notFound(`There is no job ${wanted} here, or it is no longer kept. See \`longshore jobs list\`.`);
    const now = io.clock.now();
    const beats = job.status === 'processing' ? await registry.list(now - forgetWorkerMs) : [];
    const payload = flags.payload ? payloadOf(await records.body(wanted)) : undefined;
    const waits = await whyWaits(client, job);
    const { steps, problem } = await stepsOf(client.stores, wanted, now);
    const role = await batchRoleOf(client, wanted);
    const parts = [
      factsOf(job, { payload, role, running: runningOn(beats, wanted, now), waits, problem }, ui, now),
      attemptsTable(job.attempts, job.maxAttempts, ui),
      stepsTable(steps, ui),
      linesOf(job),
      stackOf(job, ui, io.cwd),
    ];
    return {
      data: {
        ...{ job, waits, ...(steps.length > 0 && { steps }), ...given({ payload }) },
        ...(problem !== null && { stepsProblem: problem }),
      },
      text: parts.filter((part) => part !== '').join('\n\n'),
    };
  },
});

function runningOn(beats: readonly WorkerBeat[], id: string, now: number): string | null {
  const runner = runnerOf(beats, id);
  if (!runner) return null;
  const { beat, job } = runner;
  const state = workerStateOf(beat.seenAt, now);
  const seen = state === 'healthy' ? '' : `, which is ${state}: seen ${span(now - beat.seenAt)} ago`;
  return `for ${span(now - job.startedAt)} on ${nameOf(beat)}${seen}`;
}

interface Beside {
  readonly payload: StoredPayload | null | undefined;
  readonly running: string | null;
  readonly role: BatchRole | null;
  readonly waits: readonly string[];
  /** A problem with its stored steps; `null` = none. */
  readonly problem: string | null;
}

function factsOf(
  job: JobRecord,
  { payload, running, role, waits, problem }: Beside,
  ui: Ui,
  now: number,
): string {
  return ui.facts([
    ['id', job.id],
    ['job', job.job],
    ['name', job.name],
    ['queue', job.queue],
    ['status', job.status + (job.reason === null ? '' : ` (${job.reason})`)],
    ['priority', String(job.priority)],
    ['tenant', job.tenantId],
    ['schedule', job.schedule],
    ['batch', role && roleText(role)],
    ['chain', job.chain ? chainText(job.chain) : null],
    ['key', job.idempotencyKey],
    ['request', job.requestId],
    ['trace', job.traceparent],
    ['created', `${when(job.createdAt)} (${span(now - job.createdAt)} ago)`],
    ['runs', job.finishedAt === null && job.runAt > now ? `in ${span(job.runAt - now)}` : running],
    ['waits', waits.length > 0 ? waits.join('; ') : null],
    ['steps', problem],
    ['finished', job.finishedAt === null ? null : when(job.finishedAt)],
    ['progress', job.progress && progressOf(job.progress)],
    ['output', job.output === null ? null : JSON.stringify(job.output)],
    ['error', job.error],
    ['payload', payload === undefined ? null : payload ? payloadText(payload) : 'not kept'],
  ]);
}

function roleText(role: BatchRole): string {
  const of = role.name === null ? role.batch : `${role.batch} (${plain(role.name)})`;
  return 'end' in role ? `called at the end of ${of}: ${role.end}` : `child ${role.number} of ${of}`;
}

function progressOf(progress: Progress): string {
  const { done, total } = progress;
  const counts = total === null ? '' : ` (${number(done)} of ${number(total)})`;
  return progressText(progress) + counts;
}

function linesOf({ attempts }: JobRecord): string {
  const lines = attempts.flatMap((row) =>
    (row.log ?? []).map(({ at, text }) => `${when(at)}  run ${row.attempt}  ${plain(text)}`),
  );
  return lines.join('\n');
}

/** The stack of the last failed attempt. */
function stackOf({ attempts }: JobRecord, ui: Ui, cwd: string): string {
  const stack = attempts.findLast(({ error }) => error !== null)?.error?.stack;
  return stack === undefined ? '' : stackLines(stack, ui, cwd);
}

/** The steps that a job remembers. */
function stepsTable(steps: readonly StepView[], ui: Ui): string {
  if (steps.length === 0) return '';
  const columns: readonly Column<StepView>[] = [
    { title: 'step', value: ({ name }) => name },
    { title: 'at', value: ({ at }) => when(at) },
    {
      title: 'state',
      value: ({ state }) => state,
      style: ({ state }) => (state === 'sleeps' || state === 'waits' ? 'yellow' : 'green'),
    },
    { title: 'until', value: ({ until }) => (until === null ? '' : when(until)) },
    { title: 'value', value: ({ value }) => (value === null ? '' : JSON.stringify(value)) },
  ];
  return ui.table(
    steps,
    columns.filter(({ value }) => steps.some((step) => value(step) !== '')),
  );
}

export const jobsCommands: readonly Command[] = [list, showJob];
