/** The functions of rare steps: keys, cancelling and changing jobs, the days of the history, and notices of ended jobs. */

import { GroupState } from '../shared/groups.ts';
import { apartFrom, clock, hot, recordNames, recordNamesOf, stepSize } from './sql.ts';

const keyFunctions = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.claim_key(at bigint, the_key text, the_owner text, hold bigint)
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
      -- If the key was released between the two statements, it is tried again.
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
  END $$;`;

/** Days of the history whose tables are created in advance. */
const daysAhead = 7;
const mostCountedRows = 1_000_000;

/**
 * Days are UTC. Records of a day without a table (no worker ran for a week) go to `history_other` and stay there. A step that would
 * wait for a long reader, such as a backup, is postponed: while it waited, it would block every ack and enqueue.
 */
const daysOfHistory = (s: string): string => `
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
        -- Created first and then attached, which does not block writers.
        EXECUTE format('CREATE TABLE ${s}.%I (LIKE ${s}.history INCLUDING ALL)', name);
        EXECUTE format('ALTER TABLE ${s}.%I REPLICA IDENTITY FULL', name);
        EXECUTE format('ALTER TABLE ${s}.history ATTACH PARTITION ${s}.%I FOR VALUES FROM (%s) TO (%s)',
          name, day * day_ms, (day + 1) * day_ms);
      EXCEPTION WHEN lock_not_available OR insufficient_privilege THEN
        RETURN; -- the owner of the schema creates them at the next migration
      END;
    END LOOP;
  END $$;
  -- Drops whole days that are past their retention; returns how many records they had. A user who may not drop them deletes some records.
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
        -- The count is bounded, because a day may have very many records.
        EXECUTE format('SELECT count(*) FROM (SELECT FROM ${s}.%I LIMIT ${mostCountedRows}) counted', child.relname) INTO part;
        IF part = ${mostCountedRows} THEN
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

/** An id may be used again, so only records that ended within this time are changed. They are in one or two days. */
const justNowMs = 60_000;

/**
 * Records with their own retention. Days of the history are dropped as a whole, so these records of completed jobs are moved to another
 * partition: `apartFrom` is added to their `finished_at`.
 */
const keepEnded = (s: string): string => `
  -- Called in the statement of a settlement, around it. settled: the settled positions in p_ids, NULL = all; also the result. p_which:
  -- the positions of jobs with their own retention; p_keeps: that retention in ms.
  CREATE OR REPLACE FUNCTION ${s}.keep_ended(settled int[], at bigint, p_ids text[], p_which int[], p_keeps bigint[])
  RETURNS int[] LANGUAGE plpgsql AS $$
  DECLARE
    now bigint := ${clock};
    k record;
  BEGIN
    FOR k IN SELECT p_ids[w.n] AS id, w.keep FROM unnest(p_which, p_keeps) w (n, keep) WHERE settled IS NULL OR w.n = ANY (settled) LOOP
      IF k.keep = 0 THEN
        DELETE FROM ${s}.history WHERE id = k.id AND finished_at BETWEEN now - ${justNowMs} AND now + ${justNowMs};
        DELETE FROM ${s}.dead WHERE id = k.id;
      ELSE
        UPDATE ${s}.history SET finished_at = finished_at + ${apartFrom}, keep_until = finished_at + k.keep
        WHERE id = k.id AND finished_at BETWEEN now - ${justNowMs} AND now + ${justNowMs};
        UPDATE ${s}.dead SET keep_until = finished_at + k.keep WHERE id = k.id;
      END IF;
    END LOOP;
    RETURN settled;
  END $$;`;

