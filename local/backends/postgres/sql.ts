/** SQL that several functions of the database share. */

/**
 * Plans must use the indexes even if the tables were empty when the plan was made. Without these settings a worker that has polled an
 * empty queue would later scan the whole backlog at every fetch.
 */
export const hot = `SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan SET jit = off`;

/** The database's time in epoch ms. */
export const databaseTime = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** The time in epoch ms: `at`, or the database's time if `at` is NULL. */
export const timeOf = (at: string): string => `coalesce(${at}::bigint, ${databaseTime})`;

/** The time in functions with a parameter `at`. */
export const clock = timeOf('at');

/** The most rows per table that one step of a purge removes, to keep its transaction short. */
export const stepSize = 1000;

/** Removes some of the rows that `where` finds, and returns how many. Locked rows are left for the next call. */
export const removeSome = (table: string, key: string, where: string): string => `
  WITH gone AS (
    DELETE FROM ${table} WHERE ${key} = ANY (ARRAY(
      SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${stepSize} FOR UPDATE SKIP LOCKED))
    RETURNING 1)
  SELECT count(*) FROM gone`;

/** Columns that a job keeps in every table. */
export const recordNames =
  'seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, idempotency_key, schedule, facts';

/** The same columns of a row. */
export const recordNamesOf = (row: string): string => recordNames.replace(/\w+/g, (name) => `${row}.${name}`);

/** Added to `finished_at` of records with their own retention: 2^52, a bit that no real time has. */
export const apartFrom = 2 ** 52;

/** The real `finished_at`. */
export const finishedAt = `(finished_at & ${apartFrom - 1})`;

/** NULL = the record has its own retention. One column, because Postgres takes IS NULL to be rare, and would read and sort all rows. */
export const usualEnd = '(CASE WHEN keep_until IS NULL THEN finished_at END)';
