import type { CancelResult, RecordStore, Retention } from '../../../core/contract/store.ts';
import { groupedReads } from '../shared/grouped-reads.ts';
import { textArray } from './arrays.ts';
import { purgeBatches } from './batches-sql.ts';
import type { PostgresEnds } from './ends.ts';
import { cameFrom, thenCame } from './group-pieces.ts';
import { ownership } from './lease-table.ts';
import { purgeLimits } from './limits-sql.ts';
import { cancelPayload, channelOf } from './listen.ts';
import { createPages } from './pages.ts';
import { recordOf } from './rows.ts';
import { removeSome, stepSize, timeOf, usualEnd } from './sql.ts';
import type { PostgresState } from './state.ts';
import { purgeTexts } from './texts-sql.ts';

const keyEnd = 'greatest(hold_until, keep_until)';

export function postgresRecords(state: PostgresState, ends: PostgresEnds): RecordStore {
  const { db, keep } = state;
  const s = db.schema;
  const now = timeOf('$1');
  const keptSince = (at: string) => `${timeOf(at)} - ${state.retention.completedMs}`;
  // Also where nothing listens in this process: a worker in another one may.
  const channel = channelOf(s.slice(1, -1));
  const cancelSql = `
    SELECT answer, came, CASE WHEN answer = 'cancelling' THEN pg_notify($4, $5) END
    FROM (${thenCame(`${s}.cancel($1, $2, $3)`)} OFFSET 0) c (answer, came)`;
  const page = createPages(state, keptSince);

  async function bodyOf(id: string): Promise<string | null> {
    const sql = `
      SELECT body FROM ${s}.jobs WHERE id = $1 UNION ALL SELECT body FROM ${s}.dead WHERE id = $1
      UNION ALL SELECT body FROM ${s}.history WHERE id = $1 AND finished_at > ${keptSince('$2')} LIMIT 1`;
    const [row] = await db.query('reading', sql, [id, state.at()]);
    return (row?.[0] as string | null | undefined) || null;
  }

  return {
    get: groupedReads(async (ids) => {
      const sql = `SELECT found.* FROM unnest($1::text[]) asked, ${s}.record(asked, ${keptSince('$2')}) found`;
      const rows = await db.query('reading', sql, [textArray(ids), state.at()]);
      const byId = new Map(rows.map((row) => [row[0], row]));
      return (id) => {
        const row = byId.get(id);
        return row ? recordOf(row) : null;
      };
    }),

    page,
    body: bodyOf,

    async progress(id, token, progress) {
      const { batch, version } = ownership({ token });
      const sql = `UPDATE ${s}.jobs SET progress = $2 WHERE id = $3 AND turn = $4 AND coalesce(
          (SELECT until > ${now} FROM ${s}.renewals WHERE id = $3 AND claim = $5),
          EXISTS (SELECT FROM ${s}.leases WHERE claim = $5 AND until > ${now})) RETURNING 1`;
      const values = [state.at(), JSON.stringify(progress), id, version, batch];
      return (await db.query('writing progress', sql, values)).length === 1;
    },

    async cancel(id) {
      const [row] = await db.query('cancelling', cancelSql, [state.at(), keep, id, channel, cancelPayload]);
      state.wakeAll(cameFrom(row![1]));
      return row![0] as CancelResult;
    },

    ...(ends && { watchEnd: ends.watch }),

    async cancelRequested(ids) {
      if (ids.length === 0) return [];
      const sql = `SELECT id FROM ${s}.jobs WHERE id = ANY ($1) AND cancel_requested`;
      return (await db.query('reading', sql, [ids])).map(([id]) => id as string);
    },

    async purge(olderThan?: Retention) {
      const { completedMs, deadMs } = olderThan ?? state.retention;
      const at = state.at();
      // A query of its own: compared with a running clock, no index could be used.
      const before = `(SELECT ${now} - $2::bigint)`;
      // One day at a time, because a row's `ctid` finds it at once within the table of that day.
      const stepOfDay = (table: string) => `
        WITH day AS (SELECT tableoid AS oid FROM ${s}.${table} WHERE finished_at <= ${before} LIMIT 1),
        gone AS (
          DELETE FROM ${s}.${table} WHERE tableoid = (SELECT oid FROM day) AND ctid = ANY (ARRAY(
            SELECT ctid FROM ${s}.${table} WHERE finished_at <= ${before} AND tableoid = (SELECT oid FROM day)
            LIMIT ${stepSize} FOR UPDATE SKIP LOCKED))
          RETURNING 1)
        SELECT count(*) FROM gone`;
      await db.query('purging', `SELECT ${s}.make_days($1)`, [at]);
      // Whole days are dropped at once. Rows past their time in the oldest day stay hidden until it is dropped. They are removed one by
      // one only on request, or when they have no day, because no worker has run for a week.
      const rest = olderThan ? 'history' : 'history_other';
      const usual = `${usualEnd} <= ${before} ORDER BY ${usualEnd}, seq`;
      const own = `keep_until <= ${before} ORDER BY keep_until`;
      const steps: [sql: string, values: unknown[]][] = [
        [`SELECT ${s}.drop_days($1, $2)`, [at, completedMs]],
        [stepOfDay(rest), [at, completedMs]],
        [removeSome(`${s}.dead`, 'id', usual), [at, deadMs]],
        [removeSome(`${s}.dead`, 'id', own), [at, deadMs - state.retention.deadMs]],
        [removeSome(`${s}.history_kept`, 'ctid', own), [at, completedMs - state.retention.completedMs]],
        [removeSome(`${s}.keys`, 'key', `${keyEnd} <= ${before} ORDER BY ${keyEnd}`), [at, 0]],
        [purgeLimits(s, now), [at]],
        [removeSome(`${s}.waits`, 'ctid', `until <= ${now}`), [at]],
        [purgeTexts(s, now), [at]],
        [purgeBatches(s, now), [at]],
      ];
      let removed = 0;
      for (const [sql, values] of steps) removed += Number((await db.query('purging', sql, values))[0]![0]);
      return removed;
    },
  };
}
