/**
 * Groups: of each one job, the head, is in `ready`, so that a fetch reads what it read before; the others wait in line. A job with a group
 * has one row of `grouped` as long as it may run; a dead letter keeps its group beside it. All is done by functions, in the transaction of
 * the step that they belong to.
 *
 * Whoever changes a group holds its lock, and takes all the locks that it needs at once, before it locks rows of jobs: two that did so in
 * different orders would wait for one another. Only a fetch takes locks later, and it waits for none: it leaves such a group to others.
 */

import { mostAheadMs } from '../shared/groups.ts';
import { clock, hot } from './sql.ts';

/** Where a job of a group is. The numbers are stored. */
export const GroupState = {
  /** In no narrow table: its row in `grouped` is all that says that it waits. */
  inLine: 0,
  /** In `ready`; or in `delayed`, while the others wait for its retry. */
  head: 1,
  /** In `delayed`: it joins the line when its time has come. */
  apart: 2,
  leased: 3,
} as const;
const { inLine, head, apart, leased } = GroupState;

/** Groups share locks: a lock for each would have to be made and removed with it. */
const locks = 1024;
const lockOf = (queue: string, name: string): string => `hashtext(${queue} || ' ' || ${name}) & ${locks - 1}`;

const tables = (s: string): string => `
  ALTER TABLE ${s}.dead ADD COLUMN grouping text; -- as JSON
  CREATE TABLE ${s}.grouped (
    id text COLLATE "C" PRIMARY KEY,
    seq bigint NOT NULL,
    queue text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    ordering text, -- NULL: groups only take turns
    state smallint NOT NULL,
    place bigint, -- in the line, kept for life; NULL: it has not joined yet
    entered_at bigint NOT NULL DEFAULT 0, -- when it counted as ready, as a head
    apart_until bigint,
    lag bigint NOT NULL -- its rank without the time
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
  CREATE INDEX grouped_line ON ${s}.grouped (queue, name, state, place, seq);
  CREATE INDEX grouped_busy ON ${s}.grouped (queue) WHERE state <> ${inLine};
  CREATE INDEX grouped_apart ON ${s}.grouped (queue, apart_until) WHERE apart_until IS NOT NULL;
  CREATE TABLE ${s}.group_locks (n int PRIMARY KEY) WITH (fillfactor = 20);
  INSERT INTO ${s}.group_locks SELECT generate_series(0, ${locks - 1});`;

const locking = (s: string): string => `
  CREATE FUNCTION ${s}.lock_some(numbers int[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM FROM ${s}.group_locks l WHERE l.n = ANY (numbers) ORDER BY l.n FOR UPDATE;
  END $$;
  -- Of the groups of these jobs.
  CREATE FUNCTION ${s}.lock_groups(ids text[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF EXISTS (SELECT FROM ${s}.grouped) THEN
      PERFORM ${s}.lock_some(ARRAY(SELECT ${lockOf('g.queue', 'g.name')} FROM ${s}.grouped g WHERE g.id = ANY (ids)));
    END IF;
  END $$;`;

