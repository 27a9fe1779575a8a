import type {
  DeadLetter,
  DeadLetterSummary,
  DeadLetters,
  PeekedMessage,
  QueueAdmin,
  QueueStats,
} from '../../../core/contract/admin.ts';
import { checkReplaced } from '../../../core/kit/body-limit.ts';
import { pageOf, positionIn } from '../../../core/kit/records/filter.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { type Grouping, GroupState } from '../shared/groups.ts';
import { JobState } from '../shared/report-lines.ts';
import { deadColumns, type NarrowRow, peekColumns, replaceText } from './rows.ts';
import { isDead, stepSize } from './schema.ts';
import type { SqliteState } from './state.ts';
import { sqliteTransfer } from './transfer.ts';

/** The oldest job is searched among the first ones: later jobs of the same priority are younger. */
const mostCompared = 1_000;
/** A row of `grouped` that is in no other narrow table. */
const isInLine = `state = ${GroupState.inLine}`;

export function sqliteAdmin(state: SqliteState, maxBodyBytes: number): QueueAdmin & MovableAdmin {
  const { db, clock } = state;
  const names = db.prepare('SELECT name FROM queues ORDER BY name');
  const counts = db.prepare(`
    WITH asked (queue, now) AS (SELECT ?, ?)
    SELECT
      (SELECT count(*) FROM ready WHERE queue = asked.queue)
        + (SELECT count(*) FROM grouped WHERE queue = asked.queue AND ${isInLine}) AS ready,
      (SELECT count(*) FROM delayed WHERE queue = asked.queue AND ready_at <= now) AS due,
      (SELECT count(*) FROM delayed WHERE queue = asked.queue AND ready_at > now) AS delayed,
      (SELECT count(*) FROM leases WHERE queue = asked.queue) AS leased,
      (SELECT count(*) FROM jobs WHERE ${isDead} AND queue = asked.queue) AS dead,
      (SELECT min(ready_at) FROM (
        SELECT ready_at FROM ready WHERE queue = asked.queue ORDER BY rank LIMIT ${mostCompared})) AS oldest_ready,
      (SELECT min(ready_at) FROM delayed WHERE queue = asked.queue) AS oldest_delayed,
      (SELECT min(ready_at) FROM jobs WHERE seq IN (
        SELECT seq FROM grouped WHERE queue = asked.queue AND ${isInLine} LIMIT ${mostCompared})) AS oldest_in_line,
      coalesce((SELECT paused FROM queues WHERE name = asked.queue), 0) AS paused
    FROM asked`);
  // Reads at most `max` rows of each table, so that no long queue is sorted.
  const peekReady = db.prepare(`
    SELECT ${peekColumns} FROM job_states WHERE seq IN (
      SELECT seq FROM (SELECT seq FROM ready WHERE queue = :queue ORDER BY rank, seq LIMIT :max)
      UNION ALL SELECT seq FROM (
        SELECT seq FROM delayed WHERE queue = :queue AND ready_at <= :now ORDER BY ready_at, seq LIMIT :max + ${stepSize}))
    ORDER BY rank, seq LIMIT :max`);
  const peekDelayed = db.prepare(`
    SELECT ${peekColumns} FROM job_states
    WHERE seq IN (SELECT seq FROM delayed WHERE queue = :queue AND ready_at > :now ORDER BY ready_at, seq LIMIT :max)
    ORDER BY ready_at, seq`);
  /** Group by group. */
  const peekInLine = db.prepare(`
    SELECT ${peekColumns} FROM (SELECT seq, name, place FROM grouped WHERE queue = :queue AND ${isInLine} ORDER BY name, place LIMIT :max) g
    JOIN job_states USING (seq) ORDER BY name, place, seq`);
  const clearJobs = db.prepare(`
    DELETE FROM jobs WHERE seq IN (
      SELECT seq FROM ready WHERE queue = :queue UNION ALL SELECT seq FROM delayed WHERE queue = :queue
      UNION ALL SELECT seq FROM grouped WHERE queue = :queue AND ${isInLine}) RETURNING id`);
  const clearReady = db.prepare('DELETE FROM ready WHERE queue = ?');
  const clearDelayed = db.prepare('DELETE FROM delayed WHERE queue = ?');
  const clearGrouped = db.prepare(`DELETE FROM grouped WHERE queue = ? AND state <> ${GroupState.leased}`);
  const setPaused = db.prepare(`
    INSERT INTO queues (name, paused) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET paused = excluded.paused`);

  function statsOf(queue: string): QueueStats {
    const now = clock.now();
    const row = db.run('counting', () => counts.get(queue, now)) as Record<string, number | null>;
    const { oldest_ready, oldest_delayed, oldest_in_line } = row;
    const oldest = Math.min(...[oldest_ready, oldest_delayed, oldest_in_line].map((at) => at ?? Infinity));
    return {
      queue,
      ready: row.ready! + row.due!,
      delayed: row.delayed!,
      leased: row.leased!,
      dead: row.dead!,
      paused: row.paused === 1,
      oldestReadyMs: oldest <= now ? now - oldest : null,
    };
  }

  return {
    transfer: sqliteTransfer(state, maxBodyBytes),
    async stats(only) {
      const queues = only === undefined ? names.all().map((row) => row.name as string) : [only];
      return queues.map(statsOf);
    },
    async peek(queue, max) {
      const now = clock.now();
      return db.run('peeking', () => {
        const ready = peekReady.all({ queue, now, max });
        const inLine = peekInLine.all({ queue, max: max - ready.length });
        const delayed = peekDelayed.all({ queue, now, max: max - ready.length - inLine.length });
        return [...ready, ...inLine, ...delayed].map((row) => ({ ...row }) as unknown as PeekedMessage);
      });
    },
    async clear(queue, gone) {
      const ids = db.transaction('clearing', () => {
        const rows = clearJobs.all({ queue }) as { id: string }[];
        for (const narrow of [clearReady, clearDelayed, clearGrouped]) narrow.run(queue);
        return rows.map(({ id }) => id);
      });
      await gone?.(ids);
      return ids.length;
    },
    async setPaused(queue, isPaused) {
      db.run(isPaused ? 'pausing' : 'resuming', () => setPaused.run(queue, Number(isPaused)));
      state.wake();
    },
    deadLetters: sqliteDeadLetters(state, maxBodyBytes),
  };
}

