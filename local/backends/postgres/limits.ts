import { slices } from '../../../core/base/slices.ts';
import type {
  LimitState,
  LimitStore,
  SlotAnswer,
  SlotRequest,
  SlotWaiter,
  TakenSlot,
} from '../../../core/contract/derived/limits.ts';
import {
  forever,
  mostCountedWaiters,
  mostShownKeys,
  mostShownSlots,
} from '../../../core/kit/records/limit-rules.ts';
import { bigintArray, intArray, storable, textArray } from './arrays.ts';
import type { Row } from './client.ts';
import { sqlState } from './errors.ts';
import { keyOf, storedKey } from './keys.ts';
import { needsReadCommitted } from './limits-sql.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

/** A call locks each of its keys, and the server has room for some thousand locks. */
const mostAtOnce = 200;

type TakenRow = [
  place: number,
  taken: boolean,
  limit: number,
  largest: number,
  ahead: number,
  wait: string | null,
];
type WaiterRow = [key: string, holder: string, queue: string];
type ListedRow = [
  key: string,
  limit: number | null,
  used: number,
  waiting: number,
  heldMs: number | null,
  slots: [holder: string, ms: number][] | null,
];

export function postgresLimits(state: Pick<PostgresState, 'db' | 'clock' | 'at'>): LimitStore {
  const { db, clock, at } = state;
  const s = db.schema;
  /** The database's default isolation level is too strict: a transaction would not see changes that it has waited for. */
  let isStrict = false;

  async function call(during: string, text: string, values: unknown[]): Promise<Row[]> {
    await db.ready();
    if (!isStrict) {
      try {
        return await db.prepared(during, text, values);
      } catch (error) {
        if (sqlState((error as Error).cause) !== needsReadCommitted) throw error;
        isStrict = true;
      }
    }
    return db.inTransaction(during, 'BEGIN ISOLATION LEVEL READ COMMITTED', text, values);
  }

  const columnsOf = (slots: readonly TakenSlot[]) => [
    textArray(slots.map(({ key }) => storedKey(key))),
    textArray(slots.map(({ holder }) => storedKey(holder))),
    textArray(slots.map(({ owner }) => storable(owner))),
  ];
  const waiterOf = ([key, holder, queue]: WaiterRow): SlotWaiter => ({
    key: keyOf(key),
    holder: keyOf(holder),
    queue,
  });

  async function takeSome(requests: readonly SlotRequest[]): Promise<SlotAnswer[]> {
    const rows = await call(
      'taking slots',
      `SELECT * FROM ${s}.take_slots($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        at(),
        ...columnsOf(requests),
        textArray(requests.map(({ queue }) => queue)),
        intArray(requests.map(({ limit }) => limit)),
        bigintArray(requests.map(({ holdMs }) => Math.ceil(holdMs))),
        requests.map(({ rank }) => rank),
        textArray(requests.map((request) => storedKey(waiterName(request)))),
      ],
    );
    const answers: SlotAnswer[] = [];
    for (const [place, taken, limit, largest, ahead, wait] of rows as unknown as TakenRow[])
      answers[place - 1] = taken
        ? { taken, limit, largest }
        : { taken, limit, largest, ahead, waitMs: wait === null ? Infinity : Number(wait) };
    return answers;
  }

  return {
    async take(requests) {
      const answers: SlotAnswer[] = [];
      for (const some of withoutTwice(requests)) answers.push(...(await takeSome(some)));
      return answers;
    },
    async extend(slots, holdMs) {
      const sql = `SELECT ${s}.extend_slots($1, $2, $3, $4, $5)`;
      const answers: boolean[] = [];
      for (const some of slices(slots, mostAtOnce)) {
        const [row] = await call('extending slots', sql, [at(), ...columnsOf(some), Math.ceil(holdMs)]);
        const extended = new Set(row![0] as number[]);
        answers.push(...some.map((_, i) => extended.has(i + 1)));
      }
      return answers;
    },
    async free(slots) {
      const sql = `SELECT * FROM ${s}.free_slots($1, $2, $3, $4)`;
      const waiters: SlotWaiter[] = [];
      for (const some of slices(slots, mostAtOnce)) {
        const rows = await call('freeing slots', sql, [at(), ...columnsOf(some)]);
        waiters.push(...(rows as unknown as WaiterRow[]).map(waiterOf));
      }
      return waiters;
    },
    async wake(key, max) {
      const sql = `SELECT * FROM ${s}.wake_waiters($1, $2, $3)`;
      const rows = await call('waking', sql, [at(), storedKey(key), Math.min(max, forever)]);
      return (rows as unknown as WaiterRow[]).map(waiterOf);
    },
    async hold(key, ms) {
      if (!(ms > 0)) return;
      const sql = `
        INSERT INTO ${s}.limit_holds AS h (key, until) VALUES ($2, least(${timeOf('$1')} + $3::bigint, ${forever}))
        ON CONFLICT (key) DO UPDATE SET until = greatest(h.until, excluded.until)`;
      await db.query('holding a limit', sql, [at(), storedKey(key), Math.ceil(Math.min(ms, forever))]);
    },
    async reset(key) {
      const [row] = await call('resetting a limit', `SELECT ${s}.reset_limit($1, $2)`, [
        at(),
        storedKey(key),
      ]);
      return row![0] as boolean;
    },
    async list({ prefix = '', after = '', max = mostShownKeys, waiting }) {
      if (waiting) {
        const sql = `SELECT EXISTS (SELECT FROM ${s}.limit_waiters)`;
        if (!(await db.query('listing limits', sql, []))[0]![0]) return [];
      }
      const calledAt = clock.now();
      const values = [at(), storedKey(prefix), storedKey(after), max];
      const rows = await db.inOrder(listSql(s), values);
      return (rows as unknown as ListedRow[]).map(
        ([key, limit, used, waiters, heldMs, slots]): LimitState => ({
          key: keyOf(key),
          limit,
          used,
          slots: (slots ?? []).map(([holder, ms]) => ({ holder: keyOf(holder), until: calledAt + ms })),
          heldUntil: heldMs === null ? null : calledAt + heldMs,
          waiting: waiters,
        }),
      );
    },
    async leave(holders) {
      // Skips rows that another call has locked: that call rewrites or removes them, and waiting for it could be a deadlock.
      const sql = `DELETE FROM ${s}.limit_waiters WHERE (holder, key) IN (
        SELECT holder, key FROM ${s}.limit_waiters WHERE holder = ANY ($1) FOR UPDATE SKIP LOCKED)`;
      await db.query('leaving limits', sql, [textArray(holders.map(storedKey))]);
    },
    async waitsFor(holders) {
      const sql = `SELECT holder, key FROM ${s}.limit_waiters WHERE holder = ANY ($2) AND until > ${timeOf('$1')} ORDER BY key`;
      const names = holders.map(storedKey);
      const rows = await db.query('reading limits', sql, [at(), textArray(names)]);
      const keys = Map.groupBy(rows, ([name]) => name as string);
      return names.map((name) => (keys.get(name) ?? []).map(([, key]) => keyOf(key as string)));
    },
  };
}

const waiterName = ({ holder, waiter = holder }: SlotRequest): string => waiter;

/** A statement can change a slot or a waiter only once, so a second request for the same one goes into another call. */
function* withoutTwice(requests: readonly SlotRequest[]): Generator<readonly SlotRequest[]> {
  let some: SlotRequest[] = [];
  let asked = new Set<string>();
  for (const request of requests) {
    const names = [`h${request.holder}`, `w${waiterName(request)}`].map((name) =>
      JSON.stringify([request.key, name]),
    );
    if (names.some((name) => asked.has(name)) || some.length === mostAtOnce) {
      yield some;
      some = [];
      asked = new Set();
    }
    some.push(request);
    for (const name of names) asked.add(name);
  }
  if (some.length > 0) yield some;
}

/**
 * $1 the time, $2 the prefix, $3 the key before the first, $4 the maximum. Jumps from key to key, however many rows a key has. `+ 0`
 * keeps the planner from the indexes by time, as in the functions.
 */
function listSql(s: string): string {
  const now = '(SELECT now FROM given)';
  const next = (after: string): string => {
    const first = ['limit_slots', 'limit_waiters', 'limit_holds'].map(
      (table) => `(SELECT x.key FROM ${s}.${table} x
        WHERE x.key > ${after} AND x.key >= $2 AND x.until > ${now} ORDER BY x.key LIMIT 1)`,
    );
    return `least(${first.join(', ')})`;
  };
  return `
    WITH RECURSIVE given AS MATERIALIZED (SELECT ${timeOf('$1')} AS now),
    keys (key, n) AS (
      SELECT ${next('$3')}, 1
      UNION ALL SELECT ${next('k.key')}, k.n + 1 FROM keys k WHERE starts_with(k.key, $2) AND k.n < $4)
    SELECT k.key, l.most, l.used, (
        SELECT count(*)::int FROM (
          SELECT FROM ${s}.limit_waiters w WHERE w.key = k.key AND w.until + 0 > ${now} LIMIT ${mostCountedWaiters}) w), (
        SELECT CASE WHEN h.until >= ${forever} THEN 'Infinity' ELSE (h.until - ${now})::float8 END
        FROM ${s}.limit_holds h WHERE h.key = k.key AND h.until > ${now}), (
        SELECT json_agg(json_build_array(f.holder, f.until - ${now}) ORDER BY f.until, f.holder) FROM (
          SELECT f.holder, f.until FROM ${s}.limit_slots f WHERE f.key = k.key AND f.until + 0 > ${now}
          ORDER BY f.until + 0, f.holder LIMIT ${mostShownSlots}) f)
    FROM keys k CROSS JOIN LATERAL (
      SELECT min(l.most) AS most, count(*)::int AS used FROM ${s}.limit_slots l WHERE l.key = k.key AND l.until + 0 > ${now}) l
    WHERE starts_with(k.key, $2) ORDER BY k.n LIMIT $4`;
}