const moving = (s: string): string => `
  -- Lets the next one of a group come forward, if it may. Whether one did.
  CREATE FUNCTION ${s}.advance_group(now bigint, the_queue text, the_name text, entered bigint) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    g ${s}.grouped;
    j ${s}.jobs;
    ready_from bigint := least(now + ${mostAheadMs}, greatest(now, entered + 1));
  BEGIN
    LOOP
      SELECT * INTO g FROM ${s}.grouped t WHERE t.queue = the_queue AND t.name = the_name AND t.state = ${inLine}
        ORDER BY t.queue, t.name, t.state, t.place, t.seq LIMIT 1;
      IF NOT FOUND OR EXISTS (SELECT FROM ${s}.grouped t WHERE t.queue = the_queue AND t.name = the_name AND t.state = ${head})
        OR g.ordering IS NOT NULL
          AND EXISTS (SELECT FROM ${s}.grouped t WHERE t.queue = the_queue AND t.name = the_name AND t.state = ${leased}) THEN
        RETURN false;
      END IF;
      UPDATE ${s}.jobs SET rank = ready_from + g.lag WHERE id = g.id RETURNING * INTO j;
      IF FOUND THEN
        UPDATE ${s}.grouped SET state = ${head}, entered_at = ready_from WHERE id = g.id;
        INSERT INTO ${s}.ready (queue, rank, seq, ready_at, id) VALUES (j.queue, j.rank, j.seq, j.ready_at, j.id);
        RETURN true;
      END IF;
      DELETE FROM ${s}.grouped WHERE id = g.id; -- its job was deleted by hand
    END LOOP;
  END $$;
  -- A job that is in no narrow table joins the line, in its old place if it had one.
  CREATE FUNCTION ${s}.join_group(now bigint, g ${s}.grouped, ready_at bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE ${s}.grouped SET state = ${inLine}, apart_until = NULL, place = coalesce(g.place,
      CASE WHEN g.ordering IS NULL THEN ready_at + g.lag ELSE greatest(ready_at, ${s}.last_place(g.queue, g.name) + 1) END)
    WHERE id = g.id;
    PERFORM ${s}.advance_group(now, g.queue, g.name, g.entered_at);
  END $$;
  -- With a line it is that of its end; the few others are looked at only without one.
  CREATE FUNCTION ${s}.last_place(the_queue text, the_name text) RETURNS bigint LANGUAGE plpgsql AS $$
  BEGIN
    RETURN coalesce(
      (SELECT t.place FROM ${s}.grouped t WHERE t.queue = the_queue AND t.name = the_name AND t.state = ${inLine}
        ORDER BY t.queue DESC, t.name DESC, t.state DESC, t.place DESC, t.seq DESC LIMIT 1),
      (SELECT max(t.place) FROM ${s}.grouped t WHERE t.queue = the_queue AND t.name = the_name), 0);
  END $$;
  -- A job that is in no narrow table waits from now on. false = it has no group.
  CREATE FUNCTION ${s}.wait_in_group(now bigint, j ${s}.jobs) RETURNS boolean LANGUAGE plpgsql AS $$
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
      is_head := coalesce(g.ordering, '') = 'wait' AND g.place IS NOT NULL
        AND NOT EXISTS (SELECT FROM ${s}.grouped t WHERE t.queue = g.queue AND t.name = g.name AND t.state = ${head});
      UPDATE ${s}.grouped SET state = CASE WHEN is_head THEN ${head} ELSE ${apart} END,
        apart_until = CASE WHEN NOT is_head THEN j.ready_at END WHERE id = g.id;
      INSERT INTO ${s}.delayed (queue, ready_at, seq, rank, id) VALUES (j.queue, j.ready_at, j.seq, j.rank, j.id);
      PERFORM ${s}.advance_group(now, g.queue, g.name, g.entered_at);
    END IF;
    RETURN true;
  END $$;
  -- Those of these jobs that have a group are leased or held. Whether others came forward.
  CREATE FUNCTION ${s}.lease_groups(now bigint, ids text[]) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE
    g record;
    came boolean := false;
  BEGIN
    PERFORM ${s}.lock_groups(ids);
    FOR g IN UPDATE ${s}.grouped t SET state = ${leased}, apart_until = NULL WHERE t.id = ANY (ids) RETURNING t.* LOOP
      came := ${s}.advance_group(now, g.queue, g.name, g.entered_at) OR came;
    END LOOP;
    RETURN came;
  END $$;
  -- Those of these jobs that have a group will not run again.
  CREATE FUNCTION ${s}.end_groups(now bigint, ids text[]) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    g record;
  BEGIN
    PERFORM ${s}.lock_groups(ids);
    FOR g IN DELETE FROM ${s}.grouped t WHERE t.id = ANY (ids) RETURNING t.* LOOP
      PERFORM ${s}.advance_group(now, g.queue, g.name, g.entered_at);
    END LOOP;
  END $$;`;

