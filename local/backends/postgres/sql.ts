/** Pieces that several functions of the database share. */

/**
 * Tables that were empty when a plan was made must still be read by their indexes later. Without these settings a worker that has
 * polled an empty queue would scan the whole backlog at every fetch.
 */
export const hot = `SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan SET jit = off`;

/** The database's time in epoch ms. */
export const databaseTime = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** The time in epoch ms: the caller's, if `at` is not NULL, or the database's. */
export const timeOf = (at: string): string => `coalesce(${at}::bigint, ${databaseTime})`;

/** In functions with a parameter `at`. */
export const clock = timeOf('at');

/** Columns that a job keeps, whatever becomes of it. */
export const recordNames =
  'seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress';
