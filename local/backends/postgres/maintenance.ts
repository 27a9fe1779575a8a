/** The functions of rare steps: keys, cancelling, and the days of the history. */

import { GroupState } from './group-pieces.ts';
import { recordFunction } from './rows.ts';
import { clock, hot, recordNames, recordNamesOf, stepSize } from './sql.ts';
import { statsFunctions } from './stats-sql.ts';

export const keyFunctions = (s: string): string => `
  CREATE FUNCTION ${s}.claim_key(at bigint, the_key text, the_owner text, hold bigint)
  RETURNS TABLE (state text, value text, remaining bigint) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    now bigint := ${clock};
    k ${s}.keys;
  BEGIN
    LOOP
      INSERT INTO ${s}.keys AS t (key, owner, hold_until, done, value, keep_until)
      VALUES (the_key, the_owner, now + hold, false, NULL, 0)
      ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, hold_until = excluded.hold_until, done = false,
        value = CASE WHEN t.keep_until > now THEN t.value END,
        keep_until = CASE WHEN t.keep_until > now THEN t.keep_until ELSE 0 END
      WHERE NOT (t.done AND t.keep_until > now)
        AND (t.owner IS NULL OR t.owner = excluded.owner OR t.hold_until <= now)
      RETURNING * INTO k;
      IF FOUND THEN
        RETURN QUERY SELECT 'claimed', k.value, hold;
        RETURN;
      END IF;
      SELECT * INTO k FROM ${s}.keys t WHERE t.key = the_key;
      -- The key may have been given up between the two statements: then it is tried again.
      IF FOUND AND k.done AND k.keep_until > now THEN
        RETURN QUERY SELECT 'completed', k.value, k.keep_until - now;
        RETURN;
      ELSIF FOUND AND k.owner IS NOT NULL AND k.owner <> the_owner AND k.hold_until > now THEN
        RETURN QUERY SELECT 'running', NULL::text, k.hold_until - now;
        RETURN;
      END IF;
    END LOOP;
  END $$;`;