const fetching = (s: string): string => `
  -- Those of these jobs whose groups could be locked without waiting.
  CREATE FUNCTION ${s}.try_groups(ids text[]) RETURNS text[] LANGUAGE plpgsql AS $$
  DECLARE
    held int[];
  BEGIN
    held := ARRAY(SELECT l.n FROM ${s}.group_locks l WHERE l.n = ANY (ARRAY(
      SELECT ${lockOf('g.queue', 'g.name')} FROM ${s}.grouped g WHERE g.id = ANY (ids))) ORDER BY l.n FOR UPDATE SKIP LOCKED);
    RETURN ARRAY(SELECT g.id FROM ${s}.grouped g WHERE g.id = ANY (ids) AND ${lockOf('g.queue', 'g.name')} = ANY (held));
  END $$;
  -- Those whose time has come join the lines of their groups.
  CREATE FUNCTION ${s}.promote_groups(now bigint, queues text[]) RETURNS void LANGUAGE plpgsql AS $$
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
  CREATE FUNCTION ${s}.pick(open text[], most int, OUT spots tid[], OUT heads text[], OUT blocked boolean) LANGUAGE plpgsql AS $$
  DECLARE
    ids text[];
    found_heads text[];
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
    found_heads := ARRAY(SELECT g.id FROM ${s}.grouped g WHERE g.id = ANY (ids));
    heads := ${s}.try_groups(found_heads);
    blocked := cardinality(heads) < cardinality(found_heads);
    IF blocked THEN
      spots := ARRAY(SELECT u.spot FROM unnest(spots, ids) u (spot, id)
        WHERE NOT (u.id = ANY (found_heads)) OR u.id = ANY (heads));
    END IF;
  END $$;`;

