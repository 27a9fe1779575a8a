/**
 * Limits inside the database. Each call of the store is one function and one round trip for any number of keys. A function locks its keys
 * first, always in the same order, and then reads in another statement: in one statement it would read the state from before its wait.
 */

import { forever, forgetMs, mostAhead, mostWaitMs } from '../../../core/kit/records/limit-rules.ts';
import { clock, hot, stepSize } from './sql.ts';

/** The error code for a transaction that only sees the state at its beginning. */
export const needsReadCommitted = 'LS001';

/**
 * Reads the time after it has the locks. A crash of the server may undo the last changes, as it does with the leases of the slots; a
 * slot that was not freed ends by itself.
 */
const begin = (s: string, keys: string): string => `
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'Expected a transaction that is READ COMMITTED' USING ERRCODE = '${needsReadCommitted}';
  END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(l.n) FROM (
    SELECT DISTINCT hashtextextended('longshore limit of ${s} ' || k, 0) AS n FROM unnest(${keys}) k ORDER BY n) l;
  now := ${clock};`;

/** `+ 0` keeps the planner from the index by time, which is for the purge. */
const alive = 'until + 0 > now';

/**
 * One statement takes all keys that are named once and have no slots, which are most of many keys.
 *
 * @param s the schema's name, quoted
 */
