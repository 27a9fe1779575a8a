/** Reads a record as failed when its attempt can no longer run: a store beside a queue learns of an end by one write, which may have failed. */

import type { JobRecord } from '../../contract/store.ts';

interface Believing {
  readonly clock: { now(): number };
  readonly jobs: ReadonlyMap<string, { readonly timeoutMs: number }>;
}

/** After the longest time that an attempt may take its message has had this long to come back and begin another one. */
const silentMs = 3_600_000;

/** A job that runs for longer than it may has failed: its worker has died, or the write of its end. */
export function believed<R extends JobRecord | null>(app: Believing, record: R): R {
  if (record?.status !== 'processing' || record.startedAt == null) return record;
  const job = app.jobs.get(record.job);
  if (!job || app.clock.now() < record.startedAt + job.timeoutMs + silentMs) return record;
  const began = new Date(record.startedAt).toISOString();
  const error = `LEASE_LOST: How it ended is not known. Its attempt began at ${began}, and nothing was heard of it since.`;
  return { ...record, status: 'failed', finishedAt: record.startedAt + job.timeoutMs, error };
}
