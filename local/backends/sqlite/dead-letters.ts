import type { DeadLetter, DeadLetterSummary, DeadLetters } from '../../../core/contract/admin.ts';
import { checkReplaced } from '../../../core/kit/body-limit.ts';
import { pageOf, positionIn } from '../../../core/kit/records/filter.ts';
import type { Grouping } from '../shared/groups.ts';
import { JobState } from '../shared/report-lines.ts';
import { deadColumns, type NarrowRow, replaceText } from './rows.ts';
import { isDead } from './schema.ts';
import type { SqliteState } from './state.ts';

type Revived = Pick<NarrowRow, 'seq' | 'queue' | 'rank'> & { readonly grouping: string | null };
type Listed<Letter> = Letter & { readonly seq: number };

/** Newest first. Row numbers come first, so that texts and what stands behind them are read of what is shown only. */
const behind = (where: string): string => `
  SELECT seq, finished_at FROM jobs WHERE ${where} AND (finished_at, seq) < (:at, :seq)
  ORDER BY finished_at DESC, seq DESC LIMIT :max`;
/** Each has an index of its own, in this order. */
const ofQueue = behind(`${isDead} AND queue = :queue`);
const ofAll = `
  SELECT * FROM (${behind(`${isDead} AND ended = ${JobState.failed}`)})
  UNION ALL SELECT * FROM (${behind(`${isDead} AND ended = ${JobState.expired}`)})`;

export function sqliteDeadLetters(state: SqliteState, maxBodyBytes: number): DeadLetters {
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
