import type { Progress } from '../../../core/contract/outcome.ts';
import type { JobRecord, WorkerBeat } from '../../../core/contract/store.ts';
import { chainText } from '../../../core/envelope/flow-ids.ts';
import { type BatchRole, batchRoleOf } from '../../../core/features/batches/show.ts';
import { whyWaits } from '../../../core/features/limits/explain.ts';
import { type StepView, stepsOf } from '../../../core/features/steps/show.ts';
import { believed } from '../../../core/kit/records/believe.ts';
import { payloadOf, type StoredPayload } from '../../../core/kit/records/payload.ts';
import { forgetWorkerMs, runnerOf, workerStateOf } from '../../../core/kit/worker-state.ts';
import { flag } from '../config/flags.ts';
import { given } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { notFound } from '../errors.ts';
import { stackLines } from '../output/stack.ts';
import { type Column, number, plain, span, type Ui, when } from '../output/ui.ts';
import { attemptsTable, payloadText } from './attempts.ts';
import { idArgs, wholeId } from './job-ids.ts';
import { nameOf, progressText } from './running-jobs.ts';

export const showJob = defineCommand({
  path: 'jobs show',
  backends: 'ids',
  summary: 'show one job with all its attempts',
  about:
    'Who asked for it, why it waits, every attempt with its worker, the steps that it remembers, what its handler logged, and where in your code it failed. With --payload it prints what the job was given, as far as that is kept; values under names that look like secrets are masked. Payloads of jobs that are done are kept with keepPayload: true.',
  args: idArgs,
  flags: { payload: flag('--payload', 'print what the job was given, masked') },
  examples: [
    'longshore jobs show 0199a1b2-c3d4-7e5f',
    'longshore jobs show 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b --payload --json',
  ],
  exits: { 3: 'no such job, or it is no longer kept' },
  async run({ args, flags, session, ui, io }) {
    const wanted = await wholeId(session, args[0] ?? '');
    const client = await session.client();
    const { records, workers: registry } = client.stores;
    const job = believed(client.app, await records.get(wanted));
    if (!job)
      throw notFound(`There is no job ${wanted} here, or it is no longer kept. See \`longshore jobs list\`.`);
    const now = io.clock.now();
    const beats = job.status === 'processing' ? await registry.list(now - forgetWorkerMs) : [];
    const payload = flags.payload ? payloadOf(await records.body(wanted)) : undefined;
    const waits = await whyWaits(client, job);
    const steps = await stepsOf(client.stores, wanted, now);
    const role = await batchRoleOf(client, wanted);
    const parts = [
      factsOf(job, { payload, role, running: runningOn(beats, wanted, now), waits }, ui, now),
      attemptsTable(job.attempts, job.maxAttempts, ui),
      stepsTable(steps, ui),
      linesOf(job),
      stackOf(job, ui, io.cwd),
    ];
    return {
      data: { job, waits, ...(steps.length > 0 && { steps }), ...given({ payload }) },
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
}

function factsOf(job: JobRecord, { payload, running, role, waits }: Beside, ui: Ui, now: number): string {
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

/** Of the last attempt that failed. */
function stackOf({ attempts }: JobRecord, ui: Ui, cwd: string): string {
  const stack = attempts.findLast(({ error }) => error !== null)?.error?.stack;
  return stack === undefined ? '' : stackLines(stack, ui, cwd);
}

/** The steps that a job remembers. */
export function stepsTable(steps: readonly StepView[], ui: Ui): string {
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
