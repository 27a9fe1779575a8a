import type { RecordStore, Retention } from '../../../core/contract/store.ts';
import { payloadOf } from '../../../core/kit/records/payload.ts';
import { JobState, recordOf, type StoredRecord } from '../shared/report-lines.ts';
import { ownership } from './narrow-rows.ts';
import { sqlitePages } from './pages.ts';
import { type NarrowRow, recordColumns } from './rows.ts';
import { isDead, keptAsUsual, stepSize } from './schema.ts';
import type { Purgeable, SqliteState } from './state.ts';

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

  const body = db.prepare('SELECT body FROM jobs WHERE id = ?'); // empty when it is not kept
  const bodyOf = (id: string) => (db.run('reading', () => body.get(id))?.body as string | undefined) || null;
  const page = sqlitePages(db);

  return {
    async get(id) {
      const row = db.run('reading', () => byId.get(id)) as StoredRecord | undefined;
      return row ? recordOf(row) : null;
    },
    async list(filter) {
      return [...page(filter).records];
    },
    page: async (query) => page(query),
    payload: async (id) => payloadOf(bodyOf(id)),
    body: async (id) => bodyOf(id),
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
    // Other processes may end it too, and say nothing.
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
