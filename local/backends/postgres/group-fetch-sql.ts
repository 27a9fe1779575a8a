/** How heads and those in line behind them are leased, and how those that were delayed join their lines. */

import { GroupState, groupsOf, lockOf } from './group-pieces.ts';

const { inLine, leased } = GroupState;

/** @param s the schema's name, quoted */
export const fetchGroups = (s: string): string => `
  -- Those of these jobs whose groups could be locked without waiting.
  CREATE OR REPLACE FUNCTION ${s}.try_groups(ids text[]) RETURNS text[] LANGUAGE plpgsql AS $$
  DECLARE
    held int[];
  BEGIN
    held := ARRAY(SELECT l.n FROM ${s}.group_locks l WHERE l.n = ANY (ARRAY(
      SELECT ${lockOf('g.queue', 'g.name')} FROM ${s}.grouped g WHERE g.id = ANY (ids))) ORDER BY l.n FOR UPDATE SKIP LOCKED);
    RETURN ARRAY(SELECT g.id FROM ${s}.grouped g WHERE g.id = ANY (ids) AND ${lockOf('g.queue', 'g.name')} = ANY (held));
  END $$;
  -- Those whose time has come join the lines of their groups.
  CREATE OR REPLACE FUNCTION ${s}.promote_groups(now bigint, queues text[]) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    ids text[];
    g ${s}.grouped;
    j ${s}.jobs;
  BEGIN
    IF NOT EXISTS (SELECT FROM ${s}.grouped t WHERE t.queue = ANY (queues) AND t.apart_until <= now) THEN
      RETURN;
    END IF;
    ids := ${s}.try_groups(ARRAY(SELECT t.id FROM ${s}.grouped t WHERE t.queue = ANY (queues) AND t.apart_until <= now
      ORDER BY t.apart_until, t.seq LIMIT 1000));
    FOR g IN SELECT * FROM ${s}.grouped t WHERE t.id = ANY (ids) AND t.apart_until <= now ORDER BY t.apart_until, t.seq LOOP
      SELECT * INTO j FROM ${s}.jobs t WHERE t.id = g.id;
      DELETE FROM ${s}.delayed d WHERE d.queue = j.queue AND d.ready_at = j.ready_at AND d.seq = j.seq;
      PERFORM ${s}.join_group(now, g, j.ready_at);
    END LOOP;
  END $$;
  -- The first ready jobs of these queues, locked, and which of them are heads. Without heads whose groups others are at: then blocked.
  CREATE OR REPLACE FUNCTION ${s}.pick(open text[], most int, OUT spots tid[], OUT heads text[], OUT blocked boolean) LANGUAGE plpgsql AS $$
  DECLARE
    ids text[];
    found_heads text[];
    numbers int[];
    held int[];
  BEGIN
    SELECT array_agg(f.spot), array_agg(f.id) INTO spots, ids FROM (
      SELECT r.spot, r.id FROM (
        SELECT first.queue, count(*) AS n FROM (
          SELECT q.queue FROM unnest(open) q (queue) CROSS JOIN LATERAL (
            SELECT t.rank, t.seq FROM ${s}.ready t WHERE t.queue = q.queue ORDER BY t.queue, t.rank, t.seq LIMIT most) r
          ORDER BY r.rank, r.seq LIMIT most) first
        GROUP BY first.queue) share
      CROSS JOIN LATERAL (
        SELECT t.ctid AS spot, t.id FROM ${s}.ready t WHERE t.queue = share.queue ORDER BY t.queue, t.rank, t.seq LIMIT share.n
        FOR UPDATE SKIP LOCKED) r) f;
    SELECT array_agg(g.id), array_agg(${lockOf('g.queue', 'g.name')}) INTO found_heads, numbers
    FROM ${s}.grouped g WHERE g.id = ANY (ids);
    blocked := false;
    IF found_heads IS NULL THEN
      RETURN;
    END IF;
    held := ARRAY(SELECT l.n FROM ${s}.group_locks l WHERE l.n = ANY (numbers) ORDER BY l.n FOR UPDATE SKIP LOCKED);
    heads := ARRAY(SELECT u.id FROM unnest(found_heads, numbers) u (id, n) WHERE u.n = ANY (held));
    blocked := cardinality(heads) < cardinality(found_heads);
    IF blocked THEN
      spots := ARRAY(SELECT u.spot FROM unnest(spots, ids) u (spot, id)
        WHERE NOT (u.id = ANY (found_heads)) OR u.id = ANY (heads));
    END IF;
  END $$;
  -- These heads are leased, and so are those behind them, as many as there is room for: turn by turn, one of each group. Answers with
  -- the latter, in order. Then the next ones come forward.
  CREATE OR REPLACE FUNCTION ${s}.lease_heads(now bigint, heads text[], room int) RETURNS text[] LANGUAGE plpgsql AS $$
  DECLARE
    queues text[];
    names text[];
    entered bigint[];
    long boolean[]; -- whether more may be in line than were taken
    depth int;
    chosen text[];
    counts int[];
    behind text[] := '{}';
  BEGIN
    WITH held AS (
      UPDATE ${s}.grouped t SET state = ${leased}, apart_until = NULL WHERE t.id = ANY (heads)
      RETURNING t.queue, t.name, t.ordering, t.entered_at)
    ${groupsOf('held', 'WHERE ordering IS NULL')}; -- behind an ordered one nobody comes before it has ended
    IF queues IS NULL THEN
      RETURN behind;
    END IF;
    long := array_fill(true, ARRAY[cardinality(queues)]);
    WHILE room > 0 AND true = ANY (long) LOOP
      depth := ceil(room::numeric / cardinality(array_positions(long, true)));
      WITH line AS (
        SELECT n.id, n.seq, n.k, greatest(now - 1, g.entered_at) + n.k + n.lag AS rank, g.n AS which
        FROM unnest(queues, names, entered, long) WITH ORDINALITY g (queue, name, entered_at, long, n)
        CROSS JOIN LATERAL (
          SELECT f.id, f.seq, f.lag, row_number() OVER w AS k, bool_and(f.ordering IS NULL) OVER w AS is_free FROM (
            SELECT t.id, t.place, t.seq, t.lag, t.ordering FROM ${s}.grouped t
            WHERE t.queue = g.queue AND t.name = g.name AND t.state = ${inLine}
            ORDER BY t.queue, t.name, t.state, t.place, t.seq LIMIT depth) f
          WINDOW w AS (ORDER BY f.place, f.seq)) n
        WHERE g.long AND n.is_free),
      best AS (SELECT * FROM line ORDER BY k, rank, seq LIMIT room),
      taken AS (UPDATE ${s}.grouped t SET state = ${leased} FROM best b WHERE t.id BETWEEN b.id AND b.id)
      SELECT ARRAY(SELECT b.id FROM best b ORDER BY b.k, b.rank, b.seq),
        ARRAY(SELECT (SELECT count(*) FROM best b WHERE b.which = g.n) FROM generate_series(1, cardinality(long)) g (n))
      INTO chosen, counts;
      behind := behind || chosen;
      room := room - cardinality(chosen);
      entered := ARRAY(SELECT greatest(now - 1, u.entered_at) + u.count FROM unnest(entered, counts) u (entered_at, count));
      long := ARRAY(SELECT u.count = depth FROM unnest(counts) u (count));
    END LOOP;
    PERFORM ${s}.advance_groups(now, queues, names, entered);
    RETURN behind;
  END $$;`;
