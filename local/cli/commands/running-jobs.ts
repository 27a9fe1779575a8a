/** Running jobs, from the workers' heartbeats, with the progress of their handlers. */

import type { Progress } from '../../../core/contract/outcome.ts';
import type { RecordStore, RunningJob, WorkerBeat } from '../../../core/contract/store.ts';
import { workerStateOf } from '../../../core/kit/worker-state.ts';
import { type Column, number, span, type Ui } from '../output/ui.ts';
import { shortIds } from './select-jobs.ts';

/** Short enough for a line; JSON has the whole name. */
export const nameOf = ({ host, pid }: WorkerBeat): string => `${host.split('.', 1)[0]}:${pid}`;

interface Listed extends RunningJob {
  /** Set if there are several backends. */
  readonly backend?: string;
  readonly worker: string;
}

export interface Running extends Listed {
  readonly progress: Progress | null;
}

/** Longest-running first. A heartbeat lists up to 20 jobs. If two workers list a job, the one that started it earlier has lost it. */
export function runningAt(
  beats: readonly (WorkerBeat & { readonly backend?: string })[],
  now: number,
): readonly Listed[] {
  const told = beats
    .filter(({ seenAt }) => workerStateOf(seenAt, now) !== 'gone')
    .flatMap(({ backend, ...beat }) =>
      (beat.jobs ?? []).map((job) => ({
        ...(backend !== undefined && { backend }),
        ...job,
        worker: nameOf(beat),
      })),
    )
    .sort((a, b) => a.startedAt - b.startedAt);
  const last = new Map(told.map((one) => [one.id, one]));
  return told.filter((one) => last.get(one.id) === one);
}

/** At most this many records are read at each look. */
const mostRead = 20;

/** Longest-running first, with the progress of the first 20. */
export async function runningJobs(
  { stores: { records } }: { readonly stores: { readonly records: Pick<RecordStore, 'get'> } },
  beats: readonly WorkerBeat[],
  queues: readonly string[],
  now: number,
): Promise<readonly Running[]> {
  const serving = beats.filter((beat) => beat.queues.some((one) => queues.includes(one)));
  const told = runningAt(serving, now);
  const read = await Promise.all(told.slice(0, mostRead).map(({ id }) => records.get(id)));
  return told
    .map((one, i) => ({ ...one, record: read[i] ?? null }))
    .filter(({ record }) => record === null || (record.finishedAt === null && queues.includes(record.queue)))
    .map(({ record, ...one }) => ({ ...one, progress: record?.progress ?? null }));
}

/** Empty if there is one backend. */
export const backendColumn = <Row extends { readonly backend?: string }>(
  rows: readonly Row[],
): Column<Row>[] =>
  rows.some(({ backend }) => backend) ? [{ title: 'backend', value: ({ backend = '' }) => backend }] : [];

function columnsOf(jobs: readonly Listed[], now: number): readonly Column<Listed>[] {
  const short = shortIds(jobs.map(({ id }) => id));
  return [
    ...backendColumn(jobs),
    { title: 'running for', align: 'right', value: ({ startedAt }) => span(now - startedAt) },
    { title: 'job', value: ({ job }) => job },
    { title: 'id', value: ({ id }) => short(id), whole: true },
    { title: 'worker', value: ({ worker }) => worker, whole: true },
  ];
}

export const listedTable = (jobs: readonly Listed[], ui: Ui, now: number): string =>
  ui.table(jobs, columnsOf(jobs, now));

export function runningTable(jobs: readonly Running[], ui: Ui, now: number): string {
  const progress: Column<Running> = {
    title: 'progress',
    value: (row) => (row.progress ? shareText(row.progress) : ''),
    style: () => 'cyan',
    whole: true,
  };
  return ui.table(jobs, [...columnsOf(jobs, now), progress], {
    text: (row) => row.progress?.message ?? null,
    style: () => 'dim',
  });
}

/** `45 %`; without a total `4,500` */
export const shareText = ({ done, total }: Progress): string =>
  total === null || total <= 0 ? number(done) : `${Math.floor((done / total) * 100)} %`;

/** `45 % writing rows` */
export const progressText = (progress: Progress): string =>
  `${shareText(progress)} ${progress.message ?? ''}`.trimEnd();
