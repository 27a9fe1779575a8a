import type {
  LimitState,
  LimitStore,
  SlotAnswer,
  SlotRequest,
  SlotWaiter,
} from '../../../core/contract/derived/limits.ts';
import {
  answerOf,
  endOfHold,
  freeSlots,
  mostAhead,
  mostCountedWaiters,
  mostShownKeys,
  mostShownSlots,
  type Obstacles,
  shownHold,
  waiterUntil,
} from '../../../core/kit/records/limit-rules.ts';
import { isBefore } from '../shared/text-range.ts';
import { stepSize } from './schema.ts';
import type { Purgeable, SqliteState } from './state.ts';

const primaryKeys = { limit_slots: 'key, holder', limit_waiters: 'holder, key', limit_holds: 'key' } as const;
const waiting = 'FROM limit_waiters WHERE key = ?1 AND until > ?2';
const nextKey = (than: '>' | '>=') => {
  const first = (table: string) =>
    `SELECT * FROM (SELECT key FROM ${table} WHERE key ${than} ?1 AND until > ?2 ORDER BY key LIMIT 1)`;
  return `SELECT min(key) AS key FROM (${Object.keys(primaryKeys).map(first).join(' UNION ALL ')})`;
};

/**
 * Each statement uses an index and reads the rows of one key only. Parameters have numbers, and LIMITs are fixed: with names, or a
 * parameter as LIMIT, a statement takes four times as long.
 */
export const limitStatements = {
  obstacles: `
    SELECT count(*) FILTER (WHERE until > ?2) AS used, min(most) FILTER (WHERE until > ?2) AS "limit",
      max(most) FILTER (WHERE until > ?2) AS largest,
      min(until) FILTER (WHERE until > ?2) AS firstEnd, count(*) FILTER (WHERE until <= ?2) AS ended,
      (SELECT until FROM limit_holds WHERE key = ?1 AND until > ?2) AS heldUntil
    FROM limit_slots WHERE key = ?1 AND holder <> ?3`,
  removeEndedSlots: 'DELETE FROM limit_slots WHERE key = ?1 AND until <= ?2',
  writeSlot: `
    INSERT INTO limit_slots (key, holder, owner, most, until) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET owner = excluded.owner, most = excluded.most, until = excluded.until`,
  extendSlot:
    'UPDATE limit_slots SET until = ?5 WHERE key = ?1 AND until > ?2 AND holder = ?3 AND owner = ?4',
  removeSlot: 'DELETE FROM limit_slots WHERE key = ?1 AND until > ?2 AND holder = ?3 AND owner = ?4',
  slots: `
    SELECT holder, until FROM limit_slots WHERE key = ?1 AND until > ?2
    ORDER BY until, holder LIMIT ${mostShownSlots}`,
  removeSlots: 'DELETE FROM limit_slots WHERE key = ?1 AND until > ?2',
  ahead: `SELECT count(*) AS count FROM (SELECT 1 ${waiting} AND (rank, holder) < (?3, ?4) LIMIT ${mostAhead})`,
  writeWaiter: `
    INSERT INTO limit_waiters (holder, key, queue, rank, most, until) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET queue = excluded.queue, rank = excluded.rank, most = excluded.most, until = excluded.until`,
  removeWaiter: 'DELETE FROM limit_waiters WHERE holder = ? AND key = ?',
  removeWaits: 'DELETE FROM limit_waiters WHERE holder = ?',
  firstWaiter: `SELECT holder, queue, most ${waiting} ORDER BY rank, holder LIMIT 1`,
  countWaiters: `SELECT count(*) AS count FROM (SELECT 1 ${waiting} LIMIT ${mostCountedWaiters})`,
  waitsFor: 'SELECT key FROM limit_waiters WHERE holder = ? AND until > ? ORDER BY key',
  hold: `
    INSERT INTO limit_holds (key, until) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET until = max(until, excluded.until)`,
  removeHold: 'DELETE FROM limit_holds WHERE key = ?1 AND until > ?2',
  firstKey: nextKey('>='),
  nextKey: nextKey('>'),
} as const;

