import type { BatchState, BatchStore, ChildEnd } from '../../../core/contract/derived/batches.ts';
import { callWithinMs, mostListedBatches } from '../../../core/kit/records/batch-rules.ts';
import { intArray, storable, textArray } from './arrays.ts';
import { blockSize } from './batches-sql.ts';
import type { Row } from './client.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

const columns = `id, plan, created_at, sent, planned, sealed, cancelled_at, succeeded, failed, round, changed_at, completed_at, called`;
/** Rows of marks per query. */
const mostRows = 64;

const nullable = (value: unknown): number | null => (value === null ? null : Number(value));

const stateOf = (row: Row): BatchState => ({
  id: row[0] as string,
  plan: row[1] as string,
  createdAt: Number(row[2]),
  sent: Number(row[3]),
  planned: Number(row[4]),
  sealed: row[5] as boolean,
  cancelledAt: nullable(row[6]),
  succeeded: Number(row[7]),
  failed: Number(row[8]),
  round: Number(row[9]),
  changedAt: Number(row[10]),
  completedAt: nullable(row[11]),
  called: row[12] as boolean,
});

const firstState = ([row]: readonly Row[]): BatchState | null => (row ? stateOf(row) : null);

const blockOf = (number: number): number => Math.floor(number / blockSize);

/** The text of a bit string with a `1` for each of these numbers. */
function bitsOf(numbers: readonly number[]): string {
  const bits = Buffer.alloc(blockSize, '0');
  for (const number of numbers) bits[number % blockSize] = 0x31;
  return bits.toString('latin1');
}

