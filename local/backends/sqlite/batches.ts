import type { BatchState, BatchStore, ChildEnd } from '../../../core/contract/derived/batches.ts';
import {
  byBatch,
  callWithinMs,
  countBits,
  endOfBatch,
  isAllEnded,
  isSet,
  keepSilentMs,
  type Marks,
  mostListedBatches,
  noMarks,
  setMark,
  takeMark,
} from '../../../core/kit/records/batch-rules.ts';
import { stepSize } from './schema.ts';
import type { Purgeable, SqliteState } from './state.ts';

/** Children per row of marks. */
const blockSize = 4_096;

interface Stored extends BatchState {
  readonly sender: string;
}

const statements = {
  read: 'SELECT state FROM batches WHERE id = ?',
  write: `
    INSERT INTO batches (id, seq, look_at, ends_at, state) VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM batches), ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET look_at = excluded.look_at, ends_at = excluded.ends_at, state = excluded.state`,
  count: 'UPDATE batches SET ends_at = ?, state = ? WHERE id = ?',
  list: `
    SELECT state FROM batches WHERE seq < coalesce((SELECT seq FROM batches WHERE id = ?), ${Number.MAX_SAFE_INTEGER})
    ORDER BY seq DESC LIMIT ?`,
  due: 'SELECT state FROM batches WHERE look_at <= ? ORDER BY look_at LIMIT ?',
  looked: 'UPDATE batches SET look_at = ? WHERE id = ?',
  readMarks: 'SELECT ended, failed FROM batch_marks WHERE batch = ? AND block = ?',
  writeMarks: `
    INSERT INTO batch_marks (batch, block, ended, failed) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET ended = excluded.ended, failed = excluded.failed`,
  past: `SELECT id FROM batches WHERE ends_at <= ? LIMIT ${stepSize}`,
  removeMarks: 'DELETE FROM batch_marks WHERE batch = ?',
  remove: 'DELETE FROM batches WHERE id = ?',
};