export function sqliteLimits({ db, clock }: Pick<SqliteState, 'db' | 'clock'>): LimitStore & Purgeable {
  const sql = db.prepareAll(limitStatements);

  /** Reads the clock after it has the write lock: a time from before the wait would be too early. */
  const transaction = <T>(during: string, work: (now: number) => T): T =>
    db.transaction(during, () => work(clock.now()));

  type Found = Obstacles & { readonly ended: number };
  /** @param holder its own slot does not count */
  const obstaclesOf = (key: string, holder: string, now: number) =>
    sql.obstacles.get(key, now, holder) as unknown as Found;

  /** @param crowds by key, a rank with `mostAhead` waiters ahead of it: higher ranks need no count */
  function takeOne(
    { key, holder, waiter = holder, owner, queue, ...asked }: SlotRequest,
    now: number,
    crowds: Map<string, number>,
  ): SlotAnswer {
    const found = obstaclesOf(key, holder, now);
    if (found.ended > 0) sql.removeEndedSlots.run(key, now);
    const answer = answerOf(asked, found, now, () => {
      if (asked.rank > (crowds.get(key) ?? Infinity)) return mostAhead;
      sql.removeWaiter.run(waiter, key);
      const ahead = sql.ahead.get(key, now, asked.rank, waiter)!.count as number;
      if (ahead === mostAhead) crowds.set(key, asked.rank);
      return ahead;
    });
    if (answer.taken) {
      sql.writeSlot.run(key, holder, owner, asked.limit, now + Math.ceil(asked.holdMs));
      sql.removeWaiter.run(waiter, key);
    } else {
      const until = waiterUntil(now, answer.waitMs);
      sql.writeWaiter.run(waiter, key, queue, asked.rank, asked.limit, until);
    }
    return answer;
  }

  function wakeSome(key: string, max: number, now: number): SlotWaiter[] {
    type First = { readonly holder: string; readonly queue: string; readonly most: number } | undefined;
    const first = () => sql.firstWaiter.get(key, now) as First;
    const woken: SlotWaiter[] = [];
    let next = first();
    if (!next) return [];
    const { used, limit, heldUntil } = obstaclesOf(key, '', now);
    const most = heldUntil === null ? Math.min(max, freeSlots(used, [next.most, limit ?? Infinity])) : 0;
    for (; next && woken.length < most; next = first()) {
      const { holder, queue } = next;
      sql.removeWaiter.run(holder, key);
      woken.push({ key, holder, queue });
    }
    return woken;
  }

  function stateOf(key: string, now: number): LimitState {
    const { used, limit, heldUntil } = obstaclesOf(key, '', now);
    const slots = sql.slots.all(key, now) as { holder: string; until: number }[];
    return {
      key,
      limit,
      used,
      slots: slots.map(({ holder, until }) => ({ holder, until })),
      heldUntil: heldUntil === null ? null : shownHold(heldUntil),
      waiting: sql.countWaiters.get(key, now)!.count as number,
    };
  }

  return {
    async take(requests) {
      return transaction('taking slots', (now) => {
        const crowds = new Map<string, number>();
        return requests.map((request) => takeOne(request, now, crowds));
      });
    },
    async extend(slots, holdMs) {
      return transaction('extending slots', (now) =>
        slots.map(
          ({ key, holder, owner }) =>
            sql.extendSlot.run(key, now, holder, owner, now + Math.ceil(holdMs)).changes === 1,
        ),
      );
    },
    async free(slots) {
      return transaction('freeing slots', (now) => {
        const counts = new Map<string, number>();
        for (const { key, holder, owner } of slots)
          if (sql.removeSlot.run(key, now, holder, owner).changes === 1)
            counts.set(key, (counts.get(key) ?? 0) + 1);
        return [...counts].flatMap(([key, count]) => wakeSome(key, count, now));
      });
    },
    async wake(key, max) {
      return transaction('waking', (now) => wakeSome(key, max, now));
    },
    async hold(key, ms) {
      const now = clock.now();
      const until = endOfHold(now, ms);
      if (until > now) db.run('holding a limit', () => sql.hold.run(key, until));
    },
    async reset(key) {
      return transaction('resetting a limit', (now) => {
        const slots = sql.removeSlots.run(key, now).changes;
        const holds = sql.removeHold.run(key, now).changes;
        return Number(slots) + Number(holds) > 0;
      });
    },
    async list({ prefix = '', after = '', max = mostShownKeys }) {
      const now = clock.now();
      return db.run('listing limits', () => {
        const shown: LimitState[] = [];
        const [from, begin] = isBefore(after, prefix) ? [prefix, sql.firstKey] : [after, sql.nextKey];
        let next = begin.get(from, now)!.key as string | null;
        while (shown.length < max && next?.startsWith(prefix)) {
          shown.push(stateOf(next, now));
          next = sql.nextKey.get(next, now)!.key as string | null;
        }
        return shown;
      });
    },
    async leave(holders) {
      transaction('leaving limits', () => {
        for (const holder of holders) sql.removeWaits.run(holder);
      });
    },
    async waitsFor(holders) {
      const now = clock.now();
      const keysOf = (holder: string) => sql.waitsFor.all(holder, now).map(({ key }) => key as string);
      return db.run('reading limits', () => holders.map(keysOf));
    },
    purgeNow: (now) =>
      Object.entries(primaryKeys).reduce((sum, [table, key]) => {
        const ended = `SELECT ${key} FROM ${table} WHERE until <= ? LIMIT ${stepSize}`;
        const remove = db.prepare(`DELETE FROM ${table} WHERE (${key}) IN (${ended})`);
        return sum + Number(remove.run(now).changes);
      }, 0),
  };
}