/** Notifies processes that wait for the ends of these jobs, and returns how many it has notified. */
const tellEnds = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.tell_ends(ids text[]) RETURNS int LANGUAGE plpgsql AS $$
  DECLARE
    told int := 0;
  BEGIN
    IF EXISTS (SELECT FROM ${s}.waits) THEN
      PERFORM pg_notify(w.channel, w.id) FROM ${s}.waits w WHERE w.id = ANY (ids);
      GET DIAGNOSTICS told = ROW_COUNT;
    END IF;
    RETURN told;
  END $$;`;

/**
 * Changes or removes waiting jobs, and returns whether it did, for each job. It deletes the narrow row first, as a fetch does: so a job is
 * leased either before or after the change. This is also needed when only the body changes: a concurrent fetch would read the old one.
 *
 * @param s the schema's name, quoted. In the function, NULL means: `delay` = keep the time; `old_body` = do not compare the body;
 * `new_body` = keep body and facts.
 */
const waitingFunction = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.change_waiting(
    at bigint, ageing bigint, p_queues text[], p_ids text[], remove boolean, new_priority int, delay bigint,
    old_body text, new_body text, new_key text, new_schedule text, new_facts text, channel text, notified text[]
  ) RETURNS boolean[] LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint := ${clock};
    the record;
    j record;
    weight bigint;
    answers boolean[] := array_fill(false, ARRAY[cardinality(p_ids)]);
  BEGIN
    PERFORM ${s}.lock_groups(p_ids);
    FOR the IN SELECT * FROM unnest(p_queues, p_ids) WITH ORDINALITY g (queue, id, n) ORDER BY g.id LOOP
      LOOP
        SELECT k.queue, k.rank, k.seq, k.ready_at INTO j FROM ${s}.jobs k WHERE k.id = the.id AND k.queue = the.queue AND (
          EXISTS (SELECT FROM ${s}.ready r WHERE r.queue = k.queue AND r.rank = k.rank AND r.seq = k.seq)
          OR EXISTS (SELECT FROM ${s}.delayed d WHERE d.queue = k.queue AND d.ready_at = k.ready_at AND d.seq = k.seq)
          OR EXISTS (SELECT FROM ${s}.grouped g WHERE g.id = k.id AND g.state = ${GroupState.inLine}));
        EXIT WHEN NOT FOUND;
        DELETE FROM ${s}.ready r WHERE r.queue = j.queue AND r.rank = j.rank AND r.seq = j.seq;
        IF NOT FOUND THEN
          DELETE FROM ${s}.delayed d WHERE d.queue = j.queue AND d.ready_at = j.ready_at AND d.seq = j.seq;
        END IF;
        IF NOT FOUND THEN
          PERFORM FROM ${s}.grouped g WHERE g.id = the.id AND g.state = ${GroupState.inLine};
        END IF;
        -- Another transaction may have moved the job between the two statements: then look again.
        CONTINUE WHEN NOT FOUND;
        -- From here on no other transaction can change the job.
        SELECT k.rank, k.ready_at, k.created_at, k.priority, coalesce(k.body = old_body, true) AS same INTO j
        FROM ${s}.jobs k WHERE k.id = the.id;
        IF NOT j.same THEN
          PERFORM ${s}.line(now, true, the.id);
          EXIT;
        END IF;
        answers[the.n] := true;
        IF remove THEN
          DELETE FROM ${s}.jobs WHERE id = the.id;
          PERFORM ${s}.end_groups(now, ARRAY[the.id]);
          PERFORM ${s}.tell_ends(ARRAY[the.id]);
          EXIT;
        END IF;
        weight := coalesce(new_priority, j.priority) * ageing;
        IF delay > 0 THEN
          j.ready_at := now + delay;
          j.rank := j.ready_at + weight;
        ELSIF delay IS NULL OR j.ready_at <= now THEN
          j.rank := j.rank - j.priority * ageing + weight;
        ELSE
          j.ready_at := now;
          j.rank := j.created_at + weight;
        END IF;
        UPDATE ${s}.jobs SET ready_at = j.ready_at, rank = j.rank, priority = coalesce(new_priority, priority) WHERE id = the.id;
        UPDATE ${s}.grouped SET lag = weight, state = CASE state WHEN ${GroupState.head} THEN ${GroupState.leased} ELSE state END WHERE id = the.id;
        IF new_body IS NOT NULL THEN
          UPDATE ${s}.jobs SET body = new_body, idempotency_key = new_key, schedule = new_schedule, facts = new_facts WHERE id = the.id;
        END IF;
        PERFORM ${s}.line(now, true, the.id);
        EXIT;
      END LOOP;
    END LOOP;
    PERFORM pg_notify(channel, queue) FROM unnest(notified) queue WHERE channel IS NOT NULL;
    RETURN answers;
  END $$;`;

/** Up to this number rows are counted; beyond it their number is estimated from a sample. */
const mostCounted = 10_000;
/** Rows of a page: `MaxHeapTuplesPerPage` of a page of 8 kB. */
const mostPerPage = 291;
/** Pages of a sample. The error of the estimate is about 5 %. */
const sampledPages = 500;
/** The oldest job is searched among the first ones: later jobs of the same priority are younger. */
const mostCompared = 1_000;