const takeSlots = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.take_slots(
    at bigint, p_keys text[], p_holders text[], p_owners text[], p_queues text[], p_most int[], p_holds bigint[], p_ranks float8[],
    p_waiters text[]
  ) RETURNS TABLE (place int, taken boolean, most int, largest int, ahead int, wait bigint) LANGUAGE plpgsql ${hot} AS $$
  #variable_conflict use_column
  DECLARE
    now bigint;
    free int[];
    r record;
    used int;
    smallest int;
    greatest_most int;
    first_end bigint;
    recount boolean;
    crowd float8;
    begins bigint;
  BEGIN
    ${begin(s, 'p_keys')}
    WITH found AS (
      SELECT u.* FROM (
        SELECT u.*, count(*) OVER (PARTITION BY u.key) AS times
        FROM unnest(p_keys, p_holders, p_owners, p_most, p_holds, p_waiters) WITH ORDINALITY
          u (key, holder, owner, wanted, hold, waiter, place)) u
      WHERE u.times = 1
        AND NOT EXISTS (SELECT FROM ${s}.limit_slots l WHERE l.key BETWEEN u.key AND u.key OFFSET 0)
        AND NOT EXISTS (SELECT FROM ${s}.limit_holds h WHERE h.key BETWEEN u.key AND u.key OFFSET 0)
        AND NOT EXISTS (SELECT FROM ${s}.limit_waiters w WHERE w.holder = u.waiter AND w.key = u.key OFFSET 0)),
    put AS (
      INSERT INTO ${s}.limit_slots (key, holder, owner, most, until) SELECT key, holder, owner, wanted, now + hold FROM found)
    SELECT coalesce(array_agg(u.place), '{}') INTO free FROM found u;
    RETURN QUERY SELECT n, true, p_most[n], p_most[n], NULL::int, NULL::bigint FROM unnest(free) n;
    IF cardinality(free) = cardinality(p_keys) THEN
      RETURN;
    END IF;
    FOR r IN
      SELECT a.*, f.*,
        EXISTS (SELECT FROM ${s}.limit_slots o WHERE o.key = a.key AND o.holder = a.holder AND o.${alive} OFFSET 0) AS has_slot,
        EXISTS (SELECT FROM ${s}.limit_waiters w WHERE w.holder = a.waiter AND w.key = a.key OFFSET 0) AS waits,
        (SELECT h.until FROM ${s}.limit_holds h WHERE h.key = a.key AND h.until > now) AS held_until
      FROM (
        SELECT u.*, row_number() OVER (PARTITION BY u.key ORDER BY u.place) = 1 AS is_first
        FROM unnest(p_keys, p_holders, p_owners, p_queues, p_most, p_holds, p_ranks, p_waiters) WITH ORDINALITY
          u (key, holder, owner, queue, wanted, hold, rank, waiter, place)
        WHERE NOT (u.place = ANY (free))) a
      CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE l.until > now)::int AS in_use, min(l.most) FILTER (WHERE l.until > now) AS least_most,
          max(l.most) FILTER (WHERE l.until > now) AS most_most,
          min(l.until) FILTER (WHERE l.until > now) AS next_end, count(*) FILTER (WHERE l.until <= now) AS ended
        FROM ${s}.limit_slots l WHERE a.is_first AND l.key BETWEEN a.key AND a.key) f
      ORDER BY a.key, a.place
    LOOP
      IF r.is_first THEN
        used := r.in_use;
        smallest := r.least_most;
        greatest_most := r.most_most;
        first_end := r.next_end;
        recount := false;
        crowd := NULL;
        IF r.ended > 0 THEN
          DELETE FROM ${s}.limit_slots d WHERE d.key = r.key AND NOT d.${alive};
        END IF;
      END IF;
      -- Its own slot does not count.
      IF r.has_slot OR recount THEN
        SELECT count(*), min(o.most), max(o.most), min(o.until) INTO used, smallest, greatest_most, first_end
        FROM ${s}.limit_slots o WHERE o.key = r.key AND o.holder <> r.holder AND o.${alive};
      END IF;
      place := r.place;
      most := least(r.wanted, smallest);
      largest := greatest(r.wanted, greatest_most);
      taken := used < most AND r.held_until IS NULL;
      recount := r.has_slot AND NOT taken;
      IF taken THEN
        INSERT INTO ${s}.limit_slots AS o (key, holder, owner, most, until) VALUES (r.key, r.holder, r.owner, r.wanted, now + r.hold)
        ON CONFLICT (key, holder) DO UPDATE SET owner = excluded.owner, most = excluded.most, until = excluded.until;
        IF r.waits THEN
          DELETE FROM ${s}.limit_waiters w WHERE w.holder = r.waiter AND w.key = r.key;
        END IF;
        used := used + 1;
        smallest := most;
        greatest_most := largest;
        first_end := least(first_end, now + r.hold);
      ELSE
        -- If a waiter of a lower rank has this many ahead, this waiter has too.
        ahead := ${mostAhead};
        IF crowd IS NULL OR r.rank <= crowd THEN
          SELECT count(*) INTO ahead FROM (
            SELECT FROM ${s}.limit_waiters w WHERE w.key = r.key AND (w.rank, w.holder) < (r.rank, r.waiter)
              AND w.holder <> r.waiter AND w.${alive} LIMIT ${mostAhead}) counted;
          crowd := CASE WHEN ahead = ${mostAhead} THEN r.rank ELSE crowd END;
        END IF;
        begins := greatest(r.held_until, CASE WHEN used >= most THEN first_end END);
        wait := greatest(1, begins - now + ahead / most * r.hold);
        INSERT INTO ${s}.limit_waiters AS w (holder, key, queue, rank, most, until)
        VALUES (r.waiter, r.key, r.queue, r.rank, r.wanted, now + least(wait, ${mostWaitMs}) + ${forgetMs})
        ON CONFLICT (holder, key) DO UPDATE SET
          queue = excluded.queue, rank = excluded.rank, most = excluded.most, until = excluded.until;
        IF begins >= ${forever} THEN
          wait := NULL; -- not before a reset
        END IF;
      END IF;
      RETURN NEXT;
    END LOOP;
  END $$;`;

/** Removes and returns the next waiters: one per free slot, at most `room`. The caller has locked the key. */
const nextWaiters = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.next_waiters(now bigint, the_key text, room bigint) RETURNS TABLE (key text, holder text, queue text)
  LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    first int;
  BEGIN
    SELECT w.most INTO first FROM ${s}.limit_waiters w WHERE w.key = the_key AND w.${alive} ORDER BY w.rank, w.holder LIMIT 1;
    IF NOT FOUND OR EXISTS (SELECT FROM ${s}.limit_holds h WHERE h.key = the_key AND h.until > now) THEN
      RETURN;
    END IF;
    SELECT least(room, least(first, min(l.most)) - count(*)) INTO room FROM ${s}.limit_slots l WHERE l.key = the_key AND l.${alive};
    RETURN QUERY WITH woken AS (
      DELETE FROM ${s}.limit_waiters WHERE ctid = ANY (ARRAY(
        SELECT w.ctid FROM ${s}.limit_waiters w WHERE w.key = the_key AND w.${alive}
        ORDER BY w.rank, w.holder LIMIT greatest(0, room)))
      RETURNING rank, holder, queue)
    SELECT the_key, w.holder, w.queue FROM woken w ORDER BY w.rank, w.holder;
  END $$;
  CREATE OR REPLACE FUNCTION ${s}.wake_waiters(at bigint, the_key text, room bigint) RETURNS TABLE (key text, holder text, queue text)
  LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint;
  BEGIN
    ${begin(s, 'ARRAY[the_key]')}
    RETURN QUERY SELECT * FROM ${s}.next_waiters(now, the_key, room);
  END $$;`;