export function postgresBatches({ db, at }: Pick<PostgresState, 'db' | 'at'>): BatchStore {
  const s = db.schema;
  const now = timeOf('$1');

  /** @param wanted finds the numbers with this character in `column` */
  async function numbers(
    id: string,
    column: 'ended' | 'failed',
    wanted: '0' | '1',
    from: number,
    max: number,
  ) {
    const found: number[] = [];
    const [row] = await db.query('reading a batch', `SELECT planned FROM ${s}.batches WHERE id = $1`, [id]);
    const planned = Number(row?.[0] ?? 0);
    const select = `SELECT block, ${column}::text FROM ${s}.batch_marks WHERE batch = $1 AND block >= $2 AND block < $3`;
    for (let number = from; number < planned && found.length < max; ) {
      const first = blockOf(number);
      const rows = await db.query('reading a batch', select, [id, first, first + mostRows]);
      const marks = new Map(rows.map(([block, text]) => [block as number, text as string]));
      const end = Math.min(planned, (first + mostRows) * blockSize);
      for (; number < end && found.length < max; number++)
        if ((marks.get(blockOf(number))?.[number % blockSize] ?? '0') === wanted) found.push(number);
    }
    return found;
  }

  return {
    async open({ id, plan, sender, planned }) {
      const sql = `
        INSERT INTO ${s}.batches AS b (id, plan, sender, created_at, sent, planned, sealed, succeeded, failed, round, changed_at, called, look_at)
        SELECT $2, $3, $4, n.now, 0, $5::bigint, false, 0, 0, 1, n.now, false, n.now FROM (SELECT ${now} AS now) n
        ON CONFLICT (id) DO UPDATE SET
          sender = CASE WHEN b.sealed THEN b.sender ELSE excluded.sender END,
          planned = CASE WHEN b.sealed THEN b.planned ELSE greatest(b.planned, excluded.planned) END
        RETURNING ${columns}`;
      const rows = await db.query('opening a batch', sql, [at(), id, storable(plan), sender, planned]);
      return firstState(rows)!;
    },
    async sent(id, sender, { sent, planned, sealed }) {
      const sql = `
        UPDATE ${s}.batches b SET sent = $4::bigint, planned = $5::bigint, sealed = $6::boolean, changed_at = n.now,
          completed_at = CASE WHEN $6::boolean AND b.succeeded + b.failed = $4::bigint THEN n.now END,
          look_at = n.now + ${callWithinMs}
        FROM (SELECT ${now} AS now) n WHERE id = $2 AND sender = $3 AND NOT b.sealed RETURNING ${columns}`;
      return firstState(await db.query('sending a batch', sql, [at(), id, sender, sent, planned, sealed]));
    },
    async ended(ends) {
      if (ends.length === 0) return [];
      await db.ready();
      const groups = groupsOf(ends);
      const rows = await db.prepared('counting a batch', `SELECT ${s}.end_children($1, $2, $3, $4, $5)`, [
        at(),
        textArray(groups.map(({ batch }) => batch)),
        intArray(groups.map(({ block }) => block)),
        textArray(groups.map(({ ok }) => bitsOf(ok))),
        textArray(groups.map(({ bad }) => bitsOf(bad))),
      ]);
      return rows.map(([id]) => id as string);
    },
    async get(id) {
      const sql = `SELECT ${columns} FROM ${s}.batches WHERE id = $1`;
      return firstState(await db.query('reading a batch', sql, [id]));
    },
    async list({ after, max = mostListedBatches }) {
      const sql = `
        SELECT ${columns} FROM ${s}.batches WHERE $1::text IS NULL OR seq < (SELECT seq FROM ${s}.batches WHERE id = $1)
        ORDER BY seq DESC LIMIT $2`;
      return (await db.query('listing batches', sql, [after ?? null, max])).map(stateOf);
    },
    async cancel(id) {
      const total = 'CASE WHEN b.sealed THEN b.sent ELSE b.planned END';
      const sql = `
        UPDATE ${s}.batches b SET sent = ${total}, sealed = true, cancelled_at = coalesce(b.cancelled_at, n.now),
          completed_at = CASE WHEN b.succeeded + b.failed = ${total} THEN n.now END, look_at = n.now + ${callWithinMs}
        FROM (SELECT ${now} AS now) n WHERE id = $2 AND b.completed_at IS NULL RETURNING ${columns}`;
      return firstState(await db.query('cancelling a batch', sql, [at(), id]));
    },
    unended: (id, from, max) => numbers(id, 'ended', '0', from, max),
    failed: (id, from, max) => numbers(id, 'failed', '1', from, max),
    async reopen(id, numbers) {
      const groups = [...Map.groupBy(numbers, blockOf)];
      const blocks = intArray(groups.map(([block]) => block));
      const marks = textArray(groups.map(([, some]) => bitsOf(some)));
      const sql = `SELECT ${s}.reopen_children($1, $2, $3, $4)`;
      const [row] = await db.query('reopening a batch', sql, [at(), id, blocks, marks]);
      return row![0] as number;
    },
    async called(id, round) {
      const sql = `UPDATE ${s}.batches SET called = true, look_at = NULL WHERE id = $1 AND round = $2 AND completed_at IS NOT NULL`;
      await db.query('closing a batch', sql, [id, round]);
    },
    async toCheck({ quietMs, everyMs, max }) {
      const isQuiet = '(b.completed_at IS NOT NULL OR b.changed_at + $2::bigint <= n.now)';
      const sql = `
        WITH n AS MATERIALIZED (SELECT ${now} AS now),
        chosen AS (
          SELECT id FROM ${s}.batches WHERE look_at <= (SELECT now FROM n) ORDER BY look_at LIMIT $4 FOR UPDATE SKIP LOCKED)
        UPDATE ${s}.batches b SET look_at = CASE WHEN ${isQuiet} THEN n.now + $3::bigint ELSE b.changed_at + $2::bigint END
        FROM n WHERE id IN (SELECT id FROM chosen) RETURNING ${columns}, ${isQuiet}`;
      const found: BatchState[] = [];
      for (;;) {
        const most = max - found.length;
        const rows = await db.query('looking for batches', sql, [at(), quietMs, everyMs, most]);
        found.push(...rows.filter((row) => row[13]).map(stateOf));
        if (rows.length < most || found.length === max) return found;
      }
    },
  };
}

interface Group {
  readonly batch: string;
  readonly block: number;
  readonly ok: number[];
  readonly bad: number[];
}

function groupsOf(ends: readonly ChildEnd[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { batch, number, failed } of ends) {
    const block = blockOf(number);
    const name = `${block} ${batch}`;
    let group = groups.get(name);
    if (!group) {
      group = { batch, block, ok: [], bad: [] };
      groups.set(name, group);
    }
    group[failed ? 'bad' : 'ok'].push(number);
  }
  return [...groups.values()];
}
