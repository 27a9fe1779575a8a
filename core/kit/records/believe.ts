/** Reads a record as failed when its attempt can no longer run: the only write of its end may itself have failed. */

import type { JobRecord } from '../../contract/store.ts';

interface Believing {
  readonly clock: { now(): number };
  readonly jobs: ReadonlyMap<string, { readonly timeoutMs: number }>;
}

/** After the timeout of an attempt: the time for its message to come back and begin another attempt. */
const silentMs = 3_600_000;

/** A job that runs for much longer than its timeout counts as failed: its worker died, or the write of its end failed. */
export function believed<R extends JobRecord | null>(app: Believing, record: R): R {
  if (record?.status !== 'processing' || record.startedAt == null) return record;
  const job = app.jobs.get(record.job);
  if (!job || app.clock.now() < record.startedAt + job.timeoutMs + silentMs) return record;
  const began = new Date(record.startedAt).toISOString();
  const error = `LEASE_LOST: The attempt that began at ${began} never reported its end. How it ended is not known.`;
  return { ...record, status: 'failed', finishedAt: record.startedAt + job.timeoutMs, error };
}
