import type { RecordFilter, RecordPage, RecordStore, Retention } from '../../../core/contract/store.ts';
import { cursorOf, matchesAttempts, mostLooked, positionIn } from '../../../core/kit/records/filter.ts';
import { JobState, recordOf, type StoredRecord } from '../shared/report-lines.ts';
import type { Database } from './database.ts';
import { ownership } from './narrow-rows.ts';
import { type NarrowRow, recordColumns, statusWhere } from './rows.ts';
import { isDead, keptAsUsual, stepSize } from './schema.ts';
import type { Purgeable, SqliteState } from './state.ts';
import { maybeAttempts, type Path, pathOf, whereOf } from './where.ts';

type FoundRow = Omit<NarrowRow, 'interrupted'> & { readonly state: number };

export function sqliteRecords(state: SqliteState, others: readonly Purgeable[]): RecordStore {
  const { db, clock, retention: usual } = state;
  const byId = db.prepare(`SELECT ${recordColumns} FROM job_states WHERE id = ?`);
  const setProgress = db.prepare(`
    UPDATE jobs SET progress = ? WHERE seq = ? AND id = ?
      AND EXISTS (SELECT 1 FROM leases WHERE leases.seq = jobs.seq AND nonce = ? AND lease_until > ?)`);
  const find = db.prepare(
    'SELECT seq, queue, rank, ready_at AS readyAt, attempts AS attempt, state FROM job_states WHERE id = ?',
  );
  const ask = db.prepare('UPDATE jobs SET cancel_requested = 1 WHERE seq = ?');
  const asked = db.prepare(`
    SELECT id FROM jobs JOIN leases USING (seq)
    WHERE id IN (SELECT value FROM json_each(?)) AND cancel_requested`);
  const purgeJobs = db.prepare(`
    DELETE FROM jobs WHERE seq IN (
      SELECT seq FROM jobs WHERE ${keptAsUsual} AND ended IN (SELECT value FROM json_each(?)) AND finished_at <= ?
      LIMIT ${stepSize})`);
  const purgeKept = db.prepare(`
    DELETE FROM jobs WHERE seq IN (
      SELECT seq FROM jobs WHERE keep_until <= ? AND keep_until <= iif(${isDead}, ?, ?) LIMIT ${stepSize})`);

  const body = db.prepare('SELECT body FROM jobs WHERE id = ?'); // empty = not kept
  const page = sqlitePages(db);

  return {
    async get(id) {
      const row = db.run('reading', () => byId.get(id)) as StoredRecord | undefined;
      return row ? recordOf(row) : null;
    },
    page: async (query) => page(query),
    body: async (id) => (db.run('reading', () => body.get(id))?.body as string | undefined) || null,
    async progress(id, token, progress) {
      const { seq, nonce } = ownership({ token });
      const text = JSON.stringify(progress);
      const write = () => setProgress.run(text, seq, id, nonce, clock.now());
      return db.run('writing progress', write).changes === 1;
    },
    async cancel(id) {
      const now = clock.now();
      return db.transaction('cancelling', () => {
        const job = find.get(id) as FoundRow | undefined;
        if (!job) return 'unknown';
        if (job.state === JobState.leased) {
          ask.run(job.seq);
          return 'cancelling';
        }
        if (job.state !== JobState.waiting) return 'finished';
        state.narrowRows.remove(job);
        state.narrowRows.cancel(job.seq, job.attempt, now);
        return 'cancelled';
      });
    },
    // Other processes may end the job too, without a notice.
    watchEnd: ({ id }, look) => ({ hears: false, stop: state.ends.add(id, look) }),
    async cancelRequested(ids) {
      if (ids.length === 0) return [];
      return db.run('reading', () => asked.all(JSON.stringify(ids))).map((row) => row.id as string);
    },
    async purge({ completedMs, deadMs }: Retention = state.retention) {
      const now = clock.now();
      const past = JSON.stringify([JobState.completed, JobState.cancelled]);
      const dead = JSON.stringify([JobState.failed, JobState.expired]);
      return db.transaction('purging', () => {
        const completed = purgeJobs.run(past, now - completedMs).changes;
        const failed = purgeJobs.run(dead, now - deadMs).changes;
        const [keptDead, keptOthers] = [usual.deadMs - deadMs, usual.completedMs - completedMs].map(
          (ms) => now + ms,
        );
        const latest = Math.max(keptDead!, keptOthers!); // for the index
        const kept = purgeKept.run(latest, keptDead!, keptOthers!).changes;
        const ended = others.reduce((sum, other) => sum + other.purgeNow(now), 0);
        return ended + Number(completed) + Number(failed) + Number(kept);
      });
    },
  };
}

type Query = RecordFilter & { readonly after?: string };
type ListedRow = StoredRecord & { readonly seq: number };

/** Lists of jobs by row number, which is the order of creation. */
function sqlitePages(db: Database): (query: Query) => RecordPage {
  /** The last row to read; `null` = all. */
  function edgeBefore(seq: number, path: Path): number | null {
    const edge = db.prepare(
      `SELECT seq FROM jobs WHERE seq < ? AND ${path.sql} ORDER BY seq DESC LIMIT 1 OFFSET ${mostLooked - 1}`,
    );
    return (edge.get(seq, ...path.values)?.seq as number | undefined) ?? null;
  }

  return ({ after, max = 100, ...filter }) =>
    db.run('listing', () => {
      const [before] = after === undefined ? [Number.MAX_SAFE_INTEGER] : positionIn(after, 'number');
      const path = pathOf(db, filter, 'jobs');
      const from = path.isAll ? null : edgeBefore(before, path);
      const columns = whereOf(filter, 'jobs');
      const attempts = maybeAttempts(filter, 'error', 'reports');
      const where = ['seq < ?', 'seq >= ?', path.sql, ...columns.sql, ...attempts.sql];
      if (filter.status !== undefined) where.push(statusWhere[filter.status]);
      const rows = db
        .prepare(
          `SELECT seq, ${recordColumns} FROM job_states WHERE ${where.join(' AND ')} ORDER BY seq DESC`,
        )
        .iterate(before, from ?? 0, ...path.values, ...columns.values, ...attempts.values);
      const records = [];
      let last = 0;
      for (const { seq, ...row } of rows as Iterable<ListedRow>) {
        const record = recordOf(row);
        if (!matchesAttempts(record, filter)) continue;
        if (records.length === max) return { records, next: max < 1 ? null : cursorOf(last) };
        records.push(record);
        last = seq;
      }
      return { records, next: from === null ? null : cursorOf(from) };
    });
}
