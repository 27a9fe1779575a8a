/** What runs now, as workers tell it, with the progress that handlers report. */

import type { Progress } from '../../../core/contract/outcome.ts';
import type { RecordStore, WorkerBeat } from '../../../core/contract/store.ts';
import { workerStateOf } from '../../../core/kit/worker-state.ts';
import { type Column, number, span, type Ui } from '../output/ui.ts';
import { shortIds } from './job-ids.ts';
import { nameOf } from './workers.ts';

export interface Running {
  readonly id: string;
  readonly job: string;
  readonly startedAt: number;
  readonly worker: string;
  readonly progress: Progress | null;
}

/** Each is read by its id, at every look. */
const mostRead = 20;

/** Longest first, with progress for the first 20. */
export async function runningJobs(
  { stores: { records } }: { readonly stores: { readonly records: Pick<RecordStore, 'get'> } },
  beats: readonly WorkerBeat[],
  queues: readonly string[],
  now: number,
): Promise<readonly Running[]> {
  const told = beats
    .filter(
      (beat) => workerStateOf(beat.seenAt, now) !== 'gone' && beat.queues.some((one) => queues.includes(one)),
    )
    .flatMap((beat) => (beat.jobs ?? []).map((job) => ({ ...job, worker: nameOf(beat) })))
    .sort((a, b) => a.startedAt - b.startedAt);
  const read = await Promise.all(told.slice(0, mostRead).map(({ id }) => records.get(id)));
  return told
    .map((one, i) => ({ ...one, record: read[i] ?? null }))
    .filter(({ record }) => record === null || (record.finishedAt === null && queues.includes(record.queue)))
    .map(({ record, ...one }) => ({ ...one, progress: record?.progress ?? null }));
}

export function runningTable(jobs: readonly Running[], ui: Ui, now: number): string {
  const short = shortIds(jobs.map(({ id }) => id));
  const columns: readonly Column<Running>[] = [
    { title: 'running for', align: 'right', value: ({ startedAt }) => span(now - startedAt) },
    { title: 'job', value: ({ job }) => job },
    { title: 'id', value: ({ id }) => short(id), whole: true },
    { title: 'worker', value: ({ worker }) => worker, whole: true },
    {
      title: 'progress',
      value: ({ progress }) => (progress ? shareText(progress) : ''),
      style: () => 'cyan',
      whole: true,
    },
  ];
  return ui.table(jobs, columns, { text: ({ progress }) => progress?.message ?? null, style: () => 'dim' });
}

/** `45 %`; without a total `4,500` */
export const shareText = ({ done, total }: Progress): string =>
  total === null || total <= 0 ? number(done) : `${Math.floor((done / total) * 100)} %`;

/** `45 % writing rows` */
export const progressText = (progress: Progress): string =>
  `${shareText(progress)} ${progress.message ?? ''}`.trimEnd();