type Revived = Pick<NarrowRow, 'seq' | 'queue' | 'rank'> & { readonly grouping: string | null };
type Listed<Letter> = Letter & { readonly seq: number };

/** Newest first. Selects row numbers first, so that texts are read of the shown rows only. */
const behind = (where: string): string => `
  SELECT seq, finished_at FROM jobs WHERE ${where} AND (finished_at, seq) < (:at, :seq)
  ORDER BY finished_at DESC, seq DESC LIMIT :max`;
/** Each query has its own index, in this order. */
const ofQueue = behind(`${isDead} AND queue = :queue`);
const ofAll = `
  SELECT * FROM (${behind(`${isDead} AND ended = ${JobState.failed}`)})
  UNION ALL SELECT * FROM (${behind(`${isDead} AND ended = ${JobState.expired}`)})`;

function sqliteDeadLetters(state: SqliteState, maxBodyBytes: number): DeadLetters {
  const { db, clock } = state;
  const newest = (columns: string, positions: string) =>
    db.prepare(`
      SELECT ${columns} FROM jobs WHERE seq IN (SELECT seq FROM (${positions}))
      ORDER BY finished_at DESC, seq DESC LIMIT :max`);
  const summary = `seq, ${deadColumns}, octet_length(body) AS bytes, tenant_id AS tenantId`;
  const whole = `${deadColumns}, body`;
  const pages = { ofAll: newest(summary, ofAll), ofQueue: newest(summary, ofQueue) };
  const lists = { ofAll: newest(whole, ofAll), ofQueue: newest(whole, ofQueue) };
  const byId = db.prepare(`SELECT ${whole} FROM jobs WHERE id = ? AND ${isDead}`);
  const revive = db.prepare(`
    UPDATE jobs SET ended = NULL, cancel_requested = 0, finished_at = NULL, attempt = 0, reason = NULL, error = NULL, keep_until = NULL,
      ready_at = ?, rank = ? + priority * ${state.ageingMs}
    WHERE id = ? AND ${isDead} RETURNING seq, queue, rank, grouping`);
  const replace = db.prepare(replaceText);
  const discard = db.prepare(`DELETE FROM jobs WHERE id = ? AND ${isDead}`);

  /** @param after a cursor */
  function read<Letter>(
    statements: typeof pages,
    queue: string | undefined,
    max: number,
    after?: string,
  ): Letter[] {
    const [at, seq] =
      after === undefined ? [Number.MAX_SAFE_INTEGER, 0] : positionIn(after, 'number', 'number');
    const values = { at, seq, max: Math.max(0, max) };
    const rows = db.run('listing dead letters', () =>
      queue === undefined ? statements.ofAll.all(values) : statements.ofQueue.all({ ...values, queue }),
    );
    return rows.map((row) => ({ ...row })) as Letter[];
  }

  return {
    list: async ({ queue, max = 100 }) => read<DeadLetter>(lists, queue, max),
    async page({ queue, max = 100, after }) {
      const found = read<Listed<DeadLetterSummary>>(pages, queue, max + 1, after);
      const { shown, next } = pageOf(found, max, ({ diedAt, seq }) => [diedAt, seq]);
      return { letters: shown.map(({ seq: _, ...letter }) => letter), next };
    },
    async get(id) {
      const row = db.run('reading a dead letter', () => byId.get(id));
      return row ? ({ ...row } as unknown as DeadLetter) : null;
    },
    async retry(ids, replaced) {
      checkReplaced(replaced, maxBodyBytes);
      const now = clock.now();
      const reviveOne = (id: string): boolean => {
        const found = revive.get(now, now, id) as unknown as Revived | undefined;
        if (!found) return false;
        const { grouping, ...job } = found;
        if (grouping !== null)
          state.narrowRows.groups.add(job.seq, job.queue, JSON.parse(grouping) as Grouping);
        const replacement = replaced?.get(id);
        if (replacement) {
          const { body, facts } = replacement;
          replace.run(body, facts ? JSON.stringify(facts) : null, job.seq);
        }
        state.narrowRows.insert({ ...job, readyAt: now, attempt: 0, interrupted: 0 }, now);
        return true;
      };
      const count = db.transaction('retrying', () => ids.filter(reviveOne).length);
      if (count > 0) state.wake();
      return count;
    },
    async discard(ids) {
      return db.transaction('discarding', () => ids.filter((id) => discard.run(id).changes === 1).length);
    },
  };
}
