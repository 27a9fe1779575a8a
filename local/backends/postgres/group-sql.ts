/**
 * Groups. Only the first job of each group, the head, is in `ready`, so that a fetch needs no other query; the others wait in line. A job
 * with a group has one row in `grouped` while it may run; a dead letter keeps its group in its own row. These functions run in the
 * transaction of the step that they belong to.
 *
 * A change of a group needs the lock of the group. A transaction takes all its locks at once, sorted, before it locks rows of jobs:
 * otherwise two transactions could deadlock. Only a fetch takes locks later, without waiting: it skips groups that are locked.
 */

import { GroupState, mostAheadMs } from '../shared/groups.ts';
import { anyGroups, cameForward, cameSetting, groupsOf, lockOf, mayFollow, unknown } from './group-pieces.ts';
import { clock, hot } from './sql.ts';

const { inLine, head, apart, leased } = GroupState;

const locking = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.mark_grouped(p_queues text[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF EXISTS (SELECT FROM unnest(p_queues) g (queue) WHERE NOT EXISTS (SELECT FROM ${s}.queues n WHERE n.name = g.queue AND n.grouped)) THEN
      INSERT INTO ${s}.queues (name, grouped) SELECT DISTINCT g.queue, true FROM unnest(p_queues) g (queue) ORDER BY 1
      ON CONFLICT (name) DO UPDATE SET grouped = true;
    END IF;
  END $$;
  CREATE OR REPLACE FUNCTION ${s}.lock_some(numbers int[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM FROM ${s}.group_locks l WHERE l.n = ANY (numbers) ORDER BY l.n FOR UPDATE;
  END $$;
  -- Takes the locks of the groups of these jobs.
  CREATE OR REPLACE FUNCTION ${s}.lock_groups(ids text[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF ${anyGroups(s)} THEN
      PERFORM ${s}.lock_some(ARRAY(SELECT ${lockOf('g.queue', 'g.name')} FROM ${s}.grouped g WHERE g.id = ANY (ids)));
    END IF;
  END $$;
  -- Takes the locks of groups whose next job may become the head when these jobs end. Returns whether any job has a group.
  CREATE OR REPLACE FUNCTION ${s}.lock_ending(ids text[]) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    numbers int[];
  BEGIN
    IF NOT ${anyGroups(s)} THEN
      RETURN false;
    END IF;
    numbers := ARRAY(SELECT CASE WHEN ${mayFollow('g')} THEN ${lockOf('g.queue', 'g.name')} END FROM ${s}.grouped g WHERE g.id = ANY (ids));
    PERFORM ${s}.lock_some(numbers);
    RETURN cardinality(numbers) > 0;
  END $$;`;

const moving = (s: string): string => `
  -- Remembers for this transaction that a job of this queue became a head, so that the caller wakes workers.
  CREATE OR REPLACE FUNCTION ${s}.came_forward(the_queue text) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    known text := coalesce(${cameForward}, '');
  BEGIN
    IF NOT (the_queue = ANY (string_to_array(known, ' '))) THEN
      PERFORM set_config('${cameSetting}', ltrim(known || ' ' || the_queue), true);
    END IF;
  END $$;
  -- Makes the next job of each group its head, if it may run. Pass each group once. p_entered: when the last heads counted as ready.
  CREATE OR REPLACE FUNCTION ${s}.advance_groups(now bigint, p_queues text[], p_names text[], p_entered bigint[])
  RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    gone text[];
    here text[];
    came text;
  BEGIN
    LOOP
      WITH next AS (
        SELECT n.id, n.lag, least(now + ${mostAheadMs}, greatest(now, g.entered_at + 1)) AS ready_from
        FROM (SELECT unnest(p_queues) AS queue, unnest(p_names) AS name, unnest(p_entered) AS entered_at) g CROSS JOIN LATERAL (
          SELECT t.id, t.lag, t.ordering FROM ${s}.grouped t WHERE t.queue = g.queue AND t.name = g.name AND t.state = ${inLine}
          ORDER BY t.queue, t.name, t.state, t.place, t.seq LIMIT 1) n
        WHERE NOT EXISTS (SELECT FROM ${s}.grouped t WHERE t.queue = g.queue AND t.name = g.name AND t.state = ${unknown(head)} OFFSET 0)
          AND (n.ordering IS NULL OR NOT EXISTS (SELECT FROM ${s}.grouped t
            WHERE t.queue = g.queue AND t.name = g.name AND t.state = ${unknown(leased)} AND t.ordering IS NOT NULL OFFSET 0))),
      moved AS (
        UPDATE ${s}.jobs j SET rank = n.ready_from + n.lag FROM next n WHERE j.id BETWEEN n.id AND n.id
        RETURNING j.queue, j.rank, j.seq, j.ready_at, j.id, n.ready_from),
      headed AS (
        UPDATE ${s}.grouped t SET state = ${head}, entered_at = m.ready_from FROM moved m WHERE t.id BETWEEN m.id AND m.id),
      lined AS (INSERT INTO ${s}.ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM moved)
      SELECT (SELECT array_agg(DISTINCT m.queue) FROM moved m), (
        SELECT array_agg(n.id) FROM next n WHERE NOT (n.id = ANY (ARRAY(SELECT m.id FROM moved m)))) INTO here, gone;
      FOREACH came IN ARRAY coalesce(here, '{}') LOOP
        PERFORM ${s}.came_forward(came);
      END LOOP;
      EXIT WHEN gone IS NULL;
      DELETE FROM ${s}.grouped WHERE id = ANY (gone); -- their jobs were deleted by hand
    END LOOP;
  END $$;
  CREATE OR REPLACE FUNCTION ${s}.advance_one(now bigint, queue text, name text, entered bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM ${s}.advance_groups(now, ARRAY[queue], ARRAY[name], ARRAY[entered]);
  END $$;
  -- Puts a job that is in no narrow table into the line, at its old place if it has one.
  CREATE OR REPLACE FUNCTION ${s}.join_group(now bigint, g ${s}.grouped, ready_at bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE ${s}.grouped SET state = ${inLine}, apart_until = NULL, place = coalesce(g.place,
      CASE WHEN g.ordering IS NULL THEN ready_at + g.lag ELSE greatest(ready_at, ${s}.last_place(g.queue, g.name) + 1) END)
    WHERE id = g.id;
    PERFORM ${s}.advance_one(now, g.queue, g.name, g.entered_at);
  END $$;
  -- The last place in the line. Without a line, the last place of the other jobs of the group.
  CREATE OR REPLACE FUNCTION ${s}.last_place(the_queue text, the_name text) RETURNS bigint LANGUAGE plpgsql AS $$
  BEGIN
    RETURN coalesce(
      (SELECT t.place FROM ${s}.grouped t WHERE t.queue = the_queue AND t.name = the_name AND t.state = ${inLine}
        ORDER BY t.queue DESC, t.name DESC, t.state DESC, t.place DESC, t.seq DESC LIMIT 1),
      (SELECT max(t.place) FROM ${s}.grouped t WHERE t.queue = the_queue AND t.name = the_name), 0);
  END $$;
  -- Lets a job that is in no narrow table wait. false = it has no group.
  CREATE OR REPLACE FUNCTION ${s}.wait_in_group(now bigint, j ${s}.jobs) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    g ${s}.grouped;
    is_head boolean;
  BEGIN
    SELECT * INTO g FROM ${s}.grouped t WHERE t.id = j.id;
    IF NOT FOUND THEN
      RETURN false;
    ELSIF j.ready_at <= now THEN
      PERFORM ${s}.join_group(now, g, j.ready_at);
    ELSE
      -- The others wait for a job that was leased before, but not for one that was delayed in line.
      is_head := coalesce(g.ordering, '') = 'wait' AND g.place IS NOT NULL AND g.state = ${leased}
        AND NOT EXISTS (SELECT FROM ${s}.grouped t WHERE t.queue = g.queue AND t.name = g.name AND t.state = ${unknown(head)});
      UPDATE ${s}.grouped SET state = CASE WHEN is_head THEN ${head} ELSE ${apart} END,
        apart_until = CASE WHEN NOT is_head THEN j.ready_at END WHERE id = g.id;
      INSERT INTO ${s}.delayed (queue, ready_at, seq, rank, id) VALUES (j.queue, j.ready_at, j.seq, j.rank, j.id);
      PERFORM ${s}.advance_one(now, g.queue, g.name, g.entered_at);
    END IF;
    RETURN true;
  END $$;
  -- Records that these jobs are held; jobs without a group are ignored.
  CREATE OR REPLACE FUNCTION ${s}.lease_groups(now bigint, ids text[]) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    queues text[];
    names text[];
    entered bigint[];
  BEGIN
    PERFORM ${s}.lock_groups(ids);
    WITH held AS (
      UPDATE ${s}.grouped t SET state = ${leased}, apart_until = NULL WHERE t.id = ANY (ids) RETURNING t.queue, t.name, t.entered_at)
    ${groupsOf('held')};
    PERFORM ${s}.advance_groups(now, queues, names, entered);
    RETURN true;
  END $$;
  -- Records that these jobs will not run again; jobs without a group are ignored.
  CREATE OR REPLACE FUNCTION ${s}.end_groups(now bigint, ids text[]) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    queues text[];
    names text[];
    entered bigint[];
  BEGIN
    IF NOT ${s}.lock_ending(ids) THEN
      RETURN;
    END IF;
    WITH gone AS (DELETE FROM ${s}.grouped t WHERE t.id = ANY (ids) RETURNING t.queue, t.name, t.state, t.ordering, t.entered_at)
    ${groupsOf('gone', `WHERE ${mayFollow('gone')}`)};
    IF queues IS NOT NULL THEN
      PERFORM ${s}.advance_groups(now, queues, names, entered);
    END IF;
  END $$;`;

/** Leases heads and the jobs in line behind them, and puts delayed jobs that are due into their lines. */
const fetching = (s: string): string => `
  -- Returns the jobs whose groups could be locked without waiting.
  CREATE OR REPLACE FUNCTION ${s}.try_groups(ids text[]) RETURNS text[] LANGUAGE plpgsql AS $$
  DECLARE
    held int[];
  BEGIN
    held := ARRAY(SELECT l.n FROM ${s}.group_locks l WHERE l.n = ANY (ARRAY(
      SELECT ${lockOf('g.queue', 'g.name')} FROM ${s}.grouped g WHERE g.id = ANY (ids))) ORDER BY l.n FOR UPDATE SKIP LOCKED);
    RETURN ARRAY(SELECT g.id FROM ${s}.grouped g WHERE g.id = ANY (ids) AND ${lockOf('g.queue', 'g.name')} = ANY (held));
  END $$;
  -- Puts delayed jobs that are due into the lines of their groups.
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
  -- Locks and returns the first ready jobs of these queues, and which of them are heads. Skips heads of locked groups: blocked = some were.
  -- seen: how many it has locked, with those; last: the rank of the last one.
  CREATE OR REPLACE FUNCTION ${s}.pick(
    open text[], most int, now bigint, ageing bigint, floor bigint[],
    OUT spots tid[], OUT heads text[], OUT blocked boolean, OUT seen int, OUT last bigint
  ) LANGUAGE plpgsql AS $$
  DECLARE
    ids text[];
    found_heads text[];
    numbers int[];
    held int[];
  BEGIN
    SELECT f.spots, f.ids, f.last INTO spots, ids, last FROM ${s}.front(open, most, now, ageing, floor) f;
    seen := cardinality(spots);
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
  -- Leases these heads, and up to room jobs behind them, round-robin over the groups. Then the next jobs become heads. Returns the jobs
  -- from behind the heads, in order.
  CREATE OR REPLACE FUNCTION ${s}.lease_heads(now bigint, heads text[], room int) RETURNS text[] LANGUAGE plpgsql AS $$
  DECLARE
    queues text[];
    names text[];
    entered bigint[];
    long boolean[]; -- whether more jobs may be in line
    depth int;
    chosen text[];
    counts int[];
    behind text[] := '{}';
  BEGIN
    WITH held AS (
      UPDATE ${s}.grouped t SET state = ${leased}, apart_until = NULL WHERE t.id = ANY (heads)
      RETURNING t.queue, t.name, t.ordering, t.entered_at)
    ${groupsOf('held', 'WHERE ordering IS NULL')}; -- the job behind an ordered head waits until the head has ended
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

const rare = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.clear_queue(the_queue text) RETURNS bigint LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    cleared bigint;
  BEGIN
    PERFORM ${s}.lock_some(ARRAY(SELECT DISTINCT ${lockOf('g.queue', 'g.name')} FROM ${s}.grouped g WHERE g.queue = the_queue));
    WITH r AS (DELETE FROM ${s}.ready WHERE queue = the_queue RETURNING id),
    d AS (DELETE FROM ${s}.delayed WHERE queue = the_queue RETURNING id),
    g AS (DELETE FROM ${s}.grouped WHERE queue = the_queue AND state <> ${leased} RETURNING id),
    gone AS (DELETE FROM ${s}.jobs WHERE id IN (SELECT id FROM r UNION ALL SELECT id FROM d UNION ALL SELECT id FROM g) RETURNING 1)
    SELECT count(*) INTO cleared FROM gone;
    RETURN cleared;
  END $$;
  -- Makes heads for groups that lack one. Looks at the next groups behind after; returns the last one, NULL = no more groups.
  CREATE OR REPLACE FUNCTION ${s}.heal_groups(at bigint, the_queue text, after text, most int) RETURNS text LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint := ${clock};
    names text[] := '{}';
    next_name text := after;
  BEGIN
    LOOP
      next_name := (SELECT g.name FROM ${s}.grouped g WHERE g.queue = the_queue AND g.name > next_name ORDER BY g.queue, g.name LIMIT 1);
      EXIT WHEN next_name IS NULL;
      names := names || next_name;
      EXIT WHEN cardinality(names) = most;
    END LOOP;
    -- Checks without locks first, because nearly all groups are fine.
    names := ARRAY(SELECT n.name FROM unnest(names) n (name) WHERE
      EXISTS (SELECT FROM ${s}.grouped g WHERE g.queue = the_queue AND g.name = n.name AND g.state > ${unknown(inLine)}
        AND NOT EXISTS (SELECT FROM ${s}.jobs j WHERE j.id = g.id OFFSET 0))
      OR NOT EXISTS (SELECT FROM ${s}.grouped g WHERE g.queue = the_queue AND g.name = n.name AND g.state = ${unknown(head)}));
    PERFORM ${s}.lock_some(ARRAY(SELECT ${lockOf('the_queue', 'n.name')} FROM unnest(names) n (name)));
    DELETE FROM ${s}.grouped g USING unnest(names) n (name) WHERE g.queue = the_queue AND g.name = n.name AND g.state > ${unknown(inLine)}
      AND NOT EXISTS (SELECT FROM ${s}.jobs j WHERE j.id = g.id OFFSET 0);
    PERFORM ${s}.advance_one(now, the_queue, n.name, 0) FROM unnest(names) n (name);
    RETURN next_name;
  END $$;`;

/** @param s the schema's name, quoted */
export const groupFunctions = (s: string): string =>
  [locking, moving, fetching, rare].map((define) => define(s)).join('\n');