/** Counts in the order of the queues. One sample serves all. It has the same pages each time, so an unchanged queue keeps its estimate. */
const countQueues = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.count_queues(the_table regclass, the_queues text[]) RETURNS bigint[] LANGUAGE plpgsql STABLE ${hot} AS $$
  DECLARE
    counts bigint[] := '{}';
    counted bigint;
    estimate bigint;
    the_queue text;
    sampled jsonb;
    pages bigint := pg_relation_size(the_table) / current_setting('block_size')::int;
    share float8 := least(100, 100.0 * ${sampledPages} / greatest(1, pages));
  BEGIN
    IF pages > ${mostCounted} / ${mostPerPage} THEN
      EXECUTE format('SELECT coalesce(jsonb_object_agg(queue, n), ''{}'') FROM (
        SELECT queue, count(*) AS n FROM %s TABLESAMPLE SYSTEM (%s) REPEATABLE (1)
        WHERE queue = ANY ($1) GROUP BY queue) sample', the_table, share)
        INTO sampled USING the_queues;
    END IF;
    FOREACH the_queue IN ARRAY the_queues LOOP
      estimate := round(coalesce((sampled ->> the_queue)::bigint, 0) * 100 / share);
      -- Far above the bound the estimate is enough.
      counted := ${mostCounted};
      IF estimate < ${2 * mostCounted} THEN
        EXECUTE format('SELECT count(*) FROM (SELECT FROM %s WHERE queue = $1 LIMIT ${mostCounted}) counted', the_table)
          INTO counted USING the_queue;
      END IF;
      counts := counts || CASE WHEN counted < ${mostCounted} THEN counted ELSE greatest(counted, estimate) END;
    END LOOP;
    RETURN counts;
  END $$;`;

/**
 * A member of a batch counts as leased while its job has the same `turn` and no renewal. This function and those that it calls are
 * STABLE, so that they count in one snapshot: otherwise a job that is leased meanwhile would be neither ready nor leased.
 */
const stats = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.stats(at bigint, only_queue text) RETURNS TABLE (
    name text, ready bigint, delayed bigint, leased bigint, dead bigint, paused boolean, oldest bigint
  ) LANGUAGE plpgsql STABLE ${hot} SET max_parallel_workers_per_gather = 0 AS $$
  #variable_conflict use_column
  DECLARE
    now bigint := ${clock};
    asked text[] := CASE WHEN only_queue IS NULL THEN ARRAY(SELECT n.name FROM ${s}.queues n) ELSE ARRAY[only_queue] END;
  BEGIN
    RETURN QUERY SELECT q.name,
      q.ready + due.count + greatest(line.count, CASE WHEN line.count = ${mostCounted} THEN q.grouped - (
        SELECT count(*) FROM ${s}.grouped g WHERE g.queue = q.name AND g.state <> ${GroupState.inLine}) END),
      greatest(q.delayed - due.count, 0),
      (SELECT count(*) FROM (
        SELECT FROM ${s}.leases l CROSS JOIN LATERAL unnest(l.ids, l.turns) m (id, turn)
        JOIN ${s}.jobs j ON j.id BETWEEN m.id AND m.id AND j.turn = m.turn
        WHERE l.queue = q.name AND NOT EXISTS (SELECT FROM ${s}.renewals r WHERE r.id = m.id AND r.turn = m.turn OFFSET 0)
        LIMIT ${mostCounted}) batched) +
      (SELECT count(*) FROM (
        SELECT FROM ${s}.renewals r JOIN ${s}.jobs j ON j.id BETWEEN r.id AND r.id AND j.turn = r.turn
        WHERE r.queue = q.name LIMIT ${mostCounted}) renewed),
      q.dead,
      coalesce((SELECT p.paused FROM ${s}.queues p WHERE p.name = q.name), false),
      now - least(due.oldest, line.oldest, (
        SELECT min(foremost.ready_at) FROM (
          SELECT r.ready_at FROM ${s}.ready r WHERE r.queue = q.name ORDER BY r.queue, r.rank, r.seq LIMIT ${mostCompared}) foremost))
    FROM unnest(asked, ${s}.count_queues('${s}.ready', asked), ${s}.count_queues('${s}.delayed', asked), ${s}.count_queues('${s}.dead', asked),
      ${s}.count_queues('${s}.grouped', asked)) AS q (name, ready, delayed, dead, grouped)
    CROSS JOIN LATERAL (
      SELECT count(*) AS count, min(promotable.ready_at) AS oldest FROM (
        SELECT d.ready_at FROM ${s}.delayed d WHERE d.queue = q.name AND d.ready_at <= now
        ORDER BY d.queue, d.ready_at LIMIT ${mostCounted}) promotable) due
    CROSS JOIN LATERAL (
      SELECT (SELECT count(*) FROM (
        SELECT FROM ${s}.grouped g WHERE g.queue = q.name AND g.state = ${GroupState.inLine} ORDER BY g.queue, g.name LIMIT ${mostCounted}) lined) AS count,
        (SELECT min(j.ready_at) FROM (
          SELECT g.id FROM ${s}.grouped g WHERE g.queue = q.name AND g.state = ${GroupState.inLine} ORDER BY g.queue, g.name LIMIT ${mostCompared}) first
          JOIN ${s}.jobs j ON j.id BETWEEN first.id AND first.id) AS oldest) line
    ORDER BY q.name;
  END $$;`;

/** @param s the schema's name, quoted */
export const rareFunctions = (s: string): string =>
  [keyFunctions, cancel, daysOfHistory, keepEnded, tellEnds, waitingFunction, countQueues, stats]
    .map((part) => part(s))
    .join('\n');
