/**
 * Groups: of each one job, the head, is in `ready`, so that a fetch reads what it read before; the others wait in line. A job with a group
 * has one row of `grouped` as long as it may run; a dead letter keeps its group beside it. All is done by functions, in the transaction of
 * the step that they belong to.
 *
 * Whoever changes a group holds its lock, and takes all the locks that it needs at once, before it locks rows of jobs: two that did so in
 * different orders would wait for one another. Only a fetch takes locks later, and it waits for none: it leaves such a group to others.
 */

import { mostAheadMs } from '../shared/groups.ts';
import { enqueueGroups } from './group-enqueue-sql.ts';
import { fetchGroups } from './group-fetch-sql.ts';
import {
  anyGroups,
  cameForward,
  cameSetting,
  GroupState,
  groupsOf,
  lockOf,
  locks,
  mayFollow,
  unknown,
} from './group-pieces.ts';
import { clock, hot } from './sql.ts';

const { inLine, head, apart, leased } = GroupState;

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
  -- Of the groups of these jobs.
  CREATE OR REPLACE FUNCTION ${s}.lock_groups(ids text[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF ${anyGroups(s)} THEN
      PERFORM ${s}.lock_some(ARRAY(SELECT ${lockOf('g.queue', 'g.name')} FROM ${s}.grouped g WHERE g.id = ANY (ids)));
    END IF;
  END $$;
  -- Of those in which another one may come forward when these jobs end. Whether any of them has a group.
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
  -- Remembers until the end of the transaction that a job of this queue came forward, for the caller to wake workers.
  CREATE OR REPLACE FUNCTION ${s}.came_forward(the_queue text) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    known text := coalesce(${cameForward}, '');
  BEGIN
    IF NOT (the_queue = ANY (string_to_array(known, ' '))) THEN
      PERFORM set_config('${cameSetting}', ltrim(known || ' ' || the_queue), true);
    END IF;
  END $$;
  -- Lets the next one of each group come forward, if it may. None is given twice; entered_at is when the head before it counted as ready.
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
  -- A job that is in no narrow table joins the line, in its old place if it had one.
  CREATE OR REPLACE FUNCTION ${s}.join_group(now bigint, g ${s}.grouped, ready_at bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE ${s}.grouped SET state = ${inLine}, apart_until = NULL, place = coalesce(g.place,
      CASE WHEN g.ordering IS NULL THEN ready_at + g.lag ELSE greatest(ready_at, ${s}.last_place(g.queue, g.name) + 1) END)
    WHERE id = g.id;
    PERFORM ${s}.advance_one(now, g.queue, g.name, g.entered_at);
  END $$;
  -- With a line it is that of its end; the few others are looked at only without one.
  CREATE OR REPLACE FUNCTION ${s}.last_place(the_queue text, the_name text) RETURNS bigint LANGUAGE plpgsql AS $$
  BEGIN
    RETURN coalesce(
      (SELECT t.place FROM ${s}.grouped t WHERE t.queue = the_queue AND t.name = the_name AND t.state = ${inLine}
        ORDER BY t.queue DESC, t.name DESC, t.state DESC, t.place DESC, t.seq DESC LIMIT 1),
      (SELECT max(t.place) FROM ${s}.grouped t WHERE t.queue = the_queue AND t.name = the_name), 0);
  END $$;
  -- A job that is in no narrow table waits from now on. false = it has no group.
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
      -- The others wait for one that was the first of them, and not for one that was put off in the line.
      is_head := coalesce(g.ordering, '') = 'wait' AND g.place IS NOT NULL AND g.state = ${leased}
        AND NOT EXISTS (SELECT FROM ${s}.grouped t WHERE t.queue = g.queue AND t.name = g.name AND t.state = ${unknown(head)});
      UPDATE ${s}.grouped SET state = CASE WHEN is_head THEN ${head} ELSE ${apart} END,
        apart_until = CASE WHEN NOT is_head THEN j.ready_at END WHERE id = g.id;
      INSERT INTO ${s}.delayed (queue, ready_at, seq, rank, id) VALUES (j.queue, j.ready_at, j.seq, j.rank, j.id);
      PERFORM ${s}.advance_one(now, g.queue, g.name, g.entered_at);
    END IF;
    RETURN true;
  END $$;
  -- Those of these jobs that have a group are held.
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
  -- Those of these jobs that have a group will not run again.
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
  -- Gives groups a head that should have one. Looks at some groups behind after; answers with the last one, NULL = it was at the end.
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
    -- First without their locks: nearly all are well.
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

export const groupFunctions = (s: string): string =>
  [locking, moving, fetchGroups, enqueueGroups, rare].map((define) => define(s)).join('\n');

/** @param s the schema's name, quoted */
export const groupTables = (s: string): string => `${tables(s)} ${groupFunctions(s)}`;

/**
 * Which queues have had a group. Where none has, nobody looks for one; and whether a table of short-lived rows has any is dear to ask:
 * until they are vacuumed, the index entries of all that have gone are read again each time.
 *
 * @param s the schema's name, quoted
 */
export const groupedQueues = (s: string): string => `
  ALTER TABLE ${s}.queues ADD COLUMN grouped boolean NOT NULL DEFAULT false;
  CREATE INDEX queues_grouped ON ${s}.queues (name) WHERE grouped;
  UPDATE ${s}.queues SET grouped = true WHERE name IN (SELECT g.queue FROM ${s}.grouped g);
  ${groupFunctions(s)}
  DROP FUNCTION IF EXISTS ${s}.advance_group;`;