const owned = (slot: string, a: string): string =>
  `${slot}.key BETWEEN ${a}.key AND ${a}.key AND ${slot}.holder = ${a}.holder AND ${slot}.owner = ${a}.owner AND ${slot}.${alive}`;

const keepSlots = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.free_slots(at bigint, p_keys text[], p_holders text[], p_owners text[])
  RETURNS TABLE (key text, holder text, queue text) LANGUAGE plpgsql ${hot} AS $$
  #variable_conflict use_column
  DECLARE
    now bigint;
    r record;
  BEGIN
    ${begin(s, 'p_keys')}
    FOR r IN
      WITH gone AS (
        DELETE FROM ${s}.limit_slots l USING unnest(p_keys, p_holders, p_owners) a (key, holder, owner) WHERE ${owned('l', 'a')}
        RETURNING l.key)
      SELECT g.key, count(*) AS n FROM gone g
      WHERE EXISTS (SELECT FROM ${s}.limit_waiters w WHERE w.key = g.key AND w.${alive} OFFSET 0) GROUP BY g.key
    LOOP
      RETURN QUERY SELECT * FROM ${s}.next_waiters(now, r.key, r.n);
    END LOOP;
  END $$;
  -- Returns the positions of the slots that exist, and now end later.
  CREATE OR REPLACE FUNCTION ${s}.extend_slots(at bigint, p_keys text[], p_holders text[], p_owners text[], hold bigint)
  RETURNS int[] LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint;
  BEGIN
    ${begin(s, 'p_keys')}
    UPDATE ${s}.limit_slots l SET until = now + hold
    FROM unnest(p_keys, p_holders, p_owners) a (key, holder, owner) WHERE ${owned('l', 'a')};
    RETURN ARRAY(
      SELECT a.n FROM unnest(p_keys, p_holders, p_owners) WITH ORDINALITY a (key, holder, owner, n)
      WHERE EXISTS (SELECT FROM ${s}.limit_slots l WHERE ${owned('l', 'a')} OFFSET 0));
  END $$;
  CREATE OR REPLACE FUNCTION ${s}.reset_limit(at bigint, the_key text) RETURNS boolean LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint;
    gone bigint;
  BEGIN
    ${begin(s, 'ARRAY[the_key]')}
    WITH slots AS (DELETE FROM ${s}.limit_slots l WHERE l.key = the_key RETURNING until),
    holds AS (DELETE FROM ${s}.limit_holds h WHERE h.key = the_key RETURNING until)
    SELECT count(*) INTO gone FROM (SELECT * FROM slots UNION ALL SELECT * FROM holds) g WHERE g.until > now;
    RETURN gone > 0;
  END $$;`;

/** @param s the schema's name, quoted */
export const limitFunctions = (s: string): string =>
  [takeSlots, nextWaiters, keepSlots].map((define) => define(s)).join('\n');

/** One step of a purge: returns how many expired rows it removed. Locked rows are left for the next step. */
export const purgeLimits = (s: string, now: string): string => {
  const tables = ['limit_slots', 'limit_waiters', 'limit_holds'];
  const steps = tables.map(
    (table) => `${table} AS (
      DELETE FROM ${s}.${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${s}.${table} WHERE until <= (SELECT ${now}) ORDER BY until LIMIT ${stepSize} FOR UPDATE SKIP LOCKED))
      RETURNING 1)`,
  );
  return `WITH ${steps.join(', ')} SELECT ${tables.map((table) => `(SELECT count(*) FROM ${table})`).join(' + ')}`;
};