const cancel = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.cancel(at bigint, keep boolean, the_id text) RETURNS text LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint := ${clock};
    j ${s}.jobs;
  BEGIN
    PERFORM ${s}.lock_groups(ARRAY[the_id]);
    SELECT * INTO j FROM ${s}.jobs WHERE id = the_id FOR UPDATE;
    IF NOT FOUND THEN
      RETURN CASE WHEN EXISTS (SELECT FROM ${s}.history WHERE id = the_id) OR EXISTS (SELECT FROM ${s}.dead WHERE id = the_id)
        THEN 'finished' ELSE 'unknown' END;
    END IF;
    DELETE FROM ${s}.ready WHERE queue = j.queue AND rank = j.rank AND seq = j.seq;
    IF NOT FOUND THEN
      DELETE FROM ${s}.delayed WHERE queue = j.queue AND ready_at = j.ready_at AND seq = j.seq;
    END IF;
    IF NOT FOUND AND NOT EXISTS (SELECT FROM ${s}.grouped g WHERE g.id = the_id AND g.state = ${GroupState.inLine}) THEN
      UPDATE ${s}.jobs SET cancel_requested = true WHERE id = the_id;
      RETURN 'cancelling';
    END IF;
    DELETE FROM ${s}.jobs WHERE id = the_id;
    IF keep THEN
      INSERT INTO ${s}.history (${recordNames}, ended, finished_at, reason)
      VALUES (${recordNamesOf('j')}, 4, now, 'cancelled');
    END IF;
    PERFORM ${s}.end_groups(now, ARRAY[the_id]);
    PERFORM ${s}.tell_ends(ARRAY[the_id]);
    RETURN 'cancelled';
  END $$;
  -- Processes of versions that give dead letters no new texts still call this one.
  CREATE OR REPLACE FUNCTION ${s}.revive(at bigint, ageing bigint, the_ids text[]) RETURNS TABLE (revived_queue text)
  LANGUAGE sql AS $$
    WITH given AS (SELECT ${clock} AS now),
    found AS (DELETE FROM ${s}.dead WHERE id = ANY (the_ids) RETURNING *),
    back AS (
      INSERT INTO ${s}.jobs (${recordNames}, turn, rank, interrupted, cancel_requested, body)
      SELECT ${recordNames.replace('ready_at, attempt', 'now, 0')}, nextval('${s}.turns'),
        now + priority * ageing, false, false, body FROM found, given
      RETURNING queue, rank, seq, ready_at, id)
    INSERT INTO ${s}.ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM back RETURNING queue
  $$;`;

/** How many days of the history have their tables made in advance. */
const daysAhead = 7;
const mostCounted = 1_000_000;

/**
 * Days are UTC. A day without a table (no worker ran for a week) is written to `history_other`, and stays there. A step that would have
 * to wait for a long reader such as a backup is postponed: while it waited, it would block every ack and enqueue.
 */
export const daysOfHistory = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.make_days(at bigint) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    day_ms constant bigint := 86400000;
    today bigint := ${clock} / day_ms;
    day bigint;
    name text;
  BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('longshore days of ${s}', 0)) THEN
      RETURN;
    END IF;
    SET LOCAL lock_timeout = '200ms';
    FOR day IN SELECT today + n FROM generate_series(-1, ${daysAhead}) n LOOP
      name := 'history_' || to_char(to_timestamp(day * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD');
      CONTINUE WHEN to_regclass(format('${s}.%I', name)) IS NOT NULL;
      CONTINUE WHEN EXISTS (SELECT FROM ${s}.history_other WHERE finished_at >= day * day_ms AND finished_at < (day + 1) * day_ms);
      BEGIN
        -- Made apart and then attached, which does not hold up those who write.
        EXECUTE format('CREATE TABLE ${s}.%I (LIKE ${s}.history INCLUDING ALL)', name);
        EXECUTE format('ALTER TABLE ${s}.%I REPLICA IDENTITY FULL', name);
        EXECUTE format('ALTER TABLE ${s}.history ATTACH PARTITION ${s}.%I FOR VALUES FROM (%s) TO (%s)',
          name, day * day_ms, (day + 1) * day_ms);
      EXCEPTION WHEN lock_not_available OR insufficient_privilege THEN
        RETURN; -- the owner of the schema makes them at the next migration
      END;
    END LOOP;
  END $$;
  -- Drops the days that are past as a whole; returns how many records went with them. Who may not drop them deletes some of their records.
  CREATE OR REPLACE FUNCTION ${s}.drop_days(at bigint, older_ms bigint) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    day_ms constant bigint := 86400000;
    last bigint := (${clock} - older_ms) / day_ms;
    child record;
    part bigint;
    gone bigint := 0;
  BEGIN
    FOR child IN
      SELECT c.oid, c.relname, c.reltuples FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = '${s}.history'::regclass AND c.relname ~ '^history_[0-9]{8}$'
        AND to_date(right(c.relname, 8), 'YYYYMMDD') - DATE '1970-01-01' < last
    LOOP
      BEGIN
        SET LOCAL lock_timeout = '200ms';
        -- Counted only so far, because a day may hold very many.
        EXECUTE format('SELECT count(*) FROM (SELECT FROM ${s}.%I LIMIT ${mostCounted}) counted', child.relname) INTO part;
        IF part = ${mostCounted} THEN
          part := greatest(part, child.reltuples);
        END IF;
        EXECUTE format('DROP TABLE ${s}.%I', child.relname);
        gone := gone + part;
      EXCEPTION
        WHEN lock_not_available THEN RETURN gone;
        WHEN insufficient_privilege THEN
          WITH deleted AS (
            DELETE FROM ${s}.history WHERE tableoid = child.oid AND ctid = ANY (ARRAY(
              SELECT h.ctid FROM ${s}.history h WHERE h.tableoid = child.oid AND h.finished_at < last * day_ms LIMIT ${stepSize}))
              AND finished_at < last * day_ms RETURNING 1)
          SELECT count(*) INTO part FROM deleted;
          gone := gone + part;
          CONTINUE WHEN part = 0;
          RETURN gone;
        WHEN undefined_table THEN NULL; -- another process was quicker
      END;
    END LOOP;
    RETURN gone;
  END $$;`;

/** A publication of all tables, as for change data capture, refuses to change rows of a table that has nothing to name them by. */
export const replicaIdentities = (s: string): string => `
  DO $$
  DECLARE
    keyless regclass;
  BEGIN
    FOR keyless IN
      SELECT c.oid FROM pg_class c WHERE c.relnamespace = '${s}'::regnamespace AND c.relkind = 'r' AND c.relreplident = 'd'
        AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
    LOOP
      EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', keyless);
    END LOOP;
  END $$;`;

/**
 * The functions that read and write what a job is, in place of those that are there.
 *
 * @param s the schema's name, quoted
 */
export const rareFunctions = (s: string): string => `${cancel(s)} ${statsFunctions(s)} ${recordFunction(s)}`;
