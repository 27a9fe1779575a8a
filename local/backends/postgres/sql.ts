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

/** One purge call removes at most so many rows of a kind, to keep its transaction short. */
export const stepSize = 1000;

/** Removes some of the rows that `where` finds, and answers how many. Rows that others have locked are left for the next call. */
export const removeSome = (table: string, key: string, where: string): string => `
  WITH gone AS (
    DELETE FROM ${table} WHERE ${key} = ANY (ARRAY(
      SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${stepSize} FOR UPDATE SKIP LOCKED))
    RETURNING 1)
  SELECT count(*) FROM gone`;

/** Columns that a job keeps, whatever becomes of it. */
export const recordNames =
  'seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, idempotency_key, schedule, facts';

/** The same of a row. */
export const recordNamesOf = (row: string): string => recordNames.replace(/\w+/g, (name) => `${row}.${name}`);

/** Added to `finished_at` of records that are kept longer or shorter than others of their day: 2^52, of which no real time has a bit. */
export const apartFrom = 2 ** 52;

/** The real one. */
export const finishedAt = `(finished_at & ${apartFrom - 1})`;

/** NULL = it has an end of its own. One column, because Postgres takes IS NULL to be rare: it would read all others and sort them. */
export const usualEnd = '(CASE WHEN keep_until IS NULL THEN finished_at END)';
