/** Waits for the end of a job. Loaded with the first call of `result()`. */

import { LongshoreError, shown } from '../../base/errors.ts';
import type { JobStatus } from '../../contract/outcome.ts';
import type { JobRecord } from '../../contract/store.ts';
import type { ResultOptions } from './client.ts';
import { partsOf } from './parts.ts';
import { looksAt, type RecordReader } from './watch.ts';

/** Reads the record when the store reports the end of the job, and also at intervals, because a report may get lost. */
export async function resultOf(
  reader: RecordReader,
  askedAt: number,
  job: { readonly name: string },
  id: string,
  { timeoutMs, signal }: ResultOptions,
): Promise<never> {
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0))
    throw new LongshoreError('OPTION', `Expected timeoutMs to be 0 or more, got ${shown(timeoutMs)}.`);
  const late = (): never => {
    throw new LongshoreError('TIMEOUT', `Job ${id} has not ended within ${timeoutMs} ms. It goes on.`);
  };
  const looks = looksAt(reader, id, { endsAt: askedAt + timeoutMs, late, mostHearingMs: 5_000 }, signal);
  for await (const record of looks) {
    if (record?.job !== job.name && !(record === null && (await isToCome(reader, job, id))))
      throw notFound(job, id, record);
    if (record?.status === 'completed') return record.output as never;
    const code = record && ends[record.status];
    if (code) throw new LongshoreError(code, `Job ${id} ${words(record)}`);
  }
  return late();
}

/** Whether a running job will enqueue this one. Throws if that job has ended without completing. */
async function isToCome(
  { app, stores: { records } }: RecordReader,
  job: { readonly name: string },
  id: string,
): Promise<boolean> {
  for (const ask of partsOf(app).predecessor) {
    const before = await ask(app, records, job.name, id);
    const code = before && ends[before.status];
    if (code) throw new LongshoreError(code, `Job ${id} was not enqueued: job ${before.id} ${words(before)}`);
    if (before) return true;
  }
  return false;
}

const ends: Partial<Record<JobStatus, 'HANDLER' | 'CANCELLED' | 'EXPIRED'>> = {
  failed: 'HANDLER',
  cancelled: 'CANCELLED',
  expired: 'EXPIRED',
};

const words = ({ status, reason, error }: JobRecord): string =>
  status === 'failed'
    ? `has failed${reason === null ? '' : ` (${reason})`}: ${error}`
    : status === 'cancelled'
      ? 'was cancelled.'
      : `has expired: ${error}`;

function notFound({ name }: { readonly name: string }, id: string, other: JobRecord | null): LongshoreError {
  const what = other
    ? `Job ${id} is a "${other.job}", not a "${name}".`
    : `Job ${id} is not known here, or no longer kept.`;
  return new LongshoreError('NOT_FOUND', what);
}