export function sqliteBatches({ db, clock }: Pick<SqliteState, 'db' | 'clock'>): BatchStore & Purgeable {
  const sql = db.prepareAll(statements);

  function read(id: string): Stored | null {
    const row = sql.read.get(id);
    return row ? (JSON.parse(row.state as string) as Stored) : null;
  }

  function write(state: Stored, lookAt: number | null): BatchState {
    sql.write.run(state.id, lookAt, endOfBatch(state), JSON.stringify(state));
    return shown(state);
  }

  /** Writes a changed batch, which is complete when all its children have ended. */
  function settle(state: Stored, now: number): BatchState {
    if (state.completedAt === null && isAllEnded(state))
      return write({ ...state, completedAt: now, changedAt: now }, now + callWithinMs);
    return write(state, now);
  }

  const marksOf = (id: string, block: number): Marks =>
    (sql.readMarks.get(id, block) as Marks | undefined) ?? noMarks(blockSize);

  /** Changes marks, and returns by how much the counts change. */
  function changeMarks<T extends { readonly number: number }>(
    id: string,
    some: readonly T[],
    change: (marks: Marks, at: number, one: T) => void,
  ): { readonly ended: number; readonly failed: number } {
    let ended = 0;
    let failed = 0;
    for (const [block, ones] of Map.groupBy(some, ({ number }) => Math.floor(number / blockSize))) {
      const marks = marksOf(id, block);
      ended -= countBits(marks.ended);
      failed -= countBits(marks.failed);
      for (const one of ones) change(marks, one.number % blockSize, one);
      ended += countBits(marks.ended);
      failed += countBits(marks.failed);
      sql.writeMarks.run(id, block, marks.ended, marks.failed);
    }
    return { ended, failed };
  }

  function endSome(id: string, ends: readonly ChildEnd[], now: number): boolean {
    const state = read(id);
    if (!state || state.completedAt !== null) return false;
    const known = ends.filter(({ number }) => number < state.planned);
    const more = changeMarks(id, known, (marks, at, { failed }) => setMark(marks, at, failed));
    if (more.ended === 0 && more.failed === 0) return false;
    const failed = state.failed + more.failed;
    const succeeded = state.succeeded + more.ended - more.failed;
    const counted = { ...state, succeeded, failed, changedAt: now };
    if (isAllEnded(counted)) return settle(counted, now).completedAt !== null;
    sql.count.run(now + keepSilentMs, JSON.stringify(counted), id);
    return false;
  }

  const transaction = <T>(during: string, work: (now: number) => T): T =>
    db.transaction(during, () => work(clock.now()));

  function numbers(id: string, from: number, max: number, holds: (marks: Marks, at: number) => boolean) {
    return db.run('reading a batch', () => {
      const { planned } = read(id) ?? { planned: 0 };
      const found: number[] = [];
      for (let number = from; number < planned && found.length < max; ) {
        const block = Math.floor(number / blockSize);
        const marks = marksOf(id, block);
        for (; number < Math.min(planned, (block + 1) * blockSize) && found.length < max; number++)
          if (holds(marks, number % blockSize)) found.push(number);
      }
      return found;
    });
  }

  return {
    async open({ id, plan, sender, planned }) {
      return transaction('opening a batch', (now) => {
        const known = read(id);
        if (known?.sealed) return shown(known);
        if (known) return write({ ...known, sender, planned: Math.max(known.planned, planned) }, now);
        const fresh = { id, plan, sender, planned, createdAt: now, changedAt: now, sent: 0, round: 1 };
        const empty = { succeeded: 0, failed: 0, sealed: false, cancelledAt: null, completedAt: null };
        return write({ ...fresh, ...empty, called: false }, now);
      });
    },
    async sent(id, sender, progress) {
      return transaction('sending a batch', (now) => {
        const state = read(id);
        if (!state || state.sealed || state.sender !== sender) return null;
        return settle({ ...state, ...progress, changedAt: now }, now);
      });
    },
    async ended(ends) {
      return transaction('counting a batch', (now) =>
        byBatch(ends).flatMap(([id, some]) => (endSome(id, some, now) ? [id] : [])),
      );
    },
    async get(id) {
      const state = db.run('reading a batch', () => read(id));
      return state && shown(state);
    },
    async list({ after = '', max = mostListedBatches }) {
      const rows = db.run('listing batches', () => sql.list.all(after, max));
      return rows.map(({ state }) => shown(JSON.parse(state as string)));
    },
    async cancel(id) {
      return transaction('cancelling a batch', (now) => {
        const state = read(id);
        if (!state || state.completedAt !== null) return null;
        if (state.cancelledAt !== null) return shown(state);
        const sent = state.sealed ? state.sent : state.planned;
        return settle({ ...state, sealed: true, sent, cancelledAt: now }, now);
      });
    },
    unended: async (id, from, max) => numbers(id, from, max, ({ ended }, at) => !isSet(ended, at)),
    failed: async (id, from, max) => numbers(id, from, max, ({ failed }, at) => isSet(failed, at)),
    async reopen(id, numbers) {
      return transaction('reopening a batch', (now) => {
        const state = read(id);
        if (!state) return 0;
        const known = numbers.filter((number) => number < state.planned).map((number) => ({ number }));
        const count = -changeMarks(id, known, takeMark).failed;
        if (count === 0) return 0;
        const round = state.completedAt === null ? state.round : state.round + 1;
        const open = { completedAt: null, called: false, cancelledAt: null, changedAt: now };
        write({ ...state, ...open, round, failed: state.failed - count }, now);
        return count;
      });
    },
    async called(id, round) {
      transaction('closing a batch', () => {
        const state = read(id);
        if (state?.round === round && state.completedAt !== null) write({ ...state, called: true }, null);
      });
    },
    async toCheck({ quietMs, everyMs, max }) {
      return transaction('looking for batches', (now) => {
        const found: BatchState[] = [];
        for (;;) {
          const due = sql.due.all(now, max - found.length);
          for (const row of due) {
            const state = JSON.parse(row.state as string) as Stored;
            const isQuiet = state.completedAt !== null || state.changedAt + quietMs <= now;
            sql.looked.run(isQuiet ? now + everyMs : state.changedAt + quietMs, state.id);
            if (isQuiet) found.push(shown(state));
          }
          if (due.length === 0 || found.length === max) return found;
        }
      });
    },
    purgeNow(now) {
      const past = sql.past.all(now);
      for (const { id } of past) {
        sql.removeMarks.run(id as string);
        sql.remove.run(id as string);
      }
      return past.length;
    },
  };
}

const shown = ({ sender: _, ...state }: Stored): BatchState => state;