/** @param s the schema's name, quoted */
const rare = (s: string): string => `
  -- As enqueue, for jobs of which some have a group. apart: no group is locked; they join their lines when the next fetch finds them,
  -- so that nobody waits for the end of the caller's transaction.
  CREATE FUNCTION ${s}.enqueue_grouped(
    at bigint, ageing bigint, since bigint, fresh text[], ids text[], queues text[], names text[], tenants text[], priorities int[],
    delays bigint[], bodies text[], keys text[], schedules text[], fact_texts text[], channel text, rings text[],
    groups text[], orders text[], apart boolean
  ) RETURNS int[] LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint;
    copies int[] := ${s}.enqueue(at, ageing, since, fresh, ids, queues, names, tenants, priorities, delays, bodies, keys, schedules,
      fact_texts, channel, rings);
    g record;
  BEGIN
    IF NOT apart THEN
      PERFORM ${s}.lock_some(ARRAY(SELECT ${lockOf('n.queue', 'n.name')} FROM unnest(queues, groups) n (queue, name) WHERE n.name IS NOT NULL));
    END IF;
    now := ${clock};
    WITH stored AS (
      SELECT j.id, j.seq, j.queue, n.name, n.ordering, j.ready_at, j.rank - j.ready_at AS lag,
        NOT apart AND j.ready_at <= now AS is_ready
      FROM unnest(ids, groups, orders) WITH ORDINALITY n (id, name, ordering, n) JOIN ${s}.jobs j ON j.id BETWEEN n.id AND n.id
      WHERE n.name IS NOT NULL AND NOT (n.n = ANY (coalesce(copies, '{}')))),
    ends AS (
      SELECT queue, name, ${s}.last_place(queue, name) AS place FROM stored WHERE is_ready AND ordering IS NOT NULL GROUP BY queue, name)
    INSERT INTO ${s}.grouped (id, seq, queue, name, ordering, state, place, apart_until, lag)
    SELECT i.id, i.seq, i.queue, i.name, i.ordering, CASE WHEN i.is_ready THEN ${inLine} ELSE ${apart} END,
      CASE WHEN NOT i.is_ready THEN NULL WHEN i.ordering IS NULL THEN i.ready_at + i.lag
        ELSE greatest(i.ready_at, e.place + 1) + row_number() OVER (PARTITION BY i.queue, i.name, i.is_ready ORDER BY i.seq) - 1 END,
      CASE WHEN NOT i.is_ready THEN i.ready_at END, i.lag
    FROM stored i LEFT JOIN ends e ON e.queue = i.queue AND e.name = i.name;
    WITH gone AS (
      DELETE FROM ${s}.ready r USING ${s}.grouped t, ${s}.jobs j
      WHERE t.id = ANY (ids) AND t.state IN (${inLine}, ${apart}) AND j.id = t.id AND r.queue = j.queue AND r.rank = j.rank AND r.seq = j.seq
      RETURNING r.queue, r.ready_at, r.seq, r.rank, r.id)
    INSERT INTO ${s}.delayed (queue, ready_at, seq, rank, id) SELECT queue, ready_at, seq, rank, id FROM gone WHERE apart;
    IF NOT apart THEN
      FOR g IN SELECT DISTINCT n.queue, n.name FROM unnest(queues, groups) n (queue, name) WHERE n.name IS NOT NULL LOOP
        PERFORM ${s}.advance_group(now, g.queue, g.name, 0);
      END LOOP;
    END IF;
    RETURN copies;
  END $$;
  -- Jobs with a group that are in no narrow table wait again, as new ones of it.
  CREATE FUNCTION ${s}.revive_groups(now bigint, ids text[], groupings text[]) RETURNS int LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    j ${s}.jobs;
  BEGIN
    INSERT INTO ${s}.grouped (id, seq, queue, name, ordering, state, lag)
    SELECT t.id, t.seq, t.queue, n.grouping::json ->> 'group', n.grouping::json ->> 'order', ${leased}, t.rank - t.ready_at
    FROM unnest(ids, groupings) n (id, grouping) JOIN ${s}.jobs t ON t.id = n.id;
    PERFORM ${s}.lock_groups(ids);
    FOR j IN SELECT t.* FROM ${s}.jobs t WHERE t.id = ANY (ids) ORDER BY t.seq LOOP
      PERFORM ${s}.wait_in_group(now, j);
    END LOOP;
    RETURN cardinality(ids);
  END $$;
  CREATE FUNCTION ${s}.clear_queue(the_queue text) RETURNS bigint LANGUAGE plpgsql ${hot} AS $$
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
  -- Gives groups a head that should have one. Looks at some groups behind after; answers with the last one, NULL = it was at the end.
  CREATE FUNCTION ${s}.heal_groups(at bigint, the_queue text, after text, most int) RETURNS text LANGUAGE plpgsql ${hot} AS $$
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
    -- First without their locks: nearly all are well.
    names := ARRAY(SELECT n.name FROM unnest(names) n (name) WHERE
      EXISTS (SELECT FROM ${s}.grouped g WHERE g.queue = the_queue AND g.name = n.name AND g.state > ${inLine}
        AND NOT EXISTS (SELECT FROM ${s}.jobs j WHERE j.id = g.id OFFSET 0))
      OR NOT EXISTS (SELECT FROM ${s}.grouped g WHERE g.queue = the_queue AND g.name = n.name AND g.state = ${head}));
    PERFORM ${s}.lock_some(ARRAY(SELECT ${lockOf('the_queue', 'n.name')} FROM unnest(names) n (name)));
    DELETE FROM ${s}.grouped g USING unnest(names) n (name) WHERE g.queue = the_queue AND g.name = n.name AND g.state > ${inLine}
      AND NOT EXISTS (SELECT FROM ${s}.jobs j WHERE j.id = g.id OFFSET 0);
    PERFORM ${s}.advance_group(now, the_queue, n.name, 0) FROM unnest(names) n (name);
    RETURN next_name;
  END $$;`;

/** @param s the schema's name, quoted */
export const groupTables = (s: string): string =>
  [tables, locking, moving, fetching, rare].map((define) => define(s)).join('\n');

/** The group of a job, as JSON; NULL = it has none. */
export const groupingOf = (s: string, id: string): string =>
  `(SELECT json_build_object('group', g.name, 'order', g.ordering)::text FROM ${s}.grouped g WHERE g.id = ${id})`;
