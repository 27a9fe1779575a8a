/** Waits for the end of a job. Loaded with the first call of `result()`. */

import { within } from '../../base/clock.ts';
import { config, LongshoreError, shown } from '../../base/errors.ts';
import type { JobStatus } from '../../contract/outcome.ts';
import type { EndWatch, JobRecord, RecordStore } from '../../contract/store.ts';
import { believed } from '../../kit/records/believe.ts';
import type { Client, ResultOptions } from './client.ts';
import { partsOf } from './parts.ts';

export { believed };

/** Pauses between two reads of the record: the first, the longest, and the longest if the store reports every end. */
const pauseMs = { first: 50, most: 1_000, mostHearing: 5_000 };
/** The last read may take this much longer than the timeout. */
const lastLookMs = 1_000;

interface RecordReader extends Pick<Client, 'app' | 'backend'> {
  readonly stores: { readonly records: Pick<RecordStore, 'get' | 'recordsDisabled' | 'watchEnd'> };
}

/** Reads the record when the store reports the end of the job, and also at intervals, because a report may get lost. */
export async function resultOf(
  { app, backend, stores: { records } }: RecordReader,
  askedAt: number,
  job: { readonly name: string },
  id: string,
  { timeoutMs, signal }: ResultOptions,
): Promise<never> {
  const { clock } = app;
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0))
    throw new LongshoreError('OPTION', `Expected timeoutMs to be 0 or more, got ${shown(timeoutMs)}.`);
  if (records.recordsDisabled)
    throw config(
      `Backend "${backend.name}" keeps no records, so there is no result to wait for: give it a store, for example sqliteStore().`,
    );
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {});
  const onAbort = () => aborted.reject(signal!.reason);
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted) onAbort();
  const endsAt = askedAt + timeoutMs;
  const late = (): never => {
    throw new LongshoreError('TIMEOUT', `Job ${id} has not ended within ${timeoutMs} ms. It goes on.`);
  };
  let watch: EndWatch | undefined;
  let woken = Promise.withResolvers<void>();
  try {
    for (let waitMs = pauseMs.first; ; ) {
      const look = Promise.race([records.get(id), aborted.promise]);
      const record = believed(
        app,
        await within(clock, Math.max(lastLookMs, endsAt - clock.now()), look, late),
      );
      if (record?.job !== job.name && !(record === null && (await isToCome(app, records, job, id))))
        throw notFound(job, id, record);
      if (record === null) {
        const leftMs = endsAt - clock.now();
        if (leftMs <= 0) late();
        await within(clock, Math.min(pauseMs.most, leftMs), aborted.promise, () => {});
        continue;
      }
      if (record.status === 'completed') return record.output as never;
      const code = ends[record.status];
      if (code) throw new LongshoreError(code, `Job ${id} ${words(record)}`);
      const leftMs = endsAt - clock.now();
      if (leftMs <= 0) late();
      if (!watch && records.watchEnd) {
        watch = records.watchEnd(record, () => woken.resolve());
        if (watch.hears) continue; // the job may have ended since the last read
      }
      const mostMs = watch?.hears ? pauseMs.mostHearing : pauseMs.most;
      const pause = Promise.race([woken.promise, aborted.promise]);
      await within(clock, Math.min(waitMs, mostMs, leftMs), pause, () => {});
      woken = Promise.withResolvers();
      waitMs = Math.min(waitMs * 2, pauseMs.mostHearing);
    }
  } finally {
    watch?.stop();
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Whether a running job will enqueue this one. Throws if that job has ended without completing. */
async function isToCome(
  app: Client['app'],
  records: Pick<RecordStore, 'get' | 'recordsDisabled'>,
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
