SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
CREATE SCHEMA longshore;
CREATE FUNCTION longshore.abandon(at bigint, keep boolean, the_id text, the_turn bigint, the_claim text, the_end integer, why text, message text, report text, finished text[]) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    j "longshore".jobs;
  BEGIN
    PERFORM "longshore".lock_groups(ARRAY[the_id]);
    DELETE FROM "longshore".jobs WHERE id = the_id AND turn = the_turn AND coalesce(
  (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = the_id AND r.claim = the_claim),
  EXISTS (SELECT FROM "longshore".leases l WHERE l.claim = the_claim AND l.until + 0 > now OFFSET 0)) RETURNING * INTO j;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    DELETE FROM "longshore".renewals r WHERE r.id = the_id AND r.claim = the_claim;
    DELETE FROM "longshore".leases l WHERE l.claim = ANY (finished);
    j.attempt := j.attempt + 1;
    j.reports := j.reports || report;
    IF the_end <> 4 THEN
      INSERT INTO "longshore".dead (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, idempotency_key, schedule, facts, ended, finished_at, reason, error, body, grouping)
      VALUES (j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt, j.reports, j.progress, j.idempotency_key, j.schedule, j.facts, the_end, now, why, message, j.body, (SELECT json_build_object('group', g.name, 'order', g.ordering)::text FROM "longshore".grouped g WHERE g.id = the_id));
    ELSIF keep THEN
      INSERT INTO "longshore".history (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, idempotency_key, schedule, facts, ended, finished_at, reason, error)
      VALUES (j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt, j.reports, j.progress, j.idempotency_key, j.schedule, j.facts, the_end, now, why, message);
    END IF;
    PERFORM "longshore".end_groups(now, ARRAY[the_id]);
    PERFORM "longshore".tell_ends(ARRAY[the_id]);
    RETURN true;
  END $$;
CREATE FUNCTION longshore.advance_groups(now bigint, p_queues text[], p_names text[], p_entered bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
  DECLARE
    gone text[];
  BEGIN
    LOOP
      WITH next AS (
        SELECT n.id, n.lag, least(now + 1000, greatest(now, g.entered_at + 1)) AS ready_from
        FROM (SELECT unnest(p_queues) AS queue, unnest(p_names) AS name, unnest(p_entered) AS entered_at) g CROSS JOIN LATERAL (
          SELECT t.id, t.lag, t.ordering FROM "longshore".grouped t WHERE t.queue = g.queue AND t.name = g.name AND t.state = 0
          ORDER BY t.queue, t.name, t.state, t.place, t.seq LIMIT 1) n
        WHERE NOT EXISTS (SELECT FROM "longshore".grouped t WHERE t.queue = g.queue AND t.name = g.name AND t.state = (SELECT 1::smallint) OFFSET 0)
          AND (n.ordering IS NULL OR NOT EXISTS (SELECT FROM "longshore".grouped t
            WHERE t.queue = g.queue AND t.name = g.name AND t.state = (SELECT 3::smallint) AND t.ordering IS NOT NULL OFFSET 0))),
      moved AS (
        UPDATE "longshore".jobs j SET rank = n.ready_from + n.lag FROM next n WHERE j.id BETWEEN n.id AND n.id
        RETURNING j.queue, j.rank, j.seq, j.ready_at, j.id, n.ready_from),
      headed AS (
        UPDATE "longshore".grouped t SET state = 1, entered_at = m.ready_from FROM moved m WHERE t.id BETWEEN m.id AND m.id),
      lined AS (INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM moved)
      SELECT array_agg(n.id) INTO gone FROM next n WHERE NOT (n.id = ANY (ARRAY(SELECT m.id FROM moved m)));
      EXIT WHEN gone IS NULL;
      DELETE FROM "longshore".grouped WHERE id = ANY (gone); -- their jobs were deleted by hand
    END LOOP;
  END $$;
CREATE FUNCTION longshore.advance_one(now bigint, queue text, name text, entered bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
  BEGIN
    PERFORM "longshore".advance_groups(now, ARRAY[queue], ARRAY[name], ARRAY[entered]);
  END $$;
CREATE FUNCTION longshore.cancel(at bigint, keep boolean, the_id text) RETURNS text
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    j "longshore".jobs;
  BEGIN
    PERFORM "longshore".lock_groups(ARRAY[the_id]);
    SELECT * INTO j FROM "longshore".jobs WHERE id = the_id FOR UPDATE;
    IF NOT FOUND THEN
      RETURN CASE WHEN EXISTS (SELECT FROM "longshore".history WHERE id = the_id) OR EXISTS (SELECT FROM "longshore".dead WHERE id = the_id)
        THEN 'finished' ELSE 'unknown' END;
    END IF;
    DELETE FROM "longshore".ready WHERE queue = j.queue AND rank = j.rank AND seq = j.seq;
    IF NOT FOUND THEN
      DELETE FROM "longshore".delayed WHERE queue = j.queue AND ready_at = j.ready_at AND seq = j.seq;
    END IF;
    IF NOT FOUND AND NOT EXISTS (SELECT FROM "longshore".grouped g WHERE g.id = the_id AND g.state = 0) THEN
      UPDATE "longshore".jobs SET cancel_requested = true WHERE id = the_id;
      RETURN 'cancelling';
    END IF;
    DELETE FROM "longshore".jobs WHERE id = the_id;
    IF keep THEN
      INSERT INTO "longshore".history (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, idempotency_key, schedule, facts, ended, finished_at, reason)
      VALUES (j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt, j.reports, j.progress, j.idempotency_key, j.schedule, j.facts, 4, now, 'cancelled');
    END IF;
    PERFORM "longshore".end_groups(now, ARRAY[the_id]);
    PERFORM "longshore".tell_ends(ARRAY[the_id]);
    RETURN 'cancelled';
  END $$;
CREATE FUNCTION longshore.change_waiting(at bigint, ageing bigint, p_queues text[], p_ids text[], remove boolean, new_priority integer, delay bigint, old_body text, new_body text, new_key text, new_schedule text, new_facts text, channel text, notified text[]) RETURNS boolean[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    the record;
    j record;
    weight bigint;
    answers boolean[] := array_fill(false, ARRAY[cardinality(p_ids)]);
  BEGIN
    PERFORM "longshore".lock_groups(p_ids);
    FOR the IN SELECT * FROM unnest(p_queues, p_ids) WITH ORDINALITY g (queue, id, n) ORDER BY g.id LOOP
      LOOP
        SELECT k.queue, k.rank, k.seq, k.ready_at INTO j FROM "longshore".jobs k WHERE k.id = the.id AND k.queue = the.queue AND (
          EXISTS (SELECT FROM "longshore".ready r WHERE r.queue = k.queue AND r.rank = k.rank AND r.seq = k.seq)
          OR EXISTS (SELECT FROM "longshore".delayed d WHERE d.queue = k.queue AND d.ready_at = k.ready_at AND d.seq = k.seq)
          OR EXISTS (SELECT FROM "longshore".grouped g WHERE g.id = k.id AND g.state = 0));
        EXIT WHEN NOT FOUND;
        DELETE FROM "longshore".ready r WHERE r.queue = j.queue AND r.rank = j.rank AND r.seq = j.seq;
        IF NOT FOUND THEN
          DELETE FROM "longshore".delayed d WHERE d.queue = j.queue AND d.ready_at = j.ready_at AND d.seq = j.seq;
        END IF;
        IF NOT FOUND THEN
          PERFORM FROM "longshore".grouped g WHERE g.id = the.id AND g.state = 0;
        END IF;
        -- Another transaction may have moved it between the two statements: then it is looked for again.
        CONTINUE WHEN NOT FOUND;
        -- Nobody else changes it from here on.
        SELECT k.rank, k.ready_at, k.created_at, k.priority, coalesce(k.body = old_body, true) AS same INTO j
        FROM "longshore".jobs k WHERE k.id = the.id;
        IF NOT j.same THEN
          PERFORM "longshore".line(now, true, the.id);
          EXIT;
        END IF;
        answers[the.n] := true;
        IF remove THEN
          DELETE FROM "longshore".jobs WHERE id = the.id;
          PERFORM "longshore".end_groups(now, ARRAY[the.id]);
          PERFORM "longshore".tell_ends(ARRAY[the.id]);
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
        UPDATE "longshore".jobs SET ready_at = j.ready_at, rank = j.rank, priority = coalesce(new_priority, priority) WHERE id = the.id;
        UPDATE "longshore".grouped SET lag = weight WHERE id = the.id;
        IF new_body IS NOT NULL THEN
          UPDATE "longshore".jobs SET body = new_body, idempotency_key = new_key, schedule = new_schedule, facts = new_facts WHERE id = the.id;
        END IF;
        PERFORM "longshore".line(now, true, the.id);
        EXIT;
      END LOOP;
    END LOOP;
    PERFORM pg_notify(channel, queue) FROM unnest(notified) queue WHERE channel IS NOT NULL;
    RETURN answers;
  END $$;
CREATE FUNCTION longshore.claim_key(at bigint, the_key text, the_owner text, hold bigint) RETURNS TABLE(state text, value text, remaining bigint)
    LANGUAGE plpgsql
    AS $$
  #variable_conflict use_column
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    k "longshore".keys;
  BEGIN
    LOOP
      INSERT INTO "longshore".keys AS t (key, owner, hold_until, done, value, keep_until)
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
      SELECT * INTO k FROM "longshore".keys t WHERE t.key = the_key;
      -- The key may have been given up between the two statements: then it is tried again.
      IF FOUND AND k.done AND k.keep_until > now THEN
        RETURN QUERY SELECT 'completed', k.value, k.keep_until - now;
        RETURN;
      ELSIF FOUND AND k.owner IS NOT NULL AND k.owner <> the_owner AND k.hold_until > now THEN
        RETURN QUERY SELECT 'running', NULL::text, k.hold_until - now;
        RETURN;
      END IF;
    END LOOP;
  END $$;
CREATE FUNCTION longshore.clear_queue(the_queue text) RETURNS bigint
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    cleared bigint;
  BEGIN
    PERFORM "longshore".lock_some(ARRAY(SELECT DISTINCT hashtext(g.queue || ' ' || g.name) & 1023 FROM "longshore".grouped g WHERE g.queue = the_queue));
    WITH r AS (DELETE FROM "longshore".ready WHERE queue = the_queue RETURNING id),
    d AS (DELETE FROM "longshore".delayed WHERE queue = the_queue RETURNING id),
    g AS (DELETE FROM "longshore".grouped WHERE queue = the_queue AND state <> 3 RETURNING id),
    gone AS (DELETE FROM "longshore".jobs WHERE id IN (SELECT id FROM r UNION ALL SELECT id FROM d UNION ALL SELECT id FROM g) RETURNING 1)
    SELECT count(*) INTO cleared FROM gone;
    RETURN cleared;
  END $$;
CREATE FUNCTION longshore.count_marks(marks bit) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT length(replace(marks::text, '0', ''))
  $$;
CREATE FUNCTION longshore.count_queues(the_table regclass, the_queues text[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $_$
  DECLARE
    counts bigint[] := '{}';
    counted bigint;
    estimate bigint;
    the_queue text;
    sampled jsonb;
    pages bigint := pg_relation_size(the_table) / current_setting('block_size')::int;
    share float8 := least(100, 100.0 * 500 / greatest(1, pages));
  BEGIN
    IF pages > 10000 / 291 THEN
      EXECUTE format('SELECT coalesce(jsonb_object_agg(queue, n), ''{}'') FROM (
        SELECT queue, count(*) AS n FROM %s TABLESAMPLE SYSTEM (%s) REPEATABLE (1)
        WHERE queue = ANY ($1) GROUP BY queue) sample', the_table, share)
        INTO sampled USING the_queues;
    END IF;
    FOREACH the_queue IN ARRAY the_queues LOOP
      estimate := round(coalesce((sampled ->> the_queue)::bigint, 0) * 100 / share);
      -- What is far above it is not counted as well.
      counted := 10000;
      IF estimate < 20000 THEN
        EXECUTE format('SELECT count(*) FROM (SELECT FROM %s WHERE queue = $1 LIMIT 10000) counted', the_table)
          INTO counted USING the_queue;
      END IF;
      counts := counts || CASE WHEN counted < 10000 THEN counted ELSE greatest(counted, estimate) END;
    END LOOP;
    RETURN counts;
  END $_$;
CREATE FUNCTION longshore.drop_days(at bigint, older_ms bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $_$
  DECLARE
    day_ms constant bigint := 86400000;
    last bigint := (coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) - older_ms) / day_ms;
    child record;
    part bigint;
    gone bigint := 0;
  BEGIN
    FOR child IN
      SELECT c.relname, c.reltuples FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = '"longshore".history'::regclass AND c.relname ~ '^history_[0-9]{8}$'
        AND to_date(right(c.relname, 8), 'YYYYMMDD') - DATE '1970-01-01' < last
    LOOP
      BEGIN
        SET LOCAL lock_timeout = '200ms';
        -- Counted only so far, because a day may hold very many.
        EXECUTE format('SELECT count(*) FROM (SELECT FROM "longshore".%I LIMIT 1000000) counted', child.relname) INTO part;
        IF part = 1000000 THEN
          part := greatest(part, child.reltuples);
        END IF;
        EXECUTE format('DROP TABLE "longshore".%I', child.relname);
        gone := gone + part;
      EXCEPTION
        WHEN lock_not_available THEN RETURN gone;
        WHEN undefined_table THEN NULL; -- another process was quicker
      END;
    END LOOP;
    RETURN gone;
  END $_$;
CREATE FUNCTION longshore.end_children(at bigint, p_batches text[], p_blocks integer[], p_ok text[], p_bad text[]) RETURNS SETOF text
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    nothing CONSTANT bit(1024) := repeat('0', 1024)::bit(1024);
    b record;
    r record;
    valid bit(1024);
    ok bit(1024);
    bad bit(1024);
    is_ended bit(1024);
    is_failed bit(1024);
    more_ended int;
    more_failed int;
    known int;
    is_over boolean;
  BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR b IN SELECT * FROM "longshore".batches WHERE id = ANY (p_batches) ORDER BY id FOR UPDATE LOOP
      CONTINUE WHEN b.completed_at IS NOT NULL;
      more_ended := 0;
      more_failed := 0;
      FOR r IN
        SELECT u.block, u.ok::bit(1024) AS ok, u.bad::bit(1024) AS bad, coalesce(m.ended, nothing) AS ended, coalesce(m.failed, nothing) AS failed
        FROM unnest(p_batches, p_blocks, p_ok, p_bad) u (batch, block, ok, bad)
        LEFT JOIN "longshore".batch_marks m ON m.batch = u.batch AND m.block = u.block
        WHERE u.batch = b.id
      LOOP
        known := least(1024, greatest(0, b.planned - r.block::bigint * 1024));
        valid := (repeat('1', known) || repeat('0', 1024 - known))::bit(1024);
        ok := r.ok & valid;
        bad := r.bad & valid & ~ok & ~r.ended;
        is_ended := r.ended | ok | bad;
        is_failed := (r.failed & ~ok) | bad;
        CONTINUE WHEN is_ended = r.ended AND is_failed = r.failed;
        INSERT INTO "longshore".batch_marks AS m (batch, block, ended, failed) VALUES (b.id, r.block, is_ended, is_failed)
        ON CONFLICT (batch, block) DO UPDATE SET ended = excluded.ended, failed = excluded.failed;
        more_ended := more_ended + "longshore".count_marks(is_ended) - "longshore".count_marks(r.ended);
        more_failed := more_failed + "longshore".count_marks(is_failed) - "longshore".count_marks(r.failed);
      END LOOP;
      CONTINUE WHEN more_ended = 0 AND more_failed = 0;
      is_over := b.sealed AND b.succeeded + b.failed + more_ended = b.sent;
      UPDATE "longshore".batches SET succeeded = succeeded + more_ended - more_failed, failed = batches.failed + more_failed, changed_at = now
      WHERE id = b.id;
      IF is_over THEN
        UPDATE "longshore".batches SET completed_at = now, look_at = now + 10000 WHERE id = b.id;
        RETURN NEXT b.id;
      END IF;
    END LOOP;
  END $$;
CREATE FUNCTION longshore.end_groups(now bigint, ids text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
  DECLARE
    queues text[];
    names text[];
    entered bigint[];
  BEGIN
    IF NOT "longshore".lock_ending(ids) THEN
      RETURN;
    END IF;
    WITH gone AS (DELETE FROM "longshore".grouped t WHERE t.id = ANY (ids) RETURNING t.queue, t.name, t.state, t.ordering, t.entered_at)
    
    SELECT array_agg(g.queue), array_agg(g.name), array_agg(g.entered_at) INTO queues, names, entered FROM (
      SELECT queue, name, max(entered_at) AS entered_at FROM gone WHERE (gone.state <> 3 OR gone.ordering IS NOT NULL) GROUP BY queue, name) g;
    IF queues IS NOT NULL THEN
      PERFORM "longshore".advance_groups(now, queues, names, entered);
    END IF;
  END $$;
CREATE FUNCTION longshore.ended_ids(since bigint, ids text[]) RETURNS text[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  BEGIN
    RETURN nullif(ARRAY(
      SELECT h.id FROM "longshore".history h WHERE h.id = ANY (ids) AND h.finished_at >= since
      UNION ALL SELECT d.id FROM "longshore".dead d WHERE d.id = ANY (ids)), '{}');
  END $$;
CREATE FUNCTION longshore.enqueue(at bigint, ageing bigint, since bigint, fresh text[], ids text[], queues text[], names text[], tenants text[], priorities integer[], delays bigint[], bodies text[], keys text[], schedules text[], fact_texts text[], channel text, rings text[]) RETURNS integer[]
    LANGUAGE plpgsql
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    ended text[];
    stored_ids text[];
  BEGIN
    
    IF cardinality(fresh) > 0 THEN
      INSERT INTO "longshore".queues (name) SELECT * FROM unnest(fresh) ON CONFLICT DO NOTHING;
    END IF;
    IF since IS NOT NULL THEN
      ended := "longshore".ended_ids(since, ids);
    END IF;
    
      WITH stored AS (
        INSERT INTO "longshore".jobs AS j (seq, turn, id, queue, job, tenant_id, priority, created_at, ready_at, rank, attempt, interrupted,
  cancel_requested, reports, body, idempotency_key, schedule, facts)
        SELECT seq, seq, id, queue, job, tenant_id, priority, now, now + delay, now + delay + priority * ageing, 0, false,
          false, '', body, idempotency_key, schedule, facts
        FROM (SELECT nextval('"longshore".turns') AS seq, unnest(ids) AS id, unnest(queues) AS queue, unnest(names) AS job, unnest(tenants) AS tenant_id, unnest(priorities) AS priority, unnest(delays) AS delay, unnest(bodies) AS body, unnest(keys) AS idempotency_key, unnest(schedules) AS schedule, unnest(fact_texts) AS facts) g WHERE ended IS NULL OR NOT (id = ANY (ended)) ON CONFLICT (id) DO NOTHING
        RETURNING j.id, j.queue, j.rank, j.seq, j.ready_at),
      lined AS (INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM stored WHERE ready_at <= now),
      put_off AS (INSERT INTO "longshore".delayed (queue, ready_at, seq, rank, id)
        SELECT queue, ready_at, seq, rank, id FROM stored WHERE ready_at > now)
      SELECT array_agg(id) INTO stored_ids FROM stored;
    
    IF cardinality(rings) > 0 THEN
      PERFORM pg_notify(channel, ring) FROM unnest(rings) ring;
    END IF;
    
    RETURN CASE WHEN cardinality(stored_ids) = cardinality(ids) THEN NULL ELSE ARRAY(
      SELECT n FROM (
        SELECT id, n, row_number() OVER (PARTITION BY id ORDER BY n) AS copy FROM unnest(ids) WITH ORDINALITY g (id, n)) g
      WHERE g.copy > 1 OR NOT (g.id = ANY (coalesce(stored_ids, '{}')))) END;
  END $$;
CREATE FUNCTION longshore.enqueue_grouped(at bigint, ageing bigint, since bigint, fresh text[], ids text[], queues text[], names text[], tenants text[], priorities integer[], delays bigint[], bodies text[], keys text[], schedules text[], fact_texts text[], channel text, rings text[], groups text[], orders text[], apart boolean) RETURNS integer[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint;
    ended text[];
    stored_ids text[];
    copies int[];
    group_queues text[];
    group_names text[];
  BEGIN
    
    IF cardinality(fresh) > 0 THEN
      INSERT INTO "longshore".queues (name) SELECT * FROM unnest(fresh) ON CONFLICT DO NOTHING;
    END IF;
    SELECT array_agg(g.queue), array_agg(g.name) INTO group_queues, group_names FROM (
      SELECT DISTINCT n.queue, n.name FROM unnest(queues, groups) n (queue, name) WHERE n.name IS NOT NULL) g;
    PERFORM "longshore".mark_grouped(group_queues);
    IF NOT apart THEN
      PERFORM "longshore".lock_some(ARRAY(SELECT hashtext(n.queue || ' ' || n.name) & 1023 FROM unnest(group_queues, group_names) n (queue, name)));
    END IF;
    now := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    IF since IS NOT NULL THEN
      ended := "longshore".ended_ids(since, ids);
    END IF;
    
      WITH stored AS (
        INSERT INTO "longshore".jobs AS j (seq, turn, id, queue, job, tenant_id, priority, created_at, ready_at, rank, attempt, interrupted,
  cancel_requested, reports, body, idempotency_key, schedule, facts)
        SELECT seq, seq, id, queue, job, tenant_id, priority, now, now + delay, now + delay + priority * ageing, 0, false,
          false, '', body, idempotency_key, schedule, facts
        FROM (SELECT nextval('"longshore".turns') AS seq, unnest(ids) AS id, unnest(queues) AS queue, unnest(names) AS job, unnest(tenants) AS tenant_id, unnest(priorities) AS priority, unnest(delays) AS delay, unnest(bodies) AS body, unnest(keys) AS idempotency_key, unnest(schedules) AS schedule, unnest(fact_texts) AS facts) g WHERE ended IS NULL OR NOT (id = ANY (ended)) ON CONFLICT (id) DO NOTHING
        RETURNING j.id, j.queue, j.rank, j.seq, j.ready_at)
      SELECT array_agg(id) INTO stored_ids FROM stored;
    
    copies := CASE WHEN cardinality(stored_ids) = cardinality(ids) THEN NULL ELSE ARRAY(
      SELECT n FROM (
        SELECT id, n, row_number() OVER (PARTITION BY id ORDER BY n) AS copy FROM unnest(ids) WITH ORDINALITY g (id, n)) g
      WHERE g.copy > 1 OR NOT (g.id = ANY (coalesce(stored_ids, '{}')))) END;
    WITH new AS (
      SELECT j.id, j.seq, j.queue, n.name, n.ordering, j.ready_at, j.rank, j.rank - j.ready_at AS lag, j.ready_at <= now AS is_due,
        NOT apart AND j.ready_at <= now AS joins
      FROM unnest(ids, groups, orders) WITH ORDINALITY n (id, name, ordering, n) JOIN "longshore".jobs j ON j.id BETWEEN n.id AND n.id
      WHERE NOT (n.n = ANY (coalesce(copies, '{}')))),
    lined AS (
      INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id)
      SELECT queue, rank, seq, ready_at, id FROM new WHERE is_due AND name IS NULL),
    put_off AS (
      INSERT INTO "longshore".delayed (queue, ready_at, seq, rank, id)
      SELECT queue, ready_at, seq, rank, id FROM new WHERE NOT is_due OR apart AND name IS NOT NULL),
    ends AS (
      SELECT queue, name, "longshore".last_place(queue, name) AS place FROM new WHERE joins AND ordering IS NOT NULL GROUP BY queue, name)
    INSERT INTO "longshore".grouped (id, seq, queue, name, ordering, state, place, apart_until, lag)
    SELECT i.id, i.seq, i.queue, i.name, i.ordering, CASE WHEN i.joins THEN 0 ELSE 2 END,
      CASE WHEN NOT i.joins THEN NULL WHEN i.ordering IS NULL THEN i.rank
        ELSE greatest(i.ready_at, e.place + 1) + row_number() OVER (PARTITION BY i.queue, i.name, i.joins ORDER BY i.seq) - 1 END,
      CASE WHEN NOT i.joins THEN i.ready_at END, i.lag
    FROM new i LEFT JOIN ends e ON e.queue = i.queue AND e.name = i.name WHERE i.name IS NOT NULL;
    IF NOT apart THEN
      PERFORM "longshore".advance_groups(now, group_queues, group_names, array_fill(0::bigint, ARRAY[cardinality(group_names)]));
    END IF;
    
    IF cardinality(rings) > 0 THEN
      PERFORM pg_notify(channel, ring) FROM unnest(rings) ring;
    END IF;
    RETURN copies;
  END $$;
CREATE FUNCTION longshore.enqueue_new(at bigint, ageing bigint, fresh text[], ids text[], queues text[], names text[], tenants text[], priorities integer[], delays bigint[], bodies text[], keys text[], schedules text[], fact_texts text[], channel text, rings text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    seqs bigint[];
  BEGIN
    
    IF cardinality(fresh) > 0 THEN
      INSERT INTO "longshore".queues (name) SELECT * FROM unnest(fresh) ON CONFLICT DO NOTHING;
    END IF;
    IF 0 = ALL (delays) THEN
      
      seqs := ARRAY(SELECT nextval('"longshore".turns') FROM generate_series(1, cardinality(ids)));
      INSERT INTO "longshore".jobs (seq, turn, id, queue, job, tenant_id, priority, created_at, ready_at, rank, attempt, interrupted,
  cancel_requested, reports, body, idempotency_key, schedule, facts)
      SELECT seq, seq, id, queue, job, tenant_id, priority, now, now, now + priority * ageing, 0, false, false, '', body, idempotency_key, schedule, facts
      FROM (SELECT unnest(seqs) AS seq, unnest(ids) AS id, unnest(queues) AS queue, unnest(names) AS job, unnest(tenants) AS tenant_id, unnest(priorities) AS priority, unnest(bodies) AS body, unnest(keys) AS idempotency_key, unnest(schedules) AS schedule, unnest(fact_texts) AS facts) g;
      INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id)
      SELECT queue, now + priority * ageing, seq, now, id
      FROM (SELECT unnest(seqs) AS seq, unnest(ids) AS id, unnest(queues) AS queue, unnest(priorities) AS priority) g;
    ELSE
      
      WITH stored AS (
        INSERT INTO "longshore".jobs AS j (seq, turn, id, queue, job, tenant_id, priority, created_at, ready_at, rank, attempt, interrupted,
  cancel_requested, reports, body, idempotency_key, schedule, facts)
        SELECT seq, seq, id, queue, job, tenant_id, priority, now, now + delay, now + delay + priority * ageing, 0, false,
          false, '', body, idempotency_key, schedule, facts
        FROM (SELECT nextval('"longshore".turns') AS seq, unnest(ids) AS id, unnest(queues) AS queue, unnest(names) AS job, unnest(tenants) AS tenant_id, unnest(priorities) AS priority, unnest(delays) AS delay, unnest(bodies) AS body, unnest(keys) AS idempotency_key, unnest(schedules) AS schedule, unnest(fact_texts) AS facts) g 
        RETURNING j.id, j.queue, j.rank, j.seq, j.ready_at), lined AS (INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM stored WHERE ready_at <= now) INSERT INTO "longshore".delayed (queue, ready_at, seq, rank, id)
        SELECT queue, ready_at, seq, rank, id FROM stored WHERE ready_at > now;
    END IF;
    
    IF cardinality(rings) > 0 THEN
      PERFORM pg_notify(channel, ring) FROM unnest(rings) ring;
    END IF;
  END $$;
CREATE FUNCTION longshore.extend_slots(at bigint, p_keys text[], p_holders text[], p_owners text[], hold bigint) RETURNS integer[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint;
  BEGIN
    
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'Expected a transaction that is READ COMMITTED' USING ERRCODE = 'LS001';
  END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(l.n) FROM (
    SELECT DISTINCT hashtextextended('longshore limit of "longshore" ' || k, 0) AS n FROM unnest(p_keys) k ORDER BY n) l;
  now := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    UPDATE "longshore".limit_slots l SET until = now + hold
    FROM unnest(p_keys, p_holders, p_owners) a (key, holder, owner) WHERE l.key BETWEEN a.key AND a.key AND l.holder = a.holder AND l.owner = a.owner AND l.until + 0 > now;
    RETURN ARRAY(
      SELECT a.n FROM unnest(p_keys, p_holders, p_owners) WITH ORDINALITY a (key, holder, owner, n)
      WHERE EXISTS (SELECT FROM "longshore".limit_slots l WHERE l.key BETWEEN a.key AND a.key AND l.holder = a.holder AND l.owner = a.owner AND l.until + 0 > now OFFSET 0));
  END $$;
CREATE FUNCTION longshore.free_slots(at bigint, p_keys text[], p_holders text[], p_owners text[]) RETURNS TABLE(key text, holder text, queue text)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  #variable_conflict use_column
  DECLARE
    now bigint;
    r record;
  BEGIN
    
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'Expected a transaction that is READ COMMITTED' USING ERRCODE = 'LS001';
  END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(l.n) FROM (
    SELECT DISTINCT hashtextextended('longshore limit of "longshore" ' || k, 0) AS n FROM unnest(p_keys) k ORDER BY n) l;
  now := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    FOR r IN
      WITH gone AS (
        DELETE FROM "longshore".limit_slots l USING unnest(p_keys, p_holders, p_owners) a (key, holder, owner) WHERE l.key BETWEEN a.key AND a.key AND l.holder = a.holder AND l.owner = a.owner AND l.until + 0 > now
        RETURNING l.key)
      SELECT g.key, count(*) AS n FROM gone g
      WHERE EXISTS (SELECT FROM "longshore".limit_waiters w WHERE w.key = g.key AND w.until + 0 > now OFFSET 0) GROUP BY g.key
    LOOP
      RETURN QUERY SELECT * FROM "longshore".next_waiters(now, r.key, r.n);
    END LOOP;
  END $$;
CREATE FUNCTION longshore.heal_groups(at bigint, the_queue text, after text, most integer) RETURNS text
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    names text[] := '{}';
    next_name text := after;
  BEGIN
    LOOP
      next_name := (SELECT g.name FROM "longshore".grouped g WHERE g.queue = the_queue AND g.name > next_name ORDER BY g.queue, g.name LIMIT 1);
      EXIT WHEN next_name IS NULL;
      names := names || next_name;
      EXIT WHEN cardinality(names) = most;
    END LOOP;
    -- First without their locks: nearly all are well.
    names := ARRAY(SELECT n.name FROM unnest(names) n (name) WHERE
      EXISTS (SELECT FROM "longshore".grouped g WHERE g.queue = the_queue AND g.name = n.name AND g.state > (SELECT 0::smallint)
        AND NOT EXISTS (SELECT FROM "longshore".jobs j WHERE j.id = g.id OFFSET 0))
      OR NOT EXISTS (SELECT FROM "longshore".grouped g WHERE g.queue = the_queue AND g.name = n.name AND g.state = (SELECT 1::smallint)));
    PERFORM "longshore".lock_some(ARRAY(SELECT hashtext(the_queue || ' ' || n.name) & 1023 FROM unnest(names) n (name)));
    DELETE FROM "longshore".grouped g USING unnest(names) n (name) WHERE g.queue = the_queue AND g.name = n.name AND g.state > (SELECT 0::smallint)
      AND NOT EXISTS (SELECT FROM "longshore".jobs j WHERE j.id = g.id OFFSET 0);
    PERFORM "longshore".advance_one(now, the_queue, n.name, 0) FROM unnest(names) n (name);
    RETURN next_name;
  END $$;
CREATE TABLE longshore.grouped (
    id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    ordering text,
    state smallint NOT NULL,
    place bigint,
    entered_at bigint DEFAULT 0 NOT NULL,
    apart_until bigint,
    lag bigint NOT NULL
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');
CREATE FUNCTION longshore.join_group(now bigint, g longshore.grouped, ready_at bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
  BEGIN
    UPDATE "longshore".grouped SET state = 0, apart_until = NULL, place = coalesce(g.place,
      CASE WHEN g.ordering IS NULL THEN ready_at + g.lag ELSE greatest(ready_at, "longshore".last_place(g.queue, g.name) + 1) END)
    WHERE id = g.id;
    PERFORM "longshore".advance_one(now, g.queue, g.name, g.entered_at);
  END $$;
CREATE FUNCTION longshore.keep_ended(settled integer[], at bigint, p_ids text[], p_which integer[], p_keeps bigint[]) RETURNS integer[]
    LANGUAGE plpgsql
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    k record;
  BEGIN
    FOR k IN SELECT p_ids[w.n] AS id, w.keep FROM unnest(p_which, p_keeps) w (n, keep) WHERE settled IS NULL OR w.n = ANY (settled) LOOP
      IF k.keep = 0 THEN
        DELETE FROM "longshore".history WHERE id = k.id AND finished_at BETWEEN now - 60000 AND now + 60000;
        DELETE FROM "longshore".dead WHERE id = k.id;
      ELSE
        UPDATE "longshore".history SET finished_at = finished_at + 4503599627370496, keep_until = finished_at + k.keep
        WHERE id = k.id AND finished_at BETWEEN now - 60000 AND now + 60000;
        UPDATE "longshore".dead SET keep_until = finished_at + k.keep WHERE id = k.id;
      END IF;
    END LOOP;
    RETURN settled;
  END $$;
CREATE FUNCTION longshore.last_place(the_queue text, the_name text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
  BEGIN
    RETURN coalesce(
      (SELECT t.place FROM "longshore".grouped t WHERE t.queue = the_queue AND t.name = the_name AND t.state = 0
        ORDER BY t.queue DESC, t.name DESC, t.state DESC, t.place DESC, t.seq DESC LIMIT 1),
      (SELECT max(t.place) FROM "longshore".grouped t WHERE t.queue = the_queue AND t.name = the_name), 0);
  END $$;
CREATE FUNCTION longshore.lease_groups(now bigint, ids text[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
  DECLARE
    queues text[];
    names text[];
    entered bigint[];
  BEGIN
    PERFORM "longshore".lock_groups(ids);
    WITH held AS (
      UPDATE "longshore".grouped t SET state = 3, apart_until = NULL WHERE t.id = ANY (ids) RETURNING t.queue, t.name, t.entered_at)
    
    SELECT array_agg(g.queue), array_agg(g.name), array_agg(g.entered_at) INTO queues, names, entered FROM (
      SELECT queue, name, max(entered_at) AS entered_at FROM held  GROUP BY queue, name) g;
    PERFORM "longshore".advance_groups(now, queues, names, entered);
    RETURN true;
  END $$;
CREATE FUNCTION longshore.lease_heads(now bigint, heads text[], room integer) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
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
      UPDATE "longshore".grouped t SET state = 3, apart_until = NULL WHERE t.id = ANY (heads)
      RETURNING t.queue, t.name, t.ordering, t.entered_at)
    
    SELECT array_agg(g.queue), array_agg(g.name), array_agg(g.entered_at) INTO queues, names, entered FROM (
      SELECT queue, name, max(entered_at) AS entered_at FROM held WHERE ordering IS NULL GROUP BY queue, name) g; -- behind an ordered one nobody comes before it has ended
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
            SELECT t.id, t.place, t.seq, t.lag, t.ordering FROM "longshore".grouped t
            WHERE t.queue = g.queue AND t.name = g.name AND t.state = 0
            ORDER BY t.queue, t.name, t.state, t.place, t.seq LIMIT depth) f
          WINDOW w AS (ORDER BY f.place, f.seq)) n
        WHERE g.long AND n.is_free),
      best AS (SELECT * FROM line ORDER BY k, rank, seq LIMIT room),
      taken AS (UPDATE "longshore".grouped t SET state = 3 FROM best b WHERE t.id BETWEEN b.id AND b.id)
      SELECT ARRAY(SELECT b.id FROM best b ORDER BY b.k, b.rank, b.seq),
        ARRAY(SELECT (SELECT count(*) FROM best b WHERE b.which = g.n) FROM generate_series(1, cardinality(long)) g (n))
      INTO chosen, counts;
      behind := behind || chosen;
      room := room - cardinality(chosen);
      entered := ARRAY(SELECT greatest(now - 1, u.entered_at) + u.count FROM unnest(entered, counts) u (entered_at, count));
      long := ARRAY(SELECT u.count = depth FROM unnest(counts) u (count));
    END LOOP;
    PERFORM "longshore".advance_groups(now, queues, names, entered);
    RETURN behind;
  END $$;
CREATE FUNCTION longshore.line(now bigint, keep boolean, the_id text) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    j "longshore".jobs;
  BEGIN
    SELECT * INTO j FROM "longshore".jobs WHERE id = the_id;
    IF j.cancel_requested THEN
      DELETE FROM "longshore".jobs WHERE id = the_id;
      IF keep THEN
        INSERT INTO "longshore".history (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, idempotency_key, schedule, facts, ended, finished_at, reason, error)
        VALUES (j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt, j.reports, j.progress, j.idempotency_key, j.schedule, j.facts, 4, now, 'cancelled', NULL);
      END IF;
      PERFORM "longshore".end_groups(now, ARRAY[the_id]);
      PERFORM "longshore".tell_ends(ARRAY[the_id]);
    ELSIF "longshore".wait_in_group(now, j) THEN
      RETURN;
    ELSIF j.ready_at <= now THEN
      INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) VALUES (j.queue, j.rank, j.seq, j.ready_at, j.id);
    ELSE
      INSERT INTO "longshore".delayed (queue, ready_at, seq, rank, id) VALUES (j.queue, j.ready_at, j.seq, j.rank, j.id);
    END IF;
  END $$;
CREATE FUNCTION longshore.lock_ending(ids text[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
  DECLARE
    numbers int[];
  BEGIN
    IF NOT EXISTS (SELECT FROM "longshore".queues n WHERE n.grouped) THEN
      RETURN false;
    END IF;
    numbers := ARRAY(SELECT CASE WHEN (g.state <> 3 OR g.ordering IS NOT NULL) THEN hashtext(g.queue || ' ' || g.name) & 1023 END FROM "longshore".grouped g WHERE g.id = ANY (ids));
    PERFORM "longshore".lock_some(numbers);
    RETURN cardinality(numbers) > 0;
  END $$;
CREATE FUNCTION longshore.lock_groups(ids text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
  BEGIN
    IF EXISTS (SELECT FROM "longshore".queues n WHERE n.grouped) THEN
      PERFORM "longshore".lock_some(ARRAY(SELECT hashtext(g.queue || ' ' || g.name) & 1023 FROM "longshore".grouped g WHERE g.id = ANY (ids)));
    END IF;
  END $$;
CREATE FUNCTION longshore.lock_some(numbers integer[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
  BEGIN
    PERFORM FROM "longshore".group_locks l WHERE l.n = ANY (numbers) ORDER BY l.n FOR UPDATE;
  END $$;
CREATE FUNCTION longshore.make_days(at bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
  DECLARE
    day_ms constant bigint := 86400000;
    today bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) / day_ms;
    day bigint;
    name text;
  BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('longshore days of "longshore"', 0)) THEN
      RETURN;
    END IF;
    SET LOCAL lock_timeout = '200ms';
    FOR day IN SELECT today + n FROM generate_series(-1, 7) n LOOP
      name := 'history_' || to_char(to_timestamp(day * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD');
      CONTINUE WHEN to_regclass(format('"longshore".%I', name)) IS NOT NULL;
      CONTINUE WHEN EXISTS (SELECT FROM "longshore".history_other WHERE finished_at >= day * day_ms AND finished_at < (day + 1) * day_ms);
      BEGIN
        -- Made apart and then attached, which does not hold up those who write.
        EXECUTE format('CREATE TABLE "longshore".%I (LIKE "longshore".history INCLUDING ALL)', name);
        EXECUTE format('ALTER TABLE "longshore".history ATTACH PARTITION "longshore".%I FOR VALUES FROM (%s) TO (%s)',
          name, day * day_ms, (day + 1) * day_ms);
      EXCEPTION WHEN lock_not_available THEN
        RETURN;
      END;
    END LOOP;
  END $$;
CREATE FUNCTION longshore.mark_grouped(p_queues text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
  BEGIN
    IF EXISTS (SELECT FROM unnest(p_queues) g (queue) WHERE NOT EXISTS (SELECT FROM "longshore".queues n WHERE n.name = g.queue AND n.grouped)) THEN
      INSERT INTO "longshore".queues (name, grouped) SELECT DISTINCT g.queue, true FROM unnest(p_queues) g (queue) ORDER BY 1
      ON CONFLICT (name) DO UPDATE SET grouped = true;
    END IF;
  END $$;
CREATE FUNCTION longshore.nack(at bigint, ageing bigint, keep boolean, the_id text, the_turn bigint, the_claim text, delay bigint, counted boolean, report text, channel text, finished text[]) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    the_queue text;
  BEGIN
    PERFORM "longshore".lock_groups(ARRAY[the_id]);
    UPDATE "longshore".jobs SET turn = nextval('"longshore".turns'), attempt = attempt + counted::int, interrupted = interrupted AND NOT counted,
      ready_at = now + delay, rank = now + delay + priority * ageing, reports = CASE WHEN length(reports) - length(replace(reports, chr(10), '')) > 30
    THEN substr(reports, strpos(reports, chr(10)) + 1) ELSE reports END || report
    WHERE id = the_id AND turn = the_turn AND coalesce(
  (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = the_id AND r.claim = the_claim),
  EXISTS (SELECT FROM "longshore".leases l WHERE l.claim = the_claim AND l.until + 0 > now OFFSET 0))
    RETURNING queue INTO the_queue;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    DELETE FROM "longshore".renewals r WHERE r.id = the_id AND r.claim = the_claim;
    DELETE FROM "longshore".leases l WHERE l.claim = ANY (finished);
    PERFORM "longshore".line(now, keep, the_id);
    IF channel IS NOT NULL THEN
      PERFORM pg_notify(channel, the_queue);
    END IF;
    RETURN true;
  END $$;
CREATE FUNCTION longshore.next_waiters(now bigint, the_key text, room bigint) RETURNS TABLE(key text, holder text, queue text)
    LANGUAGE plpgsql
    AS $$
  #variable_conflict use_column
  DECLARE
    first int;
  BEGIN
    SELECT w.most INTO first FROM "longshore".limit_waiters w WHERE w.key = the_key AND w.until + 0 > now ORDER BY w.rank, w.holder LIMIT 1;
    IF NOT FOUND OR EXISTS (SELECT FROM "longshore".limit_holds h WHERE h.key = the_key AND h.until > now) THEN
      RETURN;
    END IF;
    SELECT least(room, least(first, min(l.most)) - count(*)) INTO room FROM "longshore".limit_slots l WHERE l.key = the_key AND l.until + 0 > now;
    RETURN QUERY WITH woken AS (
      DELETE FROM "longshore".limit_waiters WHERE ctid = ANY (ARRAY(
        SELECT w.ctid FROM "longshore".limit_waiters w WHERE w.key = the_key AND w.until + 0 > now
        ORDER BY w.rank, w.holder LIMIT greatest(0, room)))
      RETURNING rank, holder, queue)
    SELECT the_key, w.holder, w.queue FROM woken w ORDER BY w.rank, w.holder;
  END $$;
CREATE FUNCTION longshore.pick(open text[], most integer, OUT spots tid[], OUT heads text[], OUT blocked boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
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
            SELECT t.rank, t.seq FROM "longshore".ready t WHERE t.queue = q.queue ORDER BY t.queue, t.rank, t.seq LIMIT most) r
          ORDER BY r.rank, r.seq LIMIT most) first
        GROUP BY first.queue) share
      CROSS JOIN LATERAL (
        SELECT t.ctid AS spot, t.id FROM "longshore".ready t WHERE t.queue = share.queue ORDER BY t.queue, t.rank, t.seq LIMIT share.n
        FOR UPDATE SKIP LOCKED) r) f;
    SELECT array_agg(g.id), array_agg(hashtext(g.queue || ' ' || g.name) & 1023) INTO found_heads, numbers
    FROM "longshore".grouped g WHERE g.id = ANY (ids);
    blocked := false;
    IF found_heads IS NULL THEN
      RETURN;
    END IF;
    held := ARRAY(SELECT l.n FROM "longshore".group_locks l WHERE l.n = ANY (numbers) ORDER BY l.n FOR UPDATE SKIP LOCKED);
    heads := ARRAY(SELECT u.id FROM unnest(found_heads, numbers) u (id, n) WHERE u.n = ANY (held));
    blocked := cardinality(heads) < cardinality(found_heads);
    IF blocked THEN
      spots := ARRAY(SELECT u.spot FROM unnest(spots, ids) u (spot, id)
        WHERE NOT (u.id = ANY (found_heads)) OR u.id = ANY (heads));
    END IF;
  END $$;
CREATE FUNCTION longshore.promote_groups(now bigint, queues text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
  DECLARE
    ids text[];
    g "longshore".grouped;
    j "longshore".jobs;
  BEGIN
    IF NOT EXISTS (SELECT FROM "longshore".grouped t WHERE t.queue = ANY (queues) AND t.apart_until <= now) THEN
      RETURN;
    END IF;
    ids := "longshore".try_groups(ARRAY(SELECT t.id FROM "longshore".grouped t WHERE t.queue = ANY (queues) AND t.apart_until <= now
      ORDER BY t.apart_until, t.seq LIMIT 1000));
    FOR g IN SELECT * FROM "longshore".grouped t WHERE t.id = ANY (ids) AND t.apart_until <= now ORDER BY t.apart_until, t.seq LOOP
      SELECT * INTO j FROM "longshore".jobs t WHERE t.id = g.id;
      DELETE FROM "longshore".delayed d WHERE d.queue = j.queue AND d.ready_at = j.ready_at AND d.seq = j.seq;
      PERFORM "longshore".join_group(now, g, j.ready_at);
    END LOOP;
  END $$;
CREATE FUNCTION longshore.reap(at bigint, ageing bigint, keep boolean, the_queue text, lost text) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    over_ids text[];
    over_turns bigint[];
    over_times bigint[];
    back text[];
    gone bigint;
  BEGIN
    IF NOT EXISTS (SELECT FROM "longshore".leases l WHERE l.queue = the_queue AND l.until <= now)
      AND NOT EXISTS (SELECT FROM "longshore".renewals r WHERE r.queue = the_queue AND r.until <= now) THEN
      RETURN NULL;
    END IF;
    WITH ended AS (
      DELETE FROM "longshore".leases WHERE ctid = ANY (ARRAY(
        SELECT l.ctid FROM "longshore".leases l WHERE l.queue = the_queue AND l.until <= now
        ORDER BY l.queue, l.until LIMIT 20 FOR UPDATE SKIP LOCKED))
      RETURNING claim, claimed_at, ids, turns),
    unrenewed AS (
      DELETE FROM "longshore".renewals WHERE ctid = ANY (ARRAY(
        SELECT r.ctid FROM "longshore".renewals r WHERE r.queue = the_queue AND r.until <= now
        ORDER BY r.queue, r.until LIMIT 1000 FOR UPDATE SKIP LOCKED))
      RETURNING id, turn, claimed_at),
    over AS (
      SELECT m.id, m.turn, e.claimed_at FROM ended e CROSS JOIN LATERAL unnest(e.ids, e.turns) m (id, turn)
      WHERE NOT EXISTS (SELECT FROM "longshore".renewals r WHERE r.id = m.id AND r.turn = m.turn OFFSET 0)
      UNION ALL SELECT id, turn, claimed_at FROM unrenewed)
    SELECT array_agg(id), array_agg(turn), array_agg(claimed_at), (SELECT count(*) FROM ended) + (SELECT count(*) FROM unrenewed)
    INTO over_ids, over_turns, over_times, gone FROM over;
    PERFORM "longshore".lock_groups(over_ids);
    WITH freed AS (
      UPDATE "longshore".jobs j SET turn = nextval('"longshore".turns'), attempt = j.attempt + 1, interrupted = true, ready_at = now,
        rank = now + j.priority * ageing, reports = CASE WHEN length(j.reports) - length(replace(j.reports, chr(10), '')) > 30
    THEN substr(j.reports, strpos(j.reports, chr(10)) + 1) ELSE j.reports END || format(lost, j.attempt + 1, o.claimed_at, now) || E'\n'
      FROM unnest(over_ids, over_turns, over_times) o (id, turn, claimed_at)
      WHERE j.id BETWEEN o.id AND o.id AND j.turn = o.turn RETURNING j.id)
    SELECT array_agg(id) INTO back FROM freed;
    PERFORM "longshore".line(now, keep, id) FROM unnest(back) id;
    RETURN CASE WHEN gone > 0 THEN coalesce(cardinality(back), 0) END;
  END $$;
CREATE FUNCTION longshore.record(the_id text, since bigint) RETURNS TABLE(id text, queue text, job text, tenant_id text, state integer, priority smallint, created_at bigint, ready_at bigint, attempt integer, finished_at bigint, reason text, error text, progress text, reports text, facts text, seq bigint, n bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
  #variable_conflict use_column
  BEGIN
    -- + 0 keeps the planner from the indexes by seq, of which it would read all.
    RETURN QUERY SELECT * FROM (SELECT id, queue, job, tenant_id, state, priority, created_at, ready_at, attempt, finished_at, reason, error, progress, reports, facts, seq, n FROM (
    SELECT id, queue, job, tenant_id, priority, created_at, ready_at, attempt + leased::int AS attempt, progress, reports, facts, seq, n, leased::int AS state, NULL::bigint AS finished_at,
      NULL::text AS reason, NULL::text AS error FROM (SELECT t.*, 
  (NOT EXISTS (SELECT FROM "longshore".ready r WHERE r.queue = t.queue AND r.rank = t.rank AND r.seq = t.seq OFFSET 0)
    AND NOT EXISTS (SELECT FROM "longshore".delayed d WHERE d.queue = t.queue AND d.ready_at = t.ready_at AND d.seq = t.seq OFFSET 0)
    AND NOT EXISTS (SELECT FROM "longshore".grouped g WHERE g.id = t.id AND g.state = 0 OFFSET 0)) AS leased FROM (SELECT id, queue, job, tenant_id, priority, created_at, ready_at, attempt, progress, reports, facts, seq, idempotency_key, schedule, rank, 0::bigint AS n FROM "longshore".jobs WHERE id = the_id ) t) t) t UNION ALL SELECT id, queue, job, tenant_id, state, priority, created_at, ready_at, attempt, finished_at, reason, error, progress, reports, facts, seq, n FROM (SELECT *, ended::int AS state FROM (SELECT id, queue, job, tenant_id, priority, created_at, ready_at, attempt, progress, reports, facts, seq, idempotency_key, schedule, ended, (finished_at & 4503599627370495) AS finished_at, reason, error, keep_until, 0::bigint AS n FROM "longshore".dead WHERE id = the_id ) t) t UNION ALL SELECT id, queue, job, tenant_id, state, priority, created_at, ready_at, attempt, finished_at, reason, error, progress, reports, facts, seq, n FROM (SELECT *, ended::int AS state FROM (SELECT id, queue, job, tenant_id, priority, created_at, ready_at, attempt, progress, reports, facts, seq, idempotency_key, schedule, ended, (finished_at & 4503599627370495) AS finished_at, reason, error, keep_until, 0::bigint AS n FROM "longshore".history WHERE id = the_id AND finished_at > since) t) t) records
    ORDER BY seq + 0 DESC LIMIT 1;
  END $$;
CREATE FUNCTION longshore.renew(at bigint, p_ids text[], p_turns bigint[], p_which integer[], p_claims text[], lease_ms bigint) RETURNS integer[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    renewed int[];
  BEGIN
    WITH owned AS (
      SELECT a.n, j.id, j.turn, j.queue, p_claims[a.which] AS claim
      FROM unnest(p_ids, p_turns, p_which) WITH ORDINALITY a (id, turn, which, n)
      JOIN "longshore".jobs j ON j.id BETWEEN a.id AND a.id AND j.turn = a.turn
      WHERE coalesce(
  (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]),
  EXISTS (SELECT FROM "longshore".leases l WHERE l.claim = p_claims[a.which] AND l.until + 0 > now OFFSET 0)) FOR UPDATE OF j),
    written AS (
      INSERT INTO "longshore".renewals AS r (id, turn, claim, queue, claimed_at, until)
      SELECT DISTINCT ON (o.id) o.id, o.turn, o.claim, o.queue, coalesce(
        (SELECT l.claimed_at FROM "longshore".leases l WHERE l.claim = o.claim AND l.queue || '' = o.queue), now), now + lease_ms FROM owned o
      ON CONFLICT (id) DO UPDATE SET turn = excluded.turn, claim = excluded.claim, until = excluded.until,
        claimed_at = CASE WHEN r.claim = excluded.claim THEN r.claimed_at ELSE excluded.claimed_at END)
    SELECT coalesce(array_agg(n), '{}') INTO renewed FROM owned;
    RETURN renewed;
  END $$;
CREATE FUNCTION longshore.reopen_children(at bigint, p_batch text, p_blocks integer[], p_marks text[]) RETURNS integer
    LANGUAGE plpgsql
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    r record;
    taken int := 0;
  BEGIN
    PERFORM FROM "longshore".batches WHERE id = p_batch FOR UPDATE;
    FOR r IN
      SELECT m.block, m.failed & u.marks::bit(1024) AS marks FROM unnest(p_blocks, p_marks) u (block, marks)
      JOIN "longshore".batch_marks m ON m.batch = p_batch AND m.block = u.block
    LOOP
      taken := taken + "longshore".count_marks(r.marks);
      UPDATE "longshore".batch_marks SET ended = ended & ~r.marks, failed = failed & ~r.marks WHERE batch = p_batch AND block = r.block;
    END LOOP;
    IF taken > 0 THEN
      UPDATE "longshore".batches SET failed = failed - taken, round = round + (completed_at IS NOT NULL)::int, completed_at = NULL,
        called = false, cancelled_at = NULL, changed_at = now, look_at = now
      WHERE id = p_batch;
    END IF;
    RETURN taken;
  END $$;
CREATE FUNCTION longshore.reset_limit(at bigint, the_key text) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint;
    gone bigint;
  BEGIN
    
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'Expected a transaction that is READ COMMITTED' USING ERRCODE = 'LS001';
  END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(l.n) FROM (
    SELECT DISTINCT hashtextextended('longshore limit of "longshore" ' || k, 0) AS n FROM unnest(ARRAY[the_key]) k ORDER BY n) l;
  now := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    WITH slots AS (DELETE FROM "longshore".limit_slots l WHERE l.key = the_key RETURNING until),
    holds AS (DELETE FROM "longshore".limit_holds h WHERE h.key = the_key RETURNING until)
    SELECT count(*) INTO gone FROM (SELECT * FROM slots UNION ALL SELECT * FROM holds) g WHERE g.until > now;
    RETURN gone > 0;
  END $$;
CREATE FUNCTION longshore.revive(at bigint, ageing bigint, the_ids text[]) RETURNS TABLE(revived_queue text)
    LANGUAGE sql
    AS $$
    WITH given AS (SELECT coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now),
    found AS (DELETE FROM "longshore".dead WHERE id = ANY (the_ids) RETURNING *),
    back AS (
      INSERT INTO "longshore".jobs (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, idempotency_key, schedule, facts, turn, rank, interrupted, cancel_requested, body)
      SELECT seq, id, queue, job, tenant_id, priority, created_at, now, 0, reports, progress, idempotency_key, schedule, facts, nextval('"longshore".turns'),
        now + priority * ageing, false, false, body FROM found, given
      RETURNING queue, rank, seq, ready_at, id)
    INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM back RETURNING queue
  $$;
CREATE FUNCTION longshore.revive_groups(now bigint, ids text[], groupings text[]) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    j "longshore".jobs;
  BEGIN
    INSERT INTO "longshore".grouped (id, seq, queue, name, ordering, state, lag)
    SELECT t.id, t.seq, t.queue, n.grouping::json ->> 'group', n.grouping::json ->> 'order', 3, t.rank - t.ready_at
    FROM unnest(ids, groupings) n (id, grouping) JOIN "longshore".jobs t ON t.id = n.id;
    PERFORM "longshore".mark_grouped(ARRAY(SELECT DISTINCT t.queue FROM "longshore".jobs t WHERE t.id = ANY (ids)));
    PERFORM "longshore".lock_groups(ids);
    FOR j IN SELECT t.* FROM "longshore".jobs t WHERE t.id = ANY (ids) ORDER BY t.seq LOOP
      PERFORM "longshore".wait_in_group(now, j);
    END LOOP;
    RETURN cardinality(ids);
  END $$;
CREATE FUNCTION longshore.settle(at bigint, p_ids text[], p_turns bigint[], p_which integer[], p_claims text[], p_reports text[], p_renewed text[], p_finished text[], p_keys text[], p_owners text[], p_vals text[], p_keeps bigint[], p_places integer[], p_kept integer[]) RETURNS integer[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    alive boolean[];
    grouped_too boolean;
    settled int[];
  BEGIN
    
  IF cardinality(p_ids) > 0 THEN
    grouped_too := "longshore".lock_ending(p_ids);
    alive := ARRAY(
      SELECT EXISTS (SELECT FROM "longshore".leases l WHERE l.claim = c.claim AND l.until + 0 > now OFFSET 0)
      FROM unnest(p_claims) WITH ORDINALITY c (claim, n) ORDER BY n);
    IF p_reports IS NULL THEN
      WITH gone AS (
        DELETE FROM "longshore".jobs j USING unnest(p_ids, p_turns, p_which) WITH ORDINALITY a (id, turn, which, n)
        WHERE j.id BETWEEN a.id AND a.id AND j.turn = a.turn AND coalesce(
          (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]), alive[a.which])
        RETURNING a.n)
      SELECT CASE WHEN count(*) < cardinality(p_ids) THEN coalesce(array_agg(n), '{}') END INTO settled FROM gone;
    ELSE
      WITH gone AS (
        DELETE FROM "longshore".jobs j USING unnest(p_ids, p_turns, p_which, p_reports) WITH ORDINALITY a (id, turn, which, report, n)
        WHERE j.id BETWEEN a.id AND a.id AND j.turn = a.turn AND coalesce(
          (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]), alive[a.which])
        RETURNING a.n, j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt + 1 AS attempt,
          j.reports || a.report AS reports, j.progress, j.idempotency_key, j.schedule, j.facts,
          CASE WHEN a.n = ANY (p_kept) THEN j.body END AS body),
      kept AS (
        INSERT INTO "longshore".history (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, idempotency_key, schedule, facts, body, ended, finished_at) SELECT seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, idempotency_key, schedule, facts, body, 2, now FROM gone)
      SELECT CASE WHEN count(*) < cardinality(p_ids) THEN coalesce(array_agg(n), '{}') END INTO settled FROM gone;
    END IF;
    IF cardinality(p_keys) > 0 THEN
      UPDATE "longshore".keys k SET owner = NULL, hold_until = 0, done = true, value = d.value, keep_until = now + d.keep
      FROM unnest(p_keys, p_owners, p_vals, p_keeps, p_places) d (key, owner, value, keep, n)
      WHERE k.key BETWEEN d.key AND d.key AND k.owner = d.owner AND (settled IS NULL OR d.n = ANY (settled));
    END IF;
    IF cardinality(p_renewed) > 0 THEN
      -- A renewal that has ended must stay: without it the claim's own end, which may be later, would count again.
      DELETE FROM "longshore".renewals r WHERE r.id = ANY (p_renewed) AND r.claim = ANY (p_claims)
        AND NOT EXISTS (SELECT FROM "longshore".jobs j WHERE j.id = r.id AND j.turn = r.turn OFFSET 0);
    END IF;
    IF EXISTS (SELECT FROM "longshore".waits) THEN
      PERFORM "longshore".tell_ends(CASE WHEN settled IS NULL THEN p_ids ELSE ARRAY(SELECT p_ids[n] FROM unnest(settled) n) END);
    END IF;
    IF grouped_too THEN
      PERFORM "longshore".end_groups(now, CASE WHEN settled IS NULL THEN p_ids ELSE ARRAY(SELECT p_ids[n] FROM unnest(settled) n) END);
    END IF;
  END IF;
  -- Not if anything failed: an expired lease that is not settled must be left for the reaper to find.
  IF cardinality(p_finished) > 0 AND settled IS NULL THEN
    DELETE FROM "longshore".leases l WHERE l.claim = ANY (p_finished);
  END IF;
    RETURN settled;
  END $$;
CREATE FUNCTION longshore.stats(at bigint, only_queue text) RETURNS TABLE(name text, ready bigint, delayed bigint, leased bigint, dead bigint, paused boolean, oldest bigint)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    AS $$
  #variable_conflict use_column
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    asked text[] := CASE WHEN only_queue IS NULL THEN ARRAY(SELECT n.name FROM "longshore".queues n) ELSE ARRAY[only_queue] END;
  BEGIN
    RETURN QUERY SELECT q.name,
      q.ready + due.count + greatest(line.count, CASE WHEN line.count = 10000 THEN q.grouped - (
        SELECT count(*) FROM "longshore".grouped g WHERE g.queue = q.name AND g.state <> 0) END),
      greatest(q.delayed - due.count, 0),
      (SELECT count(*) FROM (
        SELECT FROM "longshore".leases l CROSS JOIN LATERAL unnest(l.ids, l.turns) m (id, turn)
        JOIN "longshore".jobs j ON j.id BETWEEN m.id AND m.id AND j.turn = m.turn
        WHERE l.queue = q.name AND NOT EXISTS (SELECT FROM "longshore".renewals r WHERE r.id = m.id AND r.turn = m.turn OFFSET 0)
        LIMIT 10000) batched) +
      (SELECT count(*) FROM (
        SELECT FROM "longshore".renewals r JOIN "longshore".jobs j ON j.id BETWEEN r.id AND r.id AND j.turn = r.turn
        WHERE r.queue = q.name LIMIT 10000) renewed),
      q.dead,
      coalesce((SELECT p.paused FROM "longshore".queues p WHERE p.name = q.name), false),
      now - least(due.oldest, line.oldest, (
        SELECT min(foremost.ready_at) FROM (
          SELECT r.ready_at FROM "longshore".ready r WHERE r.queue = q.name ORDER BY r.queue, r.rank, r.seq LIMIT 1000) foremost))
    FROM unnest(asked, "longshore".count_queues('"longshore".ready', asked), "longshore".count_queues('"longshore".delayed', asked), "longshore".count_queues('"longshore".dead', asked),
      "longshore".count_queues('"longshore".grouped', asked)) AS q (name, ready, delayed, dead, grouped)
    CROSS JOIN LATERAL (
      SELECT count(*) AS count, min(promotable.ready_at) AS oldest FROM (
        SELECT d.ready_at FROM "longshore".delayed d WHERE d.queue = q.name AND d.ready_at <= now
        ORDER BY d.queue, d.ready_at LIMIT 10000) promotable) due
    CROSS JOIN LATERAL (
      SELECT (SELECT count(*) FROM (
        SELECT FROM "longshore".grouped g WHERE g.queue = q.name AND g.state = 0 ORDER BY g.queue, g.name LIMIT 10000) lined) AS count,
        (SELECT min(j.ready_at) FROM (
          SELECT g.id FROM "longshore".grouped g WHERE g.queue = q.name AND g.state = 0 ORDER BY g.queue, g.name LIMIT 1000) first
          JOIN "longshore".jobs j ON j.id BETWEEN first.id AND first.id) AS oldest) line
    ORDER BY q.name;
  END $$;
CREATE FUNCTION longshore.take_slots(at bigint, p_keys text[], p_holders text[], p_owners text[], p_queues text[], p_most integer[], p_holds bigint[], p_ranks double precision[], p_waiters text[]) RETURNS TABLE(place integer, taken boolean, most integer, largest integer, ahead integer, wait bigint)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
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
    
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'Expected a transaction that is READ COMMITTED' USING ERRCODE = 'LS001';
  END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(l.n) FROM (
    SELECT DISTINCT hashtextextended('longshore limit of "longshore" ' || k, 0) AS n FROM unnest(p_keys) k ORDER BY n) l;
  now := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    WITH found AS (
      SELECT u.* FROM (
        SELECT u.*, count(*) OVER (PARTITION BY u.key) AS times
        FROM unnest(p_keys, p_holders, p_owners, p_most, p_holds, p_waiters) WITH ORDINALITY
          u (key, holder, owner, wanted, hold, waiter, place)) u
      WHERE u.times = 1
        AND NOT EXISTS (SELECT FROM "longshore".limit_slots l WHERE l.key BETWEEN u.key AND u.key OFFSET 0)
        AND NOT EXISTS (SELECT FROM "longshore".limit_holds h WHERE h.key BETWEEN u.key AND u.key OFFSET 0)
        AND NOT EXISTS (SELECT FROM "longshore".limit_waiters w WHERE w.holder = u.waiter AND w.key = u.key OFFSET 0)),
    put AS (
      INSERT INTO "longshore".limit_slots (key, holder, owner, most, until) SELECT key, holder, owner, wanted, now + hold FROM found)
    SELECT coalesce(array_agg(u.place), '{}') INTO free FROM found u;
    RETURN QUERY SELECT n, true, p_most[n], p_most[n], NULL::int, NULL::bigint FROM unnest(free) n;
    IF cardinality(free) = cardinality(p_keys) THEN
      RETURN;
    END IF;
    FOR r IN
      SELECT a.*, f.*,
        EXISTS (SELECT FROM "longshore".limit_slots o WHERE o.key = a.key AND o.holder = a.holder AND o.until + 0 > now OFFSET 0) AS has_slot,
        EXISTS (SELECT FROM "longshore".limit_waiters w WHERE w.holder = a.waiter AND w.key = a.key OFFSET 0) AS waits,
        (SELECT h.until FROM "longshore".limit_holds h WHERE h.key = a.key AND h.until > now) AS held_until
      FROM (
        SELECT u.*, row_number() OVER (PARTITION BY u.key ORDER BY u.place) = 1 AS is_first
        FROM unnest(p_keys, p_holders, p_owners, p_queues, p_most, p_holds, p_ranks, p_waiters) WITH ORDINALITY
          u (key, holder, owner, queue, wanted, hold, rank, waiter, place)
        WHERE NOT (u.place = ANY (free))) a
      CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE l.until > now)::int AS in_use, min(l.most) FILTER (WHERE l.until > now) AS least_most,
          max(l.most) FILTER (WHERE l.until > now) AS most_most,
          min(l.until) FILTER (WHERE l.until > now) AS next_end, count(*) FILTER (WHERE l.until <= now) AS ended
        FROM "longshore".limit_slots l WHERE a.is_first AND l.key BETWEEN a.key AND a.key) f
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
          DELETE FROM "longshore".limit_slots d WHERE d.key = r.key AND NOT d.until + 0 > now;
        END IF;
      END IF;
      -- Its own slot does not stand in its way.
      IF r.has_slot OR recount THEN
        SELECT count(*), min(o.most), max(o.most), min(o.until) INTO used, smallest, greatest_most, first_end
        FROM "longshore".limit_slots o WHERE o.key = r.key AND o.holder <> r.holder AND o.until + 0 > now;
      END IF;
      place := r.place;
      most := least(r.wanted, smallest);
      largest := greatest(r.wanted, greatest_most);
      taken := used < most AND r.held_until IS NULL;
      recount := r.has_slot AND NOT taken;
      IF taken THEN
        INSERT INTO "longshore".limit_slots AS o (key, holder, owner, most, until) VALUES (r.key, r.holder, r.owner, r.wanted, now + r.hold)
        ON CONFLICT (key, holder) DO UPDATE SET owner = excluded.owner, most = excluded.most, until = excluded.until;
        IF r.waits THEN
          DELETE FROM "longshore".limit_waiters w WHERE w.holder = r.waiter AND w.key = r.key;
        END IF;
        used := used + 1;
        smallest := most;
        greatest_most := largest;
        first_end := least(first_end, now + r.hold);
      ELSE
        -- Behind one that has so many ahead there are as many.
        ahead := 1000;
        IF crowd IS NULL OR r.rank <= crowd THEN
          SELECT count(*) INTO ahead FROM (
            SELECT FROM "longshore".limit_waiters w WHERE w.key = r.key AND (w.rank, w.holder) < (r.rank, r.waiter)
              AND w.holder <> r.waiter AND w.until + 0 > now LIMIT 1000) counted;
          crowd := CASE WHEN ahead = 1000 THEN r.rank ELSE crowd END;
        END IF;
        begins := greatest(r.held_until, CASE WHEN used >= most THEN first_end END);
        wait := greatest(1, begins - now + ahead / most * r.hold);
        INSERT INTO "longshore".limit_waiters AS w (holder, key, queue, rank, most, until)
        VALUES (r.waiter, r.key, r.queue, r.rank, r.wanted, now + least(wait, 604800000) + 86400000)
        ON CONFLICT (holder, key) DO UPDATE SET
          queue = excluded.queue, rank = excluded.rank, most = excluded.most, until = excluded.until;
        IF begins >= 9007199254740991 THEN
          wait := NULL; -- not before a reset
        END IF;
      END IF;
      RETURN NEXT;
    END LOOP;
  END $$;
CREATE FUNCTION longshore.tell_ends(ids text[]) RETURNS integer
    LANGUAGE plpgsql
    AS $$
  DECLARE
    told int := 0;
  BEGIN
    IF EXISTS (SELECT FROM "longshore".waits) THEN
      PERFORM pg_notify(w.channel, w.id) FROM "longshore".waits w WHERE w.id = ANY (ids);
      GET DIAGNOSTICS told = ROW_COUNT;
    END IF;
    RETURN told;
  END $$;
CREATE FUNCTION longshore.try_groups(ids text[]) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
  DECLARE
    held int[];
  BEGIN
    held := ARRAY(SELECT l.n FROM "longshore".group_locks l WHERE l.n = ANY (ARRAY(
      SELECT hashtext(g.queue || ' ' || g.name) & 1023 FROM "longshore".grouped g WHERE g.id = ANY (ids))) ORDER BY l.n FOR UPDATE SKIP LOCKED);
    RETURN ARRAY(SELECT g.id FROM "longshore".grouped g WHERE g.id = ANY (ids) AND hashtext(g.queue || ' ' || g.name) & 1023 = ANY (held));
  END $$;
CREATE TABLE longshore.jobs (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    turn bigint NOT NULL,
    rank bigint NOT NULL,
    interrupted boolean NOT NULL,
    cancel_requested boolean NOT NULL,
    body text NOT NULL,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
CREATE FUNCTION longshore.wait_in_group(now bigint, j longshore.jobs) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
  DECLARE
    g "longshore".grouped;
    is_head boolean;
  BEGIN
    SELECT * INTO g FROM "longshore".grouped t WHERE t.id = j.id;
    IF NOT FOUND THEN
      RETURN false;
    ELSIF j.ready_at <= now THEN
      PERFORM "longshore".join_group(now, g, j.ready_at);
    ELSE
      is_head := coalesce(g.ordering, '') = 'wait' AND g.place IS NOT NULL
        AND NOT EXISTS (SELECT FROM "longshore".grouped t WHERE t.queue = g.queue AND t.name = g.name AND t.state = (SELECT 1::smallint));
      UPDATE "longshore".grouped SET state = CASE WHEN is_head THEN 1 ELSE 2 END,
        apart_until = CASE WHEN NOT is_head THEN j.ready_at END WHERE id = g.id;
      INSERT INTO "longshore".delayed (queue, ready_at, seq, rank, id) VALUES (j.queue, j.ready_at, j.seq, j.rank, j.id);
      PERFORM "longshore".advance_one(now, g.queue, g.name, g.entered_at);
    END IF;
    RETURN true;
  END $$;
CREATE FUNCTION longshore.wake_waiters(at bigint, the_key text, room bigint) RETURNS TABLE(key text, holder text, queue text)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  DECLARE
    now bigint;
  BEGIN
    
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'Expected a transaction that is READ COMMITTED' USING ERRCODE = 'LS001';
  END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_advisory_xact_lock(l.n) FROM (
    SELECT DISTINCT hashtextextended('longshore limit of "longshore" ' || k, 0) AS n FROM unnest(ARRAY[the_key]) k ORDER BY n) l;
  now := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    RETURN QUERY SELECT * FROM "longshore".next_waiters(now, the_key, room);
  END $$;
CREATE FUNCTION longshore.work(at bigint, p_ids text[], p_turns bigint[], p_which integer[], p_claims text[], p_reports text[], p_renewed text[], p_finished text[], p_keys text[], p_owners text[], p_vals text[], p_keeps bigint[], p_places integer[], p_kept integer[], wanted text[], most integer, lease_ms bigint, nonce text) RETURNS TABLE(id text, turn bigint, attempt integer, interrupted boolean, queue text, body text)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
  #variable_conflict use_column
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    alive boolean[];
    grouped_too boolean;
    settled int[];
    open text[];
    has_groups boolean;
    first_spots tid[];
    first_heads text[];
    is_blocked boolean;
    behind text[];
  BEGIN
    
  IF cardinality(p_ids) > 0 THEN
    grouped_too := "longshore".lock_ending(p_ids);
    alive := ARRAY(
      SELECT EXISTS (SELECT FROM "longshore".leases l WHERE l.claim = c.claim AND l.until + 0 > now OFFSET 0)
      FROM unnest(p_claims) WITH ORDINALITY c (claim, n) ORDER BY n);
    IF p_reports IS NULL THEN
      WITH gone AS (
        DELETE FROM "longshore".jobs j USING unnest(p_ids, p_turns, p_which) WITH ORDINALITY a (id, turn, which, n)
        WHERE j.id BETWEEN a.id AND a.id AND j.turn = a.turn AND coalesce(
          (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]), alive[a.which])
        RETURNING a.n)
      SELECT CASE WHEN count(*) < cardinality(p_ids) THEN coalesce(array_agg(n), '{}') END INTO settled FROM gone;
    ELSE
      WITH gone AS (
        DELETE FROM "longshore".jobs j USING unnest(p_ids, p_turns, p_which, p_reports) WITH ORDINALITY a (id, turn, which, report, n)
        WHERE j.id BETWEEN a.id AND a.id AND j.turn = a.turn AND coalesce(
          (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]), alive[a.which])
        RETURNING a.n, j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt + 1 AS attempt,
          j.reports || a.report AS reports, j.progress, j.idempotency_key, j.schedule, j.facts,
          CASE WHEN a.n = ANY (p_kept) THEN j.body END AS body),
      kept AS (
        INSERT INTO "longshore".history (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, idempotency_key, schedule, facts, body, ended, finished_at) SELECT seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, idempotency_key, schedule, facts, body, 2, now FROM gone)
      SELECT CASE WHEN count(*) < cardinality(p_ids) THEN coalesce(array_agg(n), '{}') END INTO settled FROM gone;
    END IF;
    IF cardinality(p_keys) > 0 THEN
      UPDATE "longshore".keys k SET owner = NULL, hold_until = 0, done = true, value = d.value, keep_until = now + d.keep
      FROM unnest(p_keys, p_owners, p_vals, p_keeps, p_places) d (key, owner, value, keep, n)
      WHERE k.key BETWEEN d.key AND d.key AND k.owner = d.owner AND (settled IS NULL OR d.n = ANY (settled));
    END IF;
    IF cardinality(p_renewed) > 0 THEN
      -- A renewal that has ended must stay: without it the claim's own end, which may be later, would count again.
      DELETE FROM "longshore".renewals r WHERE r.id = ANY (p_renewed) AND r.claim = ANY (p_claims)
        AND NOT EXISTS (SELECT FROM "longshore".jobs j WHERE j.id = r.id AND j.turn = r.turn OFFSET 0);
    END IF;
    IF EXISTS (SELECT FROM "longshore".waits) THEN
      PERFORM "longshore".tell_ends(CASE WHEN settled IS NULL THEN p_ids ELSE ARRAY(SELECT p_ids[n] FROM unnest(settled) n) END);
    END IF;
    IF grouped_too THEN
      PERFORM "longshore".end_groups(now, CASE WHEN settled IS NULL THEN p_ids ELSE ARRAY(SELECT p_ids[n] FROM unnest(settled) n) END);
    END IF;
  END IF;
  -- Not if anything failed: an expired lease that is not settled must be left for the reaper to find.
  IF cardinality(p_finished) > 0 AND settled IS NULL THEN
    DELETE FROM "longshore".leases l WHERE l.claim = ANY (p_finished);
  END IF;
    IF cardinality(p_ids) = 0 THEN
      -- A claim that a crash of the server takes back is a claim that never was. Settlements are durable.
      PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    IF EXISTS (SELECT FROM "longshore".delayed d WHERE d.queue = ANY (wanted) AND d.ready_at <= now) THEN
      PERFORM "longshore".promote_groups(now, wanted);
      WITH due AS (
        DELETE FROM "longshore".delayed WHERE ctid = ANY (ARRAY(
          SELECT d.ctid FROM "longshore".delayed d WHERE d.queue = ANY (wanted) AND d.ready_at <= now
            AND NOT EXISTS (SELECT FROM "longshore".grouped g WHERE g.id = d.id AND g.apart_until IS NOT NULL OFFSET 0)
          ORDER BY d.ready_at, d.seq LIMIT 1000 FOR UPDATE SKIP LOCKED))
        RETURNING queue, rank, seq, ready_at, id)
      INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM due;
    END IF;
    open := ARRAY(SELECT q FROM unnest(wanted) q
      WHERE NOT EXISTS (SELECT FROM "longshore".queues n WHERE n.name = q AND n.paused));
    has_groups := EXISTS (SELECT FROM "longshore".queues n WHERE n.name = ANY (open) AND n.grouped);
    IF has_groups THEN
      SELECT p.spots, p.heads, p.blocked INTO first_spots, first_heads, is_blocked FROM "longshore".pick(open, most) p;
    END IF;
    RETURN QUERY SELECT NULL::text, (
      SELECT CASE WHEN is_blocked THEN 1 ELSE min(d.ready_at) - now END FROM unnest(open) q (queue) CROSS JOIN LATERAL (
        SELECT d.ready_at FROM "longshore".delayed d WHERE d.queue = q.queue ORDER BY d.queue, d.ready_at LIMIT 1) d),
      NULL::int, NULL::boolean, NULL::text, settled::text;
    IF has_groups THEN
      IF first_heads IS NOT NULL THEN
        behind := "longshore".lease_heads(now, first_heads, most - cardinality(first_spots));
      END IF;
      
  RETURN QUERY WITH picked AS (
    DELETE FROM "longshore".ready WHERE ctid = ANY (first_spots) RETURNING 0::bigint AS n, id),
  taken AS MATERIALIZED (
    SELECT j.queue, j.rank, j.seq, j.id, j.turn, j.attempt + 1 AS attempt, j.interrupted, j.body
    FROM (SELECT * FROM picked UNION ALL SELECT b.n, b.id FROM unnest(behind) WITH ORDINALITY b (id, n)) p
    JOIN "longshore".jobs j ON j.id BETWEEN p.id AND p.id ORDER BY p.n, j.rank, j.seq),
  lease AS (
    INSERT INTO "longshore".leases (claim, queue, claimed_at, until, ids, turns)
    SELECT nonce, t.queue, now, now + lease_ms, array_agg(t.id), array_agg(t.turn) FROM taken t GROUP BY t.queue)
  SELECT t.id, t.turn, t.attempt, t.interrupted, t.queue, t.body FROM taken t;
    ELSIF cardinality(open) = 1 THEN
      
  RETURN QUERY WITH picked AS (
    DELETE FROM "longshore".ready WHERE ctid = ANY (ARRAY(SELECT r.ctid FROM "longshore".ready r WHERE r.queue = open[1] ORDER BY r.queue, r.rank, r.seq LIMIT most
          FOR UPDATE SKIP LOCKED)) RETURNING id),
  taken AS MATERIALIZED (
    SELECT j.queue, j.rank, j.seq, j.id, j.turn, j.attempt + 1 AS attempt, j.interrupted, j.body
    FROM picked p
    JOIN "longshore".jobs j ON j.id BETWEEN p.id AND p.id ORDER BY j.rank, j.seq),
  lease AS (
    INSERT INTO "longshore".leases (claim, queue, claimed_at, until, ids, turns)
    SELECT nonce, t.queue, now, now + lease_ms, array_agg(t.id), array_agg(t.turn) FROM taken t GROUP BY t.queue)
  SELECT t.id, t.turn, t.attempt, t.interrupted, t.queue, t.body FROM taken t;
    ELSIF cardinality(open) > 1 THEN
      -- How many each queue gives when the best of all are taken; then those are locked.
      
  RETURN QUERY WITH picked AS (
    DELETE FROM "longshore".ready WHERE ctid = ANY (ARRAY(SELECT spot.ctid FROM (
          SELECT f.queue, count(*) AS n FROM (
            SELECT q.queue FROM unnest(open) q (queue) CROSS JOIN LATERAL (
              SELECT r.rank, r.seq FROM "longshore".ready r WHERE r.queue = q.queue ORDER BY r.queue, r.rank, r.seq LIMIT most) r
            ORDER BY r.rank, r.seq LIMIT most) f
          GROUP BY f.queue) share
        CROSS JOIN LATERAL (
          SELECT r.ctid FROM "longshore".ready r WHERE r.queue = share.queue ORDER BY r.queue, r.rank, r.seq LIMIT share.n
          FOR UPDATE SKIP LOCKED) spot)) RETURNING id),
  taken AS MATERIALIZED (
    SELECT j.queue, j.rank, j.seq, j.id, j.turn, j.attempt + 1 AS attempt, j.interrupted, j.body
    FROM picked p
    JOIN "longshore".jobs j ON j.id BETWEEN p.id AND p.id ORDER BY j.rank, j.seq),
  lease AS (
    INSERT INTO "longshore".leases (claim, queue, claimed_at, until, ids, turns)
    SELECT nonce, t.queue, now, now + lease_ms, array_agg(t.id), array_agg(t.turn) FROM taken t GROUP BY t.queue)
  SELECT t.id, t.turn, t.attempt, t.interrupted, t.queue, t.body FROM taken t;
    END IF;
  END $$;
CREATE FUNCTION longshore.write_outbox(request text) RETURNS integer
    LANGUAGE plpgsql
    AS $$
  DECLARE
    r record;
    written int;
  BEGIN
    SELECT * INTO r FROM json_to_record(request::json) AS x (at bigint, target text, channel text, messages json);
    INSERT INTO "longshore".outbox (target, written_at, message)
    SELECT r.target, coalesce(r.at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), m.text
    FROM json_array_elements_text(r.messages) WITH ORDINALITY m (text, n) ORDER BY m.n;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF r.channel IS NOT NULL THEN
      PERFORM pg_notify(r.channel, r.target);
    END IF;
    RETURN written;
  END $$;
CREATE TABLE longshore.audit (
    at bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    entry text NOT NULL
);
CREATE TABLE longshore.batch_marks (
    batch text NOT NULL COLLATE pg_catalog."C",
    block integer NOT NULL,
    ended bit(1024) NOT NULL,
    failed bit(1024) NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
CREATE TABLE longshore.batches (
    id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    plan text NOT NULL,
    sender text NOT NULL,
    created_at bigint NOT NULL,
    sent bigint NOT NULL,
    planned bigint NOT NULL,
    sealed boolean NOT NULL,
    cancelled_at bigint,
    succeeded bigint NOT NULL,
    failed bigint NOT NULL,
    round integer NOT NULL,
    changed_at bigint NOT NULL,
    completed_at bigint,
    called boolean NOT NULL,
    look_at bigint
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
ALTER TABLE longshore.batches ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME longshore.batches_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE longshore.dead (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    body text NOT NULL,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    "grouping" text,
    keep_until bigint
);
CREATE TABLE longshore.delayed (
    queue text NOT NULL COLLATE pg_catalog."C",
    ready_at bigint NOT NULL,
    seq bigint NOT NULL,
    rank bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
CREATE TABLE longshore.group_locks (
    n integer NOT NULL
)
WITH (fillfactor='20');
CREATE TABLE longshore.history (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
)
PARTITION BY RANGE (finished_at);
CREATE TABLE longshore.history_20261125 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
);
CREATE TABLE longshore.history_20261126 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
);
CREATE TABLE longshore.history_20261127 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
);
CREATE TABLE longshore.history_20261128 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
);
CREATE TABLE longshore.history_20261129 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
);
CREATE TABLE longshore.history_20261130 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
);
CREATE TABLE longshore.history_20261201 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
);
CREATE TABLE longshore.history_20261202 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
);
CREATE TABLE longshore.history_20261203 (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
);
CREATE TABLE longshore.history_kept (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
);
CREATE TABLE longshore.history_other (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL,
    tenant_id text,
    priority smallint NOT NULL,
    created_at bigint NOT NULL,
    ready_at bigint NOT NULL,
    attempt integer NOT NULL,
    reports text NOT NULL,
    progress text,
    ended smallint NOT NULL,
    finished_at bigint NOT NULL,
    reason text,
    error text,
    idempotency_key text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    facts text,
    body text,
    keep_until bigint
);
CREATE TABLE longshore.keys (
    key text NOT NULL COLLATE pg_catalog."C",
    owner text,
    hold_until bigint NOT NULL,
    done boolean NOT NULL,
    value text,
    keep_until bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
CREATE TABLE longshore.leases (
    claim text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    claimed_at bigint NOT NULL,
    until bigint NOT NULL,
    ids text[] NOT NULL,
    turns bigint[] NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY longshore.leases ALTER COLUMN ids SET STORAGE EXTERNAL;
ALTER TABLE ONLY longshore.leases ALTER COLUMN turns SET STORAGE EXTERNAL;
CREATE TABLE longshore.limit_holds (
    key text NOT NULL COLLATE pg_catalog."C",
    until bigint NOT NULL
);
CREATE TABLE longshore.limit_slots (
    key text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL,
    most integer NOT NULL,
    until bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
CREATE TABLE longshore.limit_waiters (
    holder text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL,
    rank double precision NOT NULL,
    most integer NOT NULL,
    until bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
CREATE TABLE longshore.longshore (
    version integer NOT NULL
);
CREATE TABLE longshore.metrics (
    step text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000');
CREATE TABLE longshore.outbox (
    seq bigint NOT NULL,
    target text NOT NULL COLLATE pg_catalog."C",
    written_at bigint NOT NULL,
    message text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
CREATE TABLE longshore.outbox_refused (
    seq bigint NOT NULL,
    target text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL,
    queue text NOT NULL,
    written_at bigint NOT NULL,
    refused_at bigint NOT NULL,
    error text NOT NULL,
    message text NOT NULL
);
ALTER TABLE longshore.outbox ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME longshore.outbox_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE longshore.queues (
    name text NOT NULL COLLATE pg_catalog."C",
    paused boolean DEFAULT false NOT NULL,
    grouped boolean DEFAULT false NOT NULL
);
CREATE TABLE longshore.ready (
    queue text NOT NULL COLLATE pg_catalog."C",
    rank bigint NOT NULL,
    seq bigint NOT NULL,
    ready_at bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
CREATE TABLE longshore.records (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    job text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    finished_at bigint,
    guarded_until bigint NOT NULL,
    "row" text NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000');
ALTER TABLE longshore.records ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME longshore.records_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE longshore.renewals (
    id text NOT NULL COLLATE pg_catalog."C",
    turn bigint NOT NULL,
    claim text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    claimed_at bigint NOT NULL,
    until bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
CREATE TABLE longshore.schedules (
    name text NOT NULL COLLATE pg_catalog."C",
    next_at bigint,
    version text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000');
CREATE TABLE longshore.steps (
    name text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    ends_at bigint NOT NULL,
    text text NOT NULL
);
CREATE SEQUENCE longshore.turns
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE UNLOGGED TABLE longshore.waits (
    id text NOT NULL COLLATE pg_catalog."C",
    channel text NOT NULL COLLATE pg_catalog."C",
    until bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');
CREATE TABLE longshore.workers (
    id text NOT NULL COLLATE pg_catalog."C",
    seen_at bigint NOT NULL,
    beat text NOT NULL,
    drain boolean DEFAULT false NOT NULL
);
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261125 FOR VALUES FROM ('1795564800000') TO ('1795651200000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261126 FOR VALUES FROM ('1795651200000') TO ('1795737600000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261127 FOR VALUES FROM ('1795737600000') TO ('1795824000000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261128 FOR VALUES FROM ('1795824000000') TO ('1795910400000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261129 FOR VALUES FROM ('1795910400000') TO ('1795996800000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261130 FOR VALUES FROM ('1795996800000') TO ('1796083200000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261201 FOR VALUES FROM ('1796083200000') TO ('1796169600000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261202 FOR VALUES FROM ('1796169600000') TO ('1796256000000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261203 FOR VALUES FROM ('1796256000000') TO ('1796342400000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_kept FOR VALUES FROM ('4503599627370496') TO (MAXVALUE);
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_other DEFAULT;
INSERT INTO longshore.audit VALUES (1768478412833, 'id-15', '{"id":"id-15","at":1768478412833,"operation":"id-15","phase":"begun","actor":"anna","from":"cli host-1","action":"queue.pause","target":"quiet","count":null,"note":null}');
INSERT INTO longshore.audit VALUES (1768478412834, 'id-15.end', '{"id":"id-15.end","at":1768478412834,"operation":"id-15","phase":"done","actor":"anna","from":"cli host-1","action":"queue.pause","target":"quiet","count":null,"note":null}');
INSERT INTO longshore.audit VALUES (1768478412835, 'id-16', '{"id":"id-16","at":1768478412835,"operation":"id-16","phase":"begun","actor":"anna","from":"cli host-1","action":"job.pause","target":"report.print","count":null,"note":null}');
INSERT INTO longshore.audit VALUES (1768478412840, 'id-16.end', '{"id":"id-16.end","at":1768478412840,"operation":"id-16","phase":"done","actor":"anna","from":"cli host-1","action":"job.pause","target":"report.print","count":1,"note":null}');
INSERT INTO longshore.batch_marks VALUES ('called', 0, B'1100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000', B'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO longshore.batch_marks VALUES ('awaited', 0, B'1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000', B'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO longshore.batch_marks VALUES ('half', 0, B'1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000', B'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO longshore.batch_marks VALUES ('summed', 0, B'1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000', B'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO longshore.batch_marks VALUES ('uncalled', 0, B'1100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000', B'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO longshore.batch_marks VALUES ('chain.chain.2', 0, B'0100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000', B'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO longshore.batches OVERRIDING SYSTEM VALUE VALUES ('called', 1, '{"text":"{\"name\":\"called\",\"calls\":{\"onComplete\":\"import.done\"},\"allowFailures\":0,\"context\":null}","kid":"stored","sig":"c80856b548229034b8642a015760eff096c7d797355825dc15ebf807e433bb45"}', 'id-31', 1768478413139, 2, 2, true, NULL, 2, 0, 1, 1768478413696, 1768478413696, true, NULL);
INSERT INTO longshore.batches OVERRIDING SYSTEM VALUE VALUES ('awaited', 2, '{"text":"{\"name\":\"awaited\",\"calls\":{},\"allowFailures\":0,\"context\":null,\"results\":\"kept\"}","kid":"stored","sig":"77e8c63d32efbf1cadf378b0ad8843ef44e6277bb155ab0d736007429e805c50"}', 'id-32', 1768478413145, 2, 2, true, NULL, 1, 0, 1, 1768478413714, NULL, false, 1768478423147);
INSERT INTO longshore.batches OVERRIDING SYSTEM VALUE VALUES ('half', 3, '{"text":"{\"name\":\"half\",\"calls\":{\"onComplete\":\"import.done\"},\"allowFailures\":0,\"context\":null}","kid":"stored","sig":"b444f5dfdb4b6bc3e7f7231ac7fa45fe6adbe7bbf2d3c71dd0258342da707586"}', 'id-33', 1768478413149, 2, 2, true, NULL, 1, 0, 1, 1768478413714, NULL, false, 1768478423152);
INSERT INTO longshore.batches OVERRIDING SYSTEM VALUE VALUES ('summed', 4, '{"text":"{\"name\":\"summed\",\"calls\":{\"onResults\":\"import.sum\"},\"allowFailures\":0,\"context\":null,\"results\":\"until\"}","kid":"stored","sig":"bd6da872c67a3d93dce2532360af7e20a37bd3aa7791b9bc6bc853acb5e85a15"}', 'id-34', 1768478413153, 2, 2, true, NULL, 1, 0, 1, 1768478413721, NULL, false, 1768478423156);
INSERT INTO longshore.batches OVERRIDING SYSTEM VALUE VALUES ('uncalled', 5, '{"text":"{\"name\":\"uncalled\",\"calls\":{\"onComplete\":\"import.done\"},\"allowFailures\":0,\"context\":null}","kid":"stored","sig":"fe363b7a48e303b3eb2812629f0d5c2db5f05a26c3ae755c3521c4fbe9cac591"}', 'id-35', 1768478413157, 2, 2, true, NULL, 2, 0, 1, 1768478413730, 1768478413730, false, 1768478423730);
INSERT INTO longshore.batches OVERRIDING SYSTEM VALUE VALUES ('chain.chain.2', 6, '{"text":"{\"name\":\"chain.chain.2\",\"calls\":{},\"allowFailures\":0,\"context\":null,\"chain\":{\"id\":\"chain\",\"link\":2,\"links\":[{\"job\":\"text.first\"},[{\"job\":\"text.left\"},{\"job\":\"text.right\"}],{\"job\":\"text.last\"}]}}","kid":"stored","sig":"913ba51b167b7b847949d96e857ed10b36a9b8322826ae9c534ab5996aa371b7"}', 'id-37', 1768478413733, 2, 2, true, NULL, 1, 0, 1, 1768478413756, NULL, false, 1768478423745);
INSERT INTO longshore.batches OVERRIDING SYSTEM VALUE VALUES ('sending', 7, '{"text":"{\"name\":\"sending\",\"calls\":{\"onComplete\":\"import.done\"},\"allowFailures\":0,\"context\":null}","kid":"stored","sig":"94641d0e39f5e806b5e6963c539d2b5516a947c84cfa34afcb32562e2347921a"}', 'id-38', 1768478413822, 2, 2, false, NULL, 0, 0, 1, 1768478413833, NULL, false, 1768478423833);
INSERT INTO longshore.dead VALUES (15, 'id-19', 'mail', 'mail.send', NULL, 2, 1768478412851, 1768478412851, 1, '{"attempt":1,"startedAt":1768478413181,"endedAt":1768478413270,"outcome":"dead-lettered","error":{"code":"HANDLER","message":"There is no such address.","stack":"PermanentError: There is no such address."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', NULL, 3, 1768478413271, 'permanent', 'HANDLER: There is no such address.', '{"v":1,"job":"mail.send","payload":{"label":"dead"},"queue":"mail","priority":2,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-19","idempotencyKey":null,"schedule":null,"issuedAt":1768478412851,"expiresAt":null,"context":null,"kid":"stored","_sig":"dd78b3b9d4c17103f3038146206b7d80c746aee426b972771c5a160e34411c5a"}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.delayed VALUES ('mail', 1768482013344, 13, 1768500013344, 'id-18');
INSERT INTO longshore.delayed VALUES ('ledger', 1768482013369, 21, 1768500013369, 'id-24');
INSERT INTO longshore.delayed VALUES ('default', 1768482013439, 25, 1768500013439, 'id-26');
INSERT INTO longshore.delayed VALUES ('default', 1768482013439, 27, 1768500013439, 'id-27');
INSERT INTO longshore.delayed VALUES ('default', 1768496413633, 29, 1768514413633, 'id-28');
INSERT INTO longshore.delayed VALUES ('default', 1768482013649, 31, 1768500013649, 'id-29');
INSERT INTO longshore.delayed VALUES ('default', 1768482013678, 33, 1768500013678, 'id-30');
INSERT INTO longshore.delayed VALUES ('lines', 1768482013699, 39, 1768500013699, 'batch.awaited.1');
INSERT INTO longshore.delayed VALUES ('lines', 1768482013710, 42, 1768500013710, 'batch.half.1');
INSERT INTO longshore.delayed VALUES ('lines', 1768482013713, 45, 1768500013713, 'batch.summed.1');
INSERT INTO longshore.delayed VALUES ('default', 1768482013749, 64, 1768500013749, 'batch.chain.chain.2.0');
INSERT INTO longshore.delayed VALUES ('mail', 1768482013850, 77, 1768500013850, 'id-42');
INSERT INTO longshore.delayed VALUES ('default', 1768489213866, 85, 1768507213866, 'id-46');
INSERT INTO longshore.delayed VALUES ('default', 1768489213889, 87, 1768507213889, 'id-49');
INSERT INTO longshore.delayed VALUES ('shop', 1768492813376, 101, 1768510813376, 'id-60');
INSERT INTO longshore.delayed VALUES ('default', 1768479014073, 81, 1768497014073, 'id-44');
INSERT INTO longshore.delayed VALUES ('default', 1768507213634, 99, 1768525213634, 'id-59');
INSERT INTO longshore.delayed VALUES ('shop', 1768478444084, 110, 1768496444084, 'id-65');
INSERT INTO longshore.delayed VALUES ('shop', 1768478474088, 112, 1768496474088, 'id-66');
INSERT INTO longshore.group_locks VALUES (0);
INSERT INTO longshore.group_locks VALUES (1);
INSERT INTO longshore.group_locks VALUES (2);
INSERT INTO longshore.group_locks VALUES (3);
INSERT INTO longshore.group_locks VALUES (4);
INSERT INTO longshore.group_locks VALUES (5);
INSERT INTO longshore.group_locks VALUES (6);
INSERT INTO longshore.group_locks VALUES (7);
INSERT INTO longshore.group_locks VALUES (8);
INSERT INTO longshore.group_locks VALUES (9);
INSERT INTO longshore.group_locks VALUES (10);
INSERT INTO longshore.group_locks VALUES (11);
INSERT INTO longshore.group_locks VALUES (12);
INSERT INTO longshore.group_locks VALUES (13);
INSERT INTO longshore.group_locks VALUES (14);
INSERT INTO longshore.group_locks VALUES (15);
INSERT INTO longshore.group_locks VALUES (16);
INSERT INTO longshore.group_locks VALUES (17);
INSERT INTO longshore.group_locks VALUES (18);
INSERT INTO longshore.group_locks VALUES (19);
INSERT INTO longshore.group_locks VALUES (20);
INSERT INTO longshore.group_locks VALUES (21);
INSERT INTO longshore.group_locks VALUES (22);
INSERT INTO longshore.group_locks VALUES (23);
INSERT INTO longshore.group_locks VALUES (24);
INSERT INTO longshore.group_locks VALUES (25);
INSERT INTO longshore.group_locks VALUES (26);
INSERT INTO longshore.group_locks VALUES (27);
INSERT INTO longshore.group_locks VALUES (28);
INSERT INTO longshore.group_locks VALUES (29);
INSERT INTO longshore.group_locks VALUES (30);
INSERT INTO longshore.group_locks VALUES (31);
INSERT INTO longshore.group_locks VALUES (32);
INSERT INTO longshore.group_locks VALUES (33);
INSERT INTO longshore.group_locks VALUES (34);
INSERT INTO longshore.group_locks VALUES (35);
INSERT INTO longshore.group_locks VALUES (36);
INSERT INTO longshore.group_locks VALUES (37);
INSERT INTO longshore.group_locks VALUES (38);
INSERT INTO longshore.group_locks VALUES (39);
INSERT INTO longshore.group_locks VALUES (40);
INSERT INTO longshore.group_locks VALUES (41);
INSERT INTO longshore.group_locks VALUES (42);
INSERT INTO longshore.group_locks VALUES (43);
INSERT INTO longshore.group_locks VALUES (44);
INSERT INTO longshore.group_locks VALUES (45);
INSERT INTO longshore.group_locks VALUES (46);
INSERT INTO longshore.group_locks VALUES (47);
INSERT INTO longshore.group_locks VALUES (48);
INSERT INTO longshore.group_locks VALUES (49);
INSERT INTO longshore.group_locks VALUES (50);
INSERT INTO longshore.group_locks VALUES (51);
INSERT INTO longshore.group_locks VALUES (52);
INSERT INTO longshore.group_locks VALUES (53);
INSERT INTO longshore.group_locks VALUES (54);
INSERT INTO longshore.group_locks VALUES (55);
INSERT INTO longshore.group_locks VALUES (56);
INSERT INTO longshore.group_locks VALUES (57);
INSERT INTO longshore.group_locks VALUES (58);
INSERT INTO longshore.group_locks VALUES (59);
INSERT INTO longshore.group_locks VALUES (60);
INSERT INTO longshore.group_locks VALUES (61);
INSERT INTO longshore.group_locks VALUES (62);
INSERT INTO longshore.group_locks VALUES (63);
INSERT INTO longshore.group_locks VALUES (64);
INSERT INTO longshore.group_locks VALUES (65);
INSERT INTO longshore.group_locks VALUES (66);
INSERT INTO longshore.group_locks VALUES (67);
INSERT INTO longshore.group_locks VALUES (68);
INSERT INTO longshore.group_locks VALUES (69);
INSERT INTO longshore.group_locks VALUES (70);
INSERT INTO longshore.group_locks VALUES (71);
INSERT INTO longshore.group_locks VALUES (72);
INSERT INTO longshore.group_locks VALUES (73);
INSERT INTO longshore.group_locks VALUES (74);
INSERT INTO longshore.group_locks VALUES (75);
INSERT INTO longshore.group_locks VALUES (76);
INSERT INTO longshore.group_locks VALUES (77);
INSERT INTO longshore.group_locks VALUES (78);
INSERT INTO longshore.group_locks VALUES (79);
INSERT INTO longshore.group_locks VALUES (80);
INSERT INTO longshore.group_locks VALUES (81);
INSERT INTO longshore.group_locks VALUES (82);
INSERT INTO longshore.group_locks VALUES (83);
INSERT INTO longshore.group_locks VALUES (84);
INSERT INTO longshore.group_locks VALUES (85);
INSERT INTO longshore.group_locks VALUES (86);
INSERT INTO longshore.group_locks VALUES (87);
INSERT INTO longshore.group_locks VALUES (88);
INSERT INTO longshore.group_locks VALUES (89);
INSERT INTO longshore.group_locks VALUES (90);
INSERT INTO longshore.group_locks VALUES (91);
INSERT INTO longshore.group_locks VALUES (92);
INSERT INTO longshore.group_locks VALUES (93);
INSERT INTO longshore.group_locks VALUES (94);
INSERT INTO longshore.group_locks VALUES (95);
INSERT INTO longshore.group_locks VALUES (96);
INSERT INTO longshore.group_locks VALUES (97);
INSERT INTO longshore.group_locks VALUES (98);
INSERT INTO longshore.group_locks VALUES (99);
INSERT INTO longshore.group_locks VALUES (100);
INSERT INTO longshore.group_locks VALUES (101);
INSERT INTO longshore.group_locks VALUES (102);
INSERT INTO longshore.group_locks VALUES (103);
INSERT INTO longshore.group_locks VALUES (104);
INSERT INTO longshore.group_locks VALUES (105);
INSERT INTO longshore.group_locks VALUES (106);
INSERT INTO longshore.group_locks VALUES (107);
INSERT INTO longshore.group_locks VALUES (108);
INSERT INTO longshore.group_locks VALUES (109);
INSERT INTO longshore.group_locks VALUES (110);
INSERT INTO longshore.group_locks VALUES (111);
INSERT INTO longshore.group_locks VALUES (112);
INSERT INTO longshore.group_locks VALUES (113);
INSERT INTO longshore.group_locks VALUES (114);
INSERT INTO longshore.group_locks VALUES (115);
INSERT INTO longshore.group_locks VALUES (116);
INSERT INTO longshore.group_locks VALUES (117);
INSERT INTO longshore.group_locks VALUES (118);
INSERT INTO longshore.group_locks VALUES (119);
INSERT INTO longshore.group_locks VALUES (120);
INSERT INTO longshore.group_locks VALUES (121);
INSERT INTO longshore.group_locks VALUES (122);
INSERT INTO longshore.group_locks VALUES (123);
INSERT INTO longshore.group_locks VALUES (124);
INSERT INTO longshore.group_locks VALUES (125);
INSERT INTO longshore.group_locks VALUES (126);
INSERT INTO longshore.group_locks VALUES (127);
INSERT INTO longshore.group_locks VALUES (128);
INSERT INTO longshore.group_locks VALUES (129);
INSERT INTO longshore.group_locks VALUES (130);
INSERT INTO longshore.group_locks VALUES (131);
INSERT INTO longshore.group_locks VALUES (132);
INSERT INTO longshore.group_locks VALUES (133);
INSERT INTO longshore.group_locks VALUES (134);
INSERT INTO longshore.group_locks VALUES (135);
INSERT INTO longshore.group_locks VALUES (136);
INSERT INTO longshore.group_locks VALUES (137);
INSERT INTO longshore.group_locks VALUES (138);
INSERT INTO longshore.group_locks VALUES (139);
INSERT INTO longshore.group_locks VALUES (140);
INSERT INTO longshore.group_locks VALUES (141);
INSERT INTO longshore.group_locks VALUES (142);
INSERT INTO longshore.group_locks VALUES (143);
INSERT INTO longshore.group_locks VALUES (144);
INSERT INTO longshore.group_locks VALUES (145);
INSERT INTO longshore.group_locks VALUES (146);
INSERT INTO longshore.group_locks VALUES (147);
INSERT INTO longshore.group_locks VALUES (148);
INSERT INTO longshore.group_locks VALUES (149);
INSERT INTO longshore.group_locks VALUES (150);
INSERT INTO longshore.group_locks VALUES (151);
INSERT INTO longshore.group_locks VALUES (152);
INSERT INTO longshore.group_locks VALUES (153);
INSERT INTO longshore.group_locks VALUES (154);
INSERT INTO longshore.group_locks VALUES (155);
INSERT INTO longshore.group_locks VALUES (156);
INSERT INTO longshore.group_locks VALUES (157);
INSERT INTO longshore.group_locks VALUES (158);
INSERT INTO longshore.group_locks VALUES (159);
INSERT INTO longshore.group_locks VALUES (160);
INSERT INTO longshore.group_locks VALUES (161);
INSERT INTO longshore.group_locks VALUES (162);
INSERT INTO longshore.group_locks VALUES (163);
INSERT INTO longshore.group_locks VALUES (164);
INSERT INTO longshore.group_locks VALUES (165);
INSERT INTO longshore.group_locks VALUES (166);
INSERT INTO longshore.group_locks VALUES (167);
INSERT INTO longshore.group_locks VALUES (168);
INSERT INTO longshore.group_locks VALUES (169);
INSERT INTO longshore.group_locks VALUES (170);
INSERT INTO longshore.group_locks VALUES (171);
INSERT INTO longshore.group_locks VALUES (172);
INSERT INTO longshore.group_locks VALUES (173);
INSERT INTO longshore.group_locks VALUES (174);
INSERT INTO longshore.group_locks VALUES (175);
INSERT INTO longshore.group_locks VALUES (176);
INSERT INTO longshore.group_locks VALUES (177);
INSERT INTO longshore.group_locks VALUES (178);
INSERT INTO longshore.group_locks VALUES (179);
INSERT INTO longshore.group_locks VALUES (180);
INSERT INTO longshore.group_locks VALUES (181);
INSERT INTO longshore.group_locks VALUES (182);
INSERT INTO longshore.group_locks VALUES (183);
INSERT INTO longshore.group_locks VALUES (184);
INSERT INTO longshore.group_locks VALUES (185);
INSERT INTO longshore.group_locks VALUES (186);
INSERT INTO longshore.group_locks VALUES (187);
INSERT INTO longshore.group_locks VALUES (188);
INSERT INTO longshore.group_locks VALUES (189);
INSERT INTO longshore.group_locks VALUES (190);
INSERT INTO longshore.group_locks VALUES (191);
INSERT INTO longshore.group_locks VALUES (192);
INSERT INTO longshore.group_locks VALUES (193);
INSERT INTO longshore.group_locks VALUES (194);
INSERT INTO longshore.group_locks VALUES (195);
INSERT INTO longshore.group_locks VALUES (196);
INSERT INTO longshore.group_locks VALUES (197);
INSERT INTO longshore.group_locks VALUES (198);
INSERT INTO longshore.group_locks VALUES (199);
INSERT INTO longshore.group_locks VALUES (200);
INSERT INTO longshore.group_locks VALUES (201);
INSERT INTO longshore.group_locks VALUES (202);
INSERT INTO longshore.group_locks VALUES (203);
INSERT INTO longshore.group_locks VALUES (204);
INSERT INTO longshore.group_locks VALUES (205);
INSERT INTO longshore.group_locks VALUES (206);
INSERT INTO longshore.group_locks VALUES (207);
INSERT INTO longshore.group_locks VALUES (208);
INSERT INTO longshore.group_locks VALUES (209);
INSERT INTO longshore.group_locks VALUES (210);
INSERT INTO longshore.group_locks VALUES (211);
INSERT INTO longshore.group_locks VALUES (212);
INSERT INTO longshore.group_locks VALUES (213);
INSERT INTO longshore.group_locks VALUES (214);
INSERT INTO longshore.group_locks VALUES (215);
INSERT INTO longshore.group_locks VALUES (216);
INSERT INTO longshore.group_locks VALUES (217);
INSERT INTO longshore.group_locks VALUES (218);
INSERT INTO longshore.group_locks VALUES (219);
INSERT INTO longshore.group_locks VALUES (220);
INSERT INTO longshore.group_locks VALUES (221);
INSERT INTO longshore.group_locks VALUES (222);
INSERT INTO longshore.group_locks VALUES (223);
INSERT INTO longshore.group_locks VALUES (224);
INSERT INTO longshore.group_locks VALUES (225);
INSERT INTO longshore.group_locks VALUES (226);
INSERT INTO longshore.group_locks VALUES (227);
INSERT INTO longshore.group_locks VALUES (228);
INSERT INTO longshore.group_locks VALUES (229);
INSERT INTO longshore.group_locks VALUES (230);
INSERT INTO longshore.group_locks VALUES (231);
INSERT INTO longshore.group_locks VALUES (232);
INSERT INTO longshore.group_locks VALUES (233);
INSERT INTO longshore.group_locks VALUES (234);
INSERT INTO longshore.group_locks VALUES (235);
INSERT INTO longshore.group_locks VALUES (236);
INSERT INTO longshore.group_locks VALUES (237);
INSERT INTO longshore.group_locks VALUES (238);
INSERT INTO longshore.group_locks VALUES (239);
INSERT INTO longshore.group_locks VALUES (240);
INSERT INTO longshore.group_locks VALUES (241);
INSERT INTO longshore.group_locks VALUES (242);
INSERT INTO longshore.group_locks VALUES (243);
INSERT INTO longshore.group_locks VALUES (244);
INSERT INTO longshore.group_locks VALUES (245);
INSERT INTO longshore.group_locks VALUES (246);
INSERT INTO longshore.group_locks VALUES (247);
INSERT INTO longshore.group_locks VALUES (248);
INSERT INTO longshore.group_locks VALUES (249);
INSERT INTO longshore.group_locks VALUES (250);
INSERT INTO longshore.group_locks VALUES (251);
INSERT INTO longshore.group_locks VALUES (252);
INSERT INTO longshore.group_locks VALUES (253);
INSERT INTO longshore.group_locks VALUES (254);
INSERT INTO longshore.group_locks VALUES (255);
INSERT INTO longshore.group_locks VALUES (256);
INSERT INTO longshore.group_locks VALUES (257);
INSERT INTO longshore.group_locks VALUES (258);
INSERT INTO longshore.group_locks VALUES (259);
INSERT INTO longshore.group_locks VALUES (260);
INSERT INTO longshore.group_locks VALUES (261);
INSERT INTO longshore.group_locks VALUES (262);
INSERT INTO longshore.group_locks VALUES (263);
INSERT INTO longshore.group_locks VALUES (264);
INSERT INTO longshore.group_locks VALUES (265);
INSERT INTO longshore.group_locks VALUES (266);
INSERT INTO longshore.group_locks VALUES (267);
INSERT INTO longshore.group_locks VALUES (268);
INSERT INTO longshore.group_locks VALUES (269);
INSERT INTO longshore.group_locks VALUES (270);
INSERT INTO longshore.group_locks VALUES (271);
INSERT INTO longshore.group_locks VALUES (272);
INSERT INTO longshore.group_locks VALUES (273);
INSERT INTO longshore.group_locks VALUES (274);
INSERT INTO longshore.group_locks VALUES (275);
INSERT INTO longshore.group_locks VALUES (276);
INSERT INTO longshore.group_locks VALUES (277);
INSERT INTO longshore.group_locks VALUES (278);
INSERT INTO longshore.group_locks VALUES (279);
INSERT INTO longshore.group_locks VALUES (280);
INSERT INTO longshore.group_locks VALUES (281);
INSERT INTO longshore.group_locks VALUES (282);
INSERT INTO longshore.group_locks VALUES (283);
INSERT INTO longshore.group_locks VALUES (284);
INSERT INTO longshore.group_locks VALUES (285);
INSERT INTO longshore.group_locks VALUES (286);
INSERT INTO longshore.group_locks VALUES (287);
INSERT INTO longshore.group_locks VALUES (288);
INSERT INTO longshore.group_locks VALUES (289);
INSERT INTO longshore.group_locks VALUES (290);
INSERT INTO longshore.group_locks VALUES (291);
INSERT INTO longshore.group_locks VALUES (292);
INSERT INTO longshore.group_locks VALUES (293);
INSERT INTO longshore.group_locks VALUES (294);
INSERT INTO longshore.group_locks VALUES (295);
INSERT INTO longshore.group_locks VALUES (296);
INSERT INTO longshore.group_locks VALUES (297);
INSERT INTO longshore.group_locks VALUES (298);
INSERT INTO longshore.group_locks VALUES (299);
INSERT INTO longshore.group_locks VALUES (300);
INSERT INTO longshore.group_locks VALUES (301);
INSERT INTO longshore.group_locks VALUES (302);
INSERT INTO longshore.group_locks VALUES (303);
INSERT INTO longshore.group_locks VALUES (304);
INSERT INTO longshore.group_locks VALUES (305);
INSERT INTO longshore.group_locks VALUES (306);
INSERT INTO longshore.group_locks VALUES (307);
INSERT INTO longshore.group_locks VALUES (308);
INSERT INTO longshore.group_locks VALUES (309);
INSERT INTO longshore.group_locks VALUES (310);
INSERT INTO longshore.group_locks VALUES (311);
INSERT INTO longshore.group_locks VALUES (312);
INSERT INTO longshore.group_locks VALUES (313);
INSERT INTO longshore.group_locks VALUES (314);
INSERT INTO longshore.group_locks VALUES (315);
INSERT INTO longshore.group_locks VALUES (316);
INSERT INTO longshore.group_locks VALUES (317);
INSERT INTO longshore.group_locks VALUES (318);
INSERT INTO longshore.group_locks VALUES (319);
INSERT INTO longshore.group_locks VALUES (320);
INSERT INTO longshore.group_locks VALUES (321);
INSERT INTO longshore.group_locks VALUES (322);
INSERT INTO longshore.group_locks VALUES (323);
INSERT INTO longshore.group_locks VALUES (324);
INSERT INTO longshore.group_locks VALUES (325);
INSERT INTO longshore.group_locks VALUES (326);
INSERT INTO longshore.group_locks VALUES (327);
INSERT INTO longshore.group_locks VALUES (328);
INSERT INTO longshore.group_locks VALUES (329);
INSERT INTO longshore.group_locks VALUES (330);
INSERT INTO longshore.group_locks VALUES (331);
INSERT INTO longshore.group_locks VALUES (332);
INSERT INTO longshore.group_locks VALUES (333);
INSERT INTO longshore.group_locks VALUES (334);
INSERT INTO longshore.group_locks VALUES (335);
INSERT INTO longshore.group_locks VALUES (336);
INSERT INTO longshore.group_locks VALUES (337);
INSERT INTO longshore.group_locks VALUES (338);
INSERT INTO longshore.group_locks VALUES (339);
INSERT INTO longshore.group_locks VALUES (340);
INSERT INTO longshore.group_locks VALUES (341);
INSERT INTO longshore.group_locks VALUES (342);
INSERT INTO longshore.group_locks VALUES (343);
INSERT INTO longshore.group_locks VALUES (344);
INSERT INTO longshore.group_locks VALUES (345);
INSERT INTO longshore.group_locks VALUES (346);
INSERT INTO longshore.group_locks VALUES (347);
INSERT INTO longshore.group_locks VALUES (348);
INSERT INTO longshore.group_locks VALUES (349);
INSERT INTO longshore.group_locks VALUES (350);
INSERT INTO longshore.group_locks VALUES (351);
INSERT INTO longshore.group_locks VALUES (352);
INSERT INTO longshore.group_locks VALUES (353);
INSERT INTO longshore.group_locks VALUES (354);
INSERT INTO longshore.group_locks VALUES (355);
INSERT INTO longshore.group_locks VALUES (356);
INSERT INTO longshore.group_locks VALUES (357);
INSERT INTO longshore.group_locks VALUES (358);
INSERT INTO longshore.group_locks VALUES (359);
INSERT INTO longshore.group_locks VALUES (360);
INSERT INTO longshore.group_locks VALUES (361);
INSERT INTO longshore.group_locks VALUES (362);
INSERT INTO longshore.group_locks VALUES (363);
INSERT INTO longshore.group_locks VALUES (364);
INSERT INTO longshore.group_locks VALUES (365);
INSERT INTO longshore.group_locks VALUES (366);
INSERT INTO longshore.group_locks VALUES (367);
INSERT INTO longshore.group_locks VALUES (368);
INSERT INTO longshore.group_locks VALUES (369);
INSERT INTO longshore.group_locks VALUES (370);
INSERT INTO longshore.group_locks VALUES (371);
INSERT INTO longshore.group_locks VALUES (372);
INSERT INTO longshore.group_locks VALUES (373);
INSERT INTO longshore.group_locks VALUES (374);
INSERT INTO longshore.group_locks VALUES (375);
INSERT INTO longshore.group_locks VALUES (376);
INSERT INTO longshore.group_locks VALUES (377);
INSERT INTO longshore.group_locks VALUES (378);
INSERT INTO longshore.group_locks VALUES (379);
INSERT INTO longshore.group_locks VALUES (380);
INSERT INTO longshore.group_locks VALUES (381);
INSERT INTO longshore.group_locks VALUES (382);
INSERT INTO longshore.group_locks VALUES (383);
INSERT INTO longshore.group_locks VALUES (384);
INSERT INTO longshore.group_locks VALUES (385);
INSERT INTO longshore.group_locks VALUES (386);
INSERT INTO longshore.group_locks VALUES (387);
INSERT INTO longshore.group_locks VALUES (388);
INSERT INTO longshore.group_locks VALUES (389);
INSERT INTO longshore.group_locks VALUES (390);
INSERT INTO longshore.group_locks VALUES (391);
INSERT INTO longshore.group_locks VALUES (392);
INSERT INTO longshore.group_locks VALUES (393);
INSERT INTO longshore.group_locks VALUES (394);
INSERT INTO longshore.group_locks VALUES (395);
INSERT INTO longshore.group_locks VALUES (396);
INSERT INTO longshore.group_locks VALUES (397);
INSERT INTO longshore.group_locks VALUES (398);
INSERT INTO longshore.group_locks VALUES (399);
INSERT INTO longshore.group_locks VALUES (400);
INSERT INTO longshore.group_locks VALUES (401);
INSERT INTO longshore.group_locks VALUES (402);
INSERT INTO longshore.group_locks VALUES (403);
INSERT INTO longshore.group_locks VALUES (404);
INSERT INTO longshore.group_locks VALUES (405);
INSERT INTO longshore.group_locks VALUES (406);
INSERT INTO longshore.group_locks VALUES (407);
INSERT INTO longshore.group_locks VALUES (408);
INSERT INTO longshore.group_locks VALUES (409);
INSERT INTO longshore.group_locks VALUES (410);
INSERT INTO longshore.group_locks VALUES (411);
INSERT INTO longshore.group_locks VALUES (412);
INSERT INTO longshore.group_locks VALUES (413);
INSERT INTO longshore.group_locks VALUES (414);
INSERT INTO longshore.group_locks VALUES (415);
INSERT INTO longshore.group_locks VALUES (416);
INSERT INTO longshore.group_locks VALUES (417);
INSERT INTO longshore.group_locks VALUES (418);
INSERT INTO longshore.group_locks VALUES (419);
INSERT INTO longshore.group_locks VALUES (420);
INSERT INTO longshore.group_locks VALUES (421);
INSERT INTO longshore.group_locks VALUES (422);
INSERT INTO longshore.group_locks VALUES (423);
INSERT INTO longshore.group_locks VALUES (424);
INSERT INTO longshore.group_locks VALUES (425);
INSERT INTO longshore.group_locks VALUES (426);
INSERT INTO longshore.group_locks VALUES (427);
INSERT INTO longshore.group_locks VALUES (428);
INSERT INTO longshore.group_locks VALUES (429);
INSERT INTO longshore.group_locks VALUES (430);
INSERT INTO longshore.group_locks VALUES (431);
INSERT INTO longshore.group_locks VALUES (432);
INSERT INTO longshore.group_locks VALUES (433);
INSERT INTO longshore.group_locks VALUES (434);
INSERT INTO longshore.group_locks VALUES (435);
INSERT INTO longshore.group_locks VALUES (436);
INSERT INTO longshore.group_locks VALUES (437);
INSERT INTO longshore.group_locks VALUES (438);
INSERT INTO longshore.group_locks VALUES (439);
INSERT INTO longshore.group_locks VALUES (440);
INSERT INTO longshore.group_locks VALUES (441);
INSERT INTO longshore.group_locks VALUES (442);
INSERT INTO longshore.group_locks VALUES (443);
INSERT INTO longshore.group_locks VALUES (444);
INSERT INTO longshore.group_locks VALUES (445);
INSERT INTO longshore.group_locks VALUES (446);
INSERT INTO longshore.group_locks VALUES (447);
INSERT INTO longshore.group_locks VALUES (448);
INSERT INTO longshore.group_locks VALUES (449);
INSERT INTO longshore.group_locks VALUES (450);
INSERT INTO longshore.group_locks VALUES (451);
INSERT INTO longshore.group_locks VALUES (452);
INSERT INTO longshore.group_locks VALUES (453);
INSERT INTO longshore.group_locks VALUES (454);
INSERT INTO longshore.group_locks VALUES (455);
INSERT INTO longshore.group_locks VALUES (456);
INSERT INTO longshore.group_locks VALUES (457);
INSERT INTO longshore.group_locks VALUES (458);
INSERT INTO longshore.group_locks VALUES (459);
INSERT INTO longshore.group_locks VALUES (460);
INSERT INTO longshore.group_locks VALUES (461);
INSERT INTO longshore.group_locks VALUES (462);
INSERT INTO longshore.group_locks VALUES (463);
INSERT INTO longshore.group_locks VALUES (464);
INSERT INTO longshore.group_locks VALUES (465);
INSERT INTO longshore.group_locks VALUES (466);
INSERT INTO longshore.group_locks VALUES (467);
INSERT INTO longshore.group_locks VALUES (468);
INSERT INTO longshore.group_locks VALUES (469);
INSERT INTO longshore.group_locks VALUES (470);
INSERT INTO longshore.group_locks VALUES (471);
INSERT INTO longshore.group_locks VALUES (472);
INSERT INTO longshore.group_locks VALUES (473);
INSERT INTO longshore.group_locks VALUES (474);
INSERT INTO longshore.group_locks VALUES (475);
INSERT INTO longshore.group_locks VALUES (476);
INSERT INTO longshore.group_locks VALUES (477);
INSERT INTO longshore.group_locks VALUES (478);
INSERT INTO longshore.group_locks VALUES (479);
INSERT INTO longshore.group_locks VALUES (480);
INSERT INTO longshore.group_locks VALUES (481);
INSERT INTO longshore.group_locks VALUES (482);
INSERT INTO longshore.group_locks VALUES (483);
INSERT INTO longshore.group_locks VALUES (484);
INSERT INTO longshore.group_locks VALUES (485);
INSERT INTO longshore.group_locks VALUES (486);
INSERT INTO longshore.group_locks VALUES (487);
INSERT INTO longshore.group_locks VALUES (488);
INSERT INTO longshore.group_locks VALUES (489);
INSERT INTO longshore.group_locks VALUES (490);
INSERT INTO longshore.group_locks VALUES (491);
INSERT INTO longshore.group_locks VALUES (492);
INSERT INTO longshore.group_locks VALUES (493);
INSERT INTO longshore.group_locks VALUES (494);
INSERT INTO longshore.group_locks VALUES (495);
INSERT INTO longshore.group_locks VALUES (496);
INSERT INTO longshore.group_locks VALUES (497);
INSERT INTO longshore.group_locks VALUES (498);
INSERT INTO longshore.group_locks VALUES (499);
INSERT INTO longshore.group_locks VALUES (500);
INSERT INTO longshore.group_locks VALUES (501);
INSERT INTO longshore.group_locks VALUES (502);
INSERT INTO longshore.group_locks VALUES (503);
INSERT INTO longshore.group_locks VALUES (504);
INSERT INTO longshore.group_locks VALUES (505);
INSERT INTO longshore.group_locks VALUES (506);
INSERT INTO longshore.group_locks VALUES (507);
INSERT INTO longshore.group_locks VALUES (508);
INSERT INTO longshore.group_locks VALUES (509);
INSERT INTO longshore.group_locks VALUES (510);
INSERT INTO longshore.group_locks VALUES (511);
INSERT INTO longshore.group_locks VALUES (512);
INSERT INTO longshore.group_locks VALUES (513);
INSERT INTO longshore.group_locks VALUES (514);
INSERT INTO longshore.group_locks VALUES (515);
INSERT INTO longshore.group_locks VALUES (516);
INSERT INTO longshore.group_locks VALUES (517);
INSERT INTO longshore.group_locks VALUES (518);
INSERT INTO longshore.group_locks VALUES (519);
INSERT INTO longshore.group_locks VALUES (520);
INSERT INTO longshore.group_locks VALUES (521);
INSERT INTO longshore.group_locks VALUES (522);
INSERT INTO longshore.group_locks VALUES (523);
INSERT INTO longshore.group_locks VALUES (524);
INSERT INTO longshore.group_locks VALUES (525);
INSERT INTO longshore.group_locks VALUES (526);
INSERT INTO longshore.group_locks VALUES (527);
INSERT INTO longshore.group_locks VALUES (528);
INSERT INTO longshore.group_locks VALUES (529);
INSERT INTO longshore.group_locks VALUES (530);
INSERT INTO longshore.group_locks VALUES (531);
INSERT INTO longshore.group_locks VALUES (532);
INSERT INTO longshore.group_locks VALUES (533);
INSERT INTO longshore.group_locks VALUES (534);
INSERT INTO longshore.group_locks VALUES (535);
INSERT INTO longshore.group_locks VALUES (536);
INSERT INTO longshore.group_locks VALUES (537);
INSERT INTO longshore.group_locks VALUES (538);
INSERT INTO longshore.group_locks VALUES (539);
INSERT INTO longshore.group_locks VALUES (540);
INSERT INTO longshore.group_locks VALUES (541);
INSERT INTO longshore.group_locks VALUES (542);
INSERT INTO longshore.group_locks VALUES (543);
INSERT INTO longshore.group_locks VALUES (544);
INSERT INTO longshore.group_locks VALUES (545);
INSERT INTO longshore.group_locks VALUES (546);
INSERT INTO longshore.group_locks VALUES (547);
INSERT INTO longshore.group_locks VALUES (548);
INSERT INTO longshore.group_locks VALUES (549);
INSERT INTO longshore.group_locks VALUES (550);
INSERT INTO longshore.group_locks VALUES (551);
INSERT INTO longshore.group_locks VALUES (552);
INSERT INTO longshore.group_locks VALUES (553);
INSERT INTO longshore.group_locks VALUES (554);
INSERT INTO longshore.group_locks VALUES (555);
INSERT INTO longshore.group_locks VALUES (556);
INSERT INTO longshore.group_locks VALUES (557);
INSERT INTO longshore.group_locks VALUES (558);
INSERT INTO longshore.group_locks VALUES (559);
INSERT INTO longshore.group_locks VALUES (560);
INSERT INTO longshore.group_locks VALUES (561);
INSERT INTO longshore.group_locks VALUES (562);
INSERT INTO longshore.group_locks VALUES (563);
INSERT INTO longshore.group_locks VALUES (564);
INSERT INTO longshore.group_locks VALUES (565);
INSERT INTO longshore.group_locks VALUES (566);
INSERT INTO longshore.group_locks VALUES (567);
INSERT INTO longshore.group_locks VALUES (568);
INSERT INTO longshore.group_locks VALUES (569);
INSERT INTO longshore.group_locks VALUES (570);
INSERT INTO longshore.group_locks VALUES (571);
INSERT INTO longshore.group_locks VALUES (572);
INSERT INTO longshore.group_locks VALUES (573);
INSERT INTO longshore.group_locks VALUES (574);
INSERT INTO longshore.group_locks VALUES (575);
INSERT INTO longshore.group_locks VALUES (576);
INSERT INTO longshore.group_locks VALUES (577);
INSERT INTO longshore.group_locks VALUES (578);
INSERT INTO longshore.group_locks VALUES (579);
INSERT INTO longshore.group_locks VALUES (580);
INSERT INTO longshore.group_locks VALUES (581);
INSERT INTO longshore.group_locks VALUES (582);
INSERT INTO longshore.group_locks VALUES (583);
INSERT INTO longshore.group_locks VALUES (584);
INSERT INTO longshore.group_locks VALUES (585);
INSERT INTO longshore.group_locks VALUES (586);
INSERT INTO longshore.group_locks VALUES (587);
INSERT INTO longshore.group_locks VALUES (588);
INSERT INTO longshore.group_locks VALUES (589);
INSERT INTO longshore.group_locks VALUES (590);
INSERT INTO longshore.group_locks VALUES (591);
INSERT INTO longshore.group_locks VALUES (592);
INSERT INTO longshore.group_locks VALUES (593);
INSERT INTO longshore.group_locks VALUES (594);
INSERT INTO longshore.group_locks VALUES (595);
INSERT INTO longshore.group_locks VALUES (596);
INSERT INTO longshore.group_locks VALUES (597);
INSERT INTO longshore.group_locks VALUES (598);
INSERT INTO longshore.group_locks VALUES (599);
INSERT INTO longshore.group_locks VALUES (600);
INSERT INTO longshore.group_locks VALUES (601);
INSERT INTO longshore.group_locks VALUES (602);
INSERT INTO longshore.group_locks VALUES (603);
INSERT INTO longshore.group_locks VALUES (604);
INSERT INTO longshore.group_locks VALUES (605);
INSERT INTO longshore.group_locks VALUES (606);
INSERT INTO longshore.group_locks VALUES (607);
INSERT INTO longshore.group_locks VALUES (608);
INSERT INTO longshore.group_locks VALUES (609);
INSERT INTO longshore.group_locks VALUES (610);
INSERT INTO longshore.group_locks VALUES (611);
INSERT INTO longshore.group_locks VALUES (612);
INSERT INTO longshore.group_locks VALUES (613);
INSERT INTO longshore.group_locks VALUES (614);
INSERT INTO longshore.group_locks VALUES (615);
INSERT INTO longshore.group_locks VALUES (616);
INSERT INTO longshore.group_locks VALUES (617);
INSERT INTO longshore.group_locks VALUES (618);
INSERT INTO longshore.group_locks VALUES (619);
INSERT INTO longshore.group_locks VALUES (620);
INSERT INTO longshore.group_locks VALUES (621);
INSERT INTO longshore.group_locks VALUES (622);
INSERT INTO longshore.group_locks VALUES (623);
INSERT INTO longshore.group_locks VALUES (624);
INSERT INTO longshore.group_locks VALUES (625);
INSERT INTO longshore.group_locks VALUES (626);
INSERT INTO longshore.group_locks VALUES (627);
INSERT INTO longshore.group_locks VALUES (628);
INSERT INTO longshore.group_locks VALUES (629);
INSERT INTO longshore.group_locks VALUES (630);
INSERT INTO longshore.group_locks VALUES (631);
INSERT INTO longshore.group_locks VALUES (632);
INSERT INTO longshore.group_locks VALUES (633);
INSERT INTO longshore.group_locks VALUES (634);
INSERT INTO longshore.group_locks VALUES (635);
INSERT INTO longshore.group_locks VALUES (636);
INSERT INTO longshore.group_locks VALUES (637);
INSERT INTO longshore.group_locks VALUES (638);
INSERT INTO longshore.group_locks VALUES (639);
INSERT INTO longshore.group_locks VALUES (640);
INSERT INTO longshore.group_locks VALUES (641);
INSERT INTO longshore.group_locks VALUES (642);
INSERT INTO longshore.group_locks VALUES (643);
INSERT INTO longshore.group_locks VALUES (644);
INSERT INTO longshore.group_locks VALUES (645);
INSERT INTO longshore.group_locks VALUES (646);
INSERT INTO longshore.group_locks VALUES (647);
INSERT INTO longshore.group_locks VALUES (648);
INSERT INTO longshore.group_locks VALUES (649);
INSERT INTO longshore.group_locks VALUES (650);
INSERT INTO longshore.group_locks VALUES (651);
INSERT INTO longshore.group_locks VALUES (652);
INSERT INTO longshore.group_locks VALUES (653);
INSERT INTO longshore.group_locks VALUES (654);
INSERT INTO longshore.group_locks VALUES (655);
INSERT INTO longshore.group_locks VALUES (656);
INSERT INTO longshore.group_locks VALUES (657);
INSERT INTO longshore.group_locks VALUES (658);
INSERT INTO longshore.group_locks VALUES (659);
INSERT INTO longshore.group_locks VALUES (660);
INSERT INTO longshore.group_locks VALUES (661);
INSERT INTO longshore.group_locks VALUES (662);
INSERT INTO longshore.group_locks VALUES (663);
INSERT INTO longshore.group_locks VALUES (664);
INSERT INTO longshore.group_locks VALUES (665);
INSERT INTO longshore.group_locks VALUES (666);
INSERT INTO longshore.group_locks VALUES (667);
INSERT INTO longshore.group_locks VALUES (668);
INSERT INTO longshore.group_locks VALUES (669);
INSERT INTO longshore.group_locks VALUES (670);
INSERT INTO longshore.group_locks VALUES (671);
INSERT INTO longshore.group_locks VALUES (672);
INSERT INTO longshore.group_locks VALUES (673);
INSERT INTO longshore.group_locks VALUES (674);
INSERT INTO longshore.group_locks VALUES (675);
INSERT INTO longshore.group_locks VALUES (676);
INSERT INTO longshore.group_locks VALUES (677);
INSERT INTO longshore.group_locks VALUES (678);
INSERT INTO longshore.group_locks VALUES (679);
INSERT INTO longshore.group_locks VALUES (680);
INSERT INTO longshore.group_locks VALUES (681);
INSERT INTO longshore.group_locks VALUES (682);
INSERT INTO longshore.group_locks VALUES (683);
INSERT INTO longshore.group_locks VALUES (684);
INSERT INTO longshore.group_locks VALUES (685);
INSERT INTO longshore.group_locks VALUES (686);
INSERT INTO longshore.group_locks VALUES (687);
INSERT INTO longshore.group_locks VALUES (688);
INSERT INTO longshore.group_locks VALUES (689);
INSERT INTO longshore.group_locks VALUES (690);
INSERT INTO longshore.group_locks VALUES (691);
INSERT INTO longshore.group_locks VALUES (692);
INSERT INTO longshore.group_locks VALUES (693);
INSERT INTO longshore.group_locks VALUES (694);
INSERT INTO longshore.group_locks VALUES (695);
INSERT INTO longshore.group_locks VALUES (696);
INSERT INTO longshore.group_locks VALUES (697);
INSERT INTO longshore.group_locks VALUES (698);
INSERT INTO longshore.group_locks VALUES (699);
INSERT INTO longshore.group_locks VALUES (700);
INSERT INTO longshore.group_locks VALUES (701);
INSERT INTO longshore.group_locks VALUES (702);
INSERT INTO longshore.group_locks VALUES (703);
INSERT INTO longshore.group_locks VALUES (704);
INSERT INTO longshore.group_locks VALUES (705);
INSERT INTO longshore.group_locks VALUES (706);
INSERT INTO longshore.group_locks VALUES (707);
INSERT INTO longshore.group_locks VALUES (708);
INSERT INTO longshore.group_locks VALUES (709);
INSERT INTO longshore.group_locks VALUES (710);
INSERT INTO longshore.group_locks VALUES (711);
INSERT INTO longshore.group_locks VALUES (712);
INSERT INTO longshore.group_locks VALUES (713);
INSERT INTO longshore.group_locks VALUES (714);
INSERT INTO longshore.group_locks VALUES (715);
INSERT INTO longshore.group_locks VALUES (716);
INSERT INTO longshore.group_locks VALUES (717);
INSERT INTO longshore.group_locks VALUES (718);
INSERT INTO longshore.group_locks VALUES (719);
INSERT INTO longshore.group_locks VALUES (720);
INSERT INTO longshore.group_locks VALUES (721);
INSERT INTO longshore.group_locks VALUES (722);
INSERT INTO longshore.group_locks VALUES (723);
INSERT INTO longshore.group_locks VALUES (724);
INSERT INTO longshore.group_locks VALUES (725);
INSERT INTO longshore.group_locks VALUES (726);
INSERT INTO longshore.group_locks VALUES (727);
INSERT INTO longshore.group_locks VALUES (728);
INSERT INTO longshore.group_locks VALUES (729);
INSERT INTO longshore.group_locks VALUES (730);
INSERT INTO longshore.group_locks VALUES (731);
INSERT INTO longshore.group_locks VALUES (732);
INSERT INTO longshore.group_locks VALUES (733);
INSERT INTO longshore.group_locks VALUES (734);
INSERT INTO longshore.group_locks VALUES (735);
INSERT INTO longshore.group_locks VALUES (736);
INSERT INTO longshore.group_locks VALUES (737);
INSERT INTO longshore.group_locks VALUES (738);
INSERT INTO longshore.group_locks VALUES (739);
INSERT INTO longshore.group_locks VALUES (740);
INSERT INTO longshore.group_locks VALUES (741);
INSERT INTO longshore.group_locks VALUES (742);
INSERT INTO longshore.group_locks VALUES (743);
INSERT INTO longshore.group_locks VALUES (744);
INSERT INTO longshore.group_locks VALUES (745);
INSERT INTO longshore.group_locks VALUES (746);
INSERT INTO longshore.group_locks VALUES (747);
INSERT INTO longshore.group_locks VALUES (748);
INSERT INTO longshore.group_locks VALUES (749);
INSERT INTO longshore.group_locks VALUES (750);
INSERT INTO longshore.group_locks VALUES (751);
INSERT INTO longshore.group_locks VALUES (752);
INSERT INTO longshore.group_locks VALUES (753);
INSERT INTO longshore.group_locks VALUES (754);
INSERT INTO longshore.group_locks VALUES (755);
INSERT INTO longshore.group_locks VALUES (756);
INSERT INTO longshore.group_locks VALUES (757);
INSERT INTO longshore.group_locks VALUES (758);
INSERT INTO longshore.group_locks VALUES (759);
INSERT INTO longshore.group_locks VALUES (760);
INSERT INTO longshore.group_locks VALUES (761);
INSERT INTO longshore.group_locks VALUES (762);
INSERT INTO longshore.group_locks VALUES (763);
INSERT INTO longshore.group_locks VALUES (764);
INSERT INTO longshore.group_locks VALUES (765);
INSERT INTO longshore.group_locks VALUES (766);
INSERT INTO longshore.group_locks VALUES (767);
INSERT INTO longshore.group_locks VALUES (768);
INSERT INTO longshore.group_locks VALUES (769);
INSERT INTO longshore.group_locks VALUES (770);
INSERT INTO longshore.group_locks VALUES (771);
INSERT INTO longshore.group_locks VALUES (772);
INSERT INTO longshore.group_locks VALUES (773);
INSERT INTO longshore.group_locks VALUES (774);
INSERT INTO longshore.group_locks VALUES (775);
INSERT INTO longshore.group_locks VALUES (776);
INSERT INTO longshore.group_locks VALUES (777);
INSERT INTO longshore.group_locks VALUES (778);
INSERT INTO longshore.group_locks VALUES (779);
INSERT INTO longshore.group_locks VALUES (780);
INSERT INTO longshore.group_locks VALUES (781);
INSERT INTO longshore.group_locks VALUES (782);
INSERT INTO longshore.group_locks VALUES (783);
INSERT INTO longshore.group_locks VALUES (784);
INSERT INTO longshore.group_locks VALUES (785);
INSERT INTO longshore.group_locks VALUES (786);
INSERT INTO longshore.group_locks VALUES (787);
INSERT INTO longshore.group_locks VALUES (788);
INSERT INTO longshore.group_locks VALUES (789);
INSERT INTO longshore.group_locks VALUES (790);
INSERT INTO longshore.group_locks VALUES (791);
INSERT INTO longshore.group_locks VALUES (792);
INSERT INTO longshore.group_locks VALUES (793);
INSERT INTO longshore.group_locks VALUES (794);
INSERT INTO longshore.group_locks VALUES (795);
INSERT INTO longshore.group_locks VALUES (796);
INSERT INTO longshore.group_locks VALUES (797);
INSERT INTO longshore.group_locks VALUES (798);
INSERT INTO longshore.group_locks VALUES (799);
INSERT INTO longshore.group_locks VALUES (800);
INSERT INTO longshore.group_locks VALUES (801);
INSERT INTO longshore.group_locks VALUES (802);
INSERT INTO longshore.group_locks VALUES (803);
INSERT INTO longshore.group_locks VALUES (804);
INSERT INTO longshore.group_locks VALUES (805);
INSERT INTO longshore.group_locks VALUES (806);
INSERT INTO longshore.group_locks VALUES (807);
INSERT INTO longshore.group_locks VALUES (808);
INSERT INTO longshore.group_locks VALUES (809);
INSERT INTO longshore.group_locks VALUES (810);
INSERT INTO longshore.group_locks VALUES (811);
INSERT INTO longshore.group_locks VALUES (812);
INSERT INTO longshore.group_locks VALUES (813);
INSERT INTO longshore.group_locks VALUES (814);
INSERT INTO longshore.group_locks VALUES (815);
INSERT INTO longshore.group_locks VALUES (816);
INSERT INTO longshore.group_locks VALUES (817);
INSERT INTO longshore.group_locks VALUES (818);
INSERT INTO longshore.group_locks VALUES (819);
INSERT INTO longshore.group_locks VALUES (820);
INSERT INTO longshore.group_locks VALUES (821);
INSERT INTO longshore.group_locks VALUES (822);
INSERT INTO longshore.group_locks VALUES (823);
INSERT INTO longshore.group_locks VALUES (824);
INSERT INTO longshore.group_locks VALUES (825);
INSERT INTO longshore.group_locks VALUES (826);
INSERT INTO longshore.group_locks VALUES (827);
INSERT INTO longshore.group_locks VALUES (828);
INSERT INTO longshore.group_locks VALUES (829);
INSERT INTO longshore.group_locks VALUES (830);
INSERT INTO longshore.group_locks VALUES (831);
INSERT INTO longshore.group_locks VALUES (832);
INSERT INTO longshore.group_locks VALUES (833);
INSERT INTO longshore.group_locks VALUES (834);
INSERT INTO longshore.group_locks VALUES (835);
INSERT INTO longshore.group_locks VALUES (836);
INSERT INTO longshore.group_locks VALUES (837);
INSERT INTO longshore.group_locks VALUES (838);
INSERT INTO longshore.group_locks VALUES (839);
INSERT INTO longshore.group_locks VALUES (840);
INSERT INTO longshore.group_locks VALUES (841);
INSERT INTO longshore.group_locks VALUES (842);
INSERT INTO longshore.group_locks VALUES (843);
INSERT INTO longshore.group_locks VALUES (844);
INSERT INTO longshore.group_locks VALUES (845);
INSERT INTO longshore.group_locks VALUES (846);
INSERT INTO longshore.group_locks VALUES (847);
INSERT INTO longshore.group_locks VALUES (848);
INSERT INTO longshore.group_locks VALUES (849);
INSERT INTO longshore.group_locks VALUES (850);
INSERT INTO longshore.group_locks VALUES (851);
INSERT INTO longshore.group_locks VALUES (852);
INSERT INTO longshore.group_locks VALUES (853);
INSERT INTO longshore.group_locks VALUES (854);
INSERT INTO longshore.group_locks VALUES (855);
INSERT INTO longshore.group_locks VALUES (856);
INSERT INTO longshore.group_locks VALUES (857);
INSERT INTO longshore.group_locks VALUES (858);
INSERT INTO longshore.group_locks VALUES (859);
INSERT INTO longshore.group_locks VALUES (860);
INSERT INTO longshore.group_locks VALUES (861);
INSERT INTO longshore.group_locks VALUES (862);
INSERT INTO longshore.group_locks VALUES (863);
INSERT INTO longshore.group_locks VALUES (864);
INSERT INTO longshore.group_locks VALUES (865);
INSERT INTO longshore.group_locks VALUES (866);
INSERT INTO longshore.group_locks VALUES (867);
INSERT INTO longshore.group_locks VALUES (868);
INSERT INTO longshore.group_locks VALUES (869);
INSERT INTO longshore.group_locks VALUES (870);
INSERT INTO longshore.group_locks VALUES (871);
INSERT INTO longshore.group_locks VALUES (872);
INSERT INTO longshore.group_locks VALUES (873);
INSERT INTO longshore.group_locks VALUES (874);
INSERT INTO longshore.group_locks VALUES (875);
INSERT INTO longshore.group_locks VALUES (876);
INSERT INTO longshore.group_locks VALUES (877);
INSERT INTO longshore.group_locks VALUES (878);
INSERT INTO longshore.group_locks VALUES (879);
INSERT INTO longshore.group_locks VALUES (880);
INSERT INTO longshore.group_locks VALUES (881);
INSERT INTO longshore.group_locks VALUES (882);
INSERT INTO longshore.group_locks VALUES (883);
INSERT INTO longshore.group_locks VALUES (884);
INSERT INTO longshore.group_locks VALUES (885);
INSERT INTO longshore.group_locks VALUES (886);
INSERT INTO longshore.group_locks VALUES (887);
INSERT INTO longshore.group_locks VALUES (888);
INSERT INTO longshore.group_locks VALUES (889);
INSERT INTO longshore.group_locks VALUES (890);
INSERT INTO longshore.group_locks VALUES (891);
INSERT INTO longshore.group_locks VALUES (892);
INSERT INTO longshore.group_locks VALUES (893);
INSERT INTO longshore.group_locks VALUES (894);
INSERT INTO longshore.group_locks VALUES (895);
INSERT INTO longshore.group_locks VALUES (896);
INSERT INTO longshore.group_locks VALUES (897);
INSERT INTO longshore.group_locks VALUES (898);
INSERT INTO longshore.group_locks VALUES (899);
INSERT INTO longshore.group_locks VALUES (900);
INSERT INTO longshore.group_locks VALUES (901);
INSERT INTO longshore.group_locks VALUES (902);
INSERT INTO longshore.group_locks VALUES (903);
INSERT INTO longshore.group_locks VALUES (904);
INSERT INTO longshore.group_locks VALUES (905);
INSERT INTO longshore.group_locks VALUES (906);
INSERT INTO longshore.group_locks VALUES (907);
INSERT INTO longshore.group_locks VALUES (908);
INSERT INTO longshore.group_locks VALUES (909);
INSERT INTO longshore.group_locks VALUES (910);
INSERT INTO longshore.group_locks VALUES (911);
INSERT INTO longshore.group_locks VALUES (912);
INSERT INTO longshore.group_locks VALUES (913);
INSERT INTO longshore.group_locks VALUES (914);
INSERT INTO longshore.group_locks VALUES (915);
INSERT INTO longshore.group_locks VALUES (916);
INSERT INTO longshore.group_locks VALUES (917);
INSERT INTO longshore.group_locks VALUES (918);
INSERT INTO longshore.group_locks VALUES (919);
INSERT INTO longshore.group_locks VALUES (920);
INSERT INTO longshore.group_locks VALUES (921);
INSERT INTO longshore.group_locks VALUES (922);
INSERT INTO longshore.group_locks VALUES (923);
INSERT INTO longshore.group_locks VALUES (924);
INSERT INTO longshore.group_locks VALUES (925);
INSERT INTO longshore.group_locks VALUES (926);
INSERT INTO longshore.group_locks VALUES (927);
INSERT INTO longshore.group_locks VALUES (928);
INSERT INTO longshore.group_locks VALUES (929);
INSERT INTO longshore.group_locks VALUES (930);
INSERT INTO longshore.group_locks VALUES (931);
INSERT INTO longshore.group_locks VALUES (932);
INSERT INTO longshore.group_locks VALUES (933);
INSERT INTO longshore.group_locks VALUES (934);
INSERT INTO longshore.group_locks VALUES (935);
INSERT INTO longshore.group_locks VALUES (936);
INSERT INTO longshore.group_locks VALUES (937);
INSERT INTO longshore.group_locks VALUES (938);
INSERT INTO longshore.group_locks VALUES (939);
INSERT INTO longshore.group_locks VALUES (940);
INSERT INTO longshore.group_locks VALUES (941);
INSERT INTO longshore.group_locks VALUES (942);
INSERT INTO longshore.group_locks VALUES (943);
INSERT INTO longshore.group_locks VALUES (944);
INSERT INTO longshore.group_locks VALUES (945);
INSERT INTO longshore.group_locks VALUES (946);
INSERT INTO longshore.group_locks VALUES (947);
INSERT INTO longshore.group_locks VALUES (948);
INSERT INTO longshore.group_locks VALUES (949);
INSERT INTO longshore.group_locks VALUES (950);
INSERT INTO longshore.group_locks VALUES (951);
INSERT INTO longshore.group_locks VALUES (952);
INSERT INTO longshore.group_locks VALUES (953);
INSERT INTO longshore.group_locks VALUES (954);
INSERT INTO longshore.group_locks VALUES (955);
INSERT INTO longshore.group_locks VALUES (956);
INSERT INTO longshore.group_locks VALUES (957);
INSERT INTO longshore.group_locks VALUES (958);
INSERT INTO longshore.group_locks VALUES (959);
INSERT INTO longshore.group_locks VALUES (960);
INSERT INTO longshore.group_locks VALUES (961);
INSERT INTO longshore.group_locks VALUES (962);
INSERT INTO longshore.group_locks VALUES (963);
INSERT INTO longshore.group_locks VALUES (964);
INSERT INTO longshore.group_locks VALUES (965);
INSERT INTO longshore.group_locks VALUES (966);
INSERT INTO longshore.group_locks VALUES (967);
INSERT INTO longshore.group_locks VALUES (968);
INSERT INTO longshore.group_locks VALUES (969);
INSERT INTO longshore.group_locks VALUES (970);
INSERT INTO longshore.group_locks VALUES (971);
INSERT INTO longshore.group_locks VALUES (972);
INSERT INTO longshore.group_locks VALUES (973);
INSERT INTO longshore.group_locks VALUES (974);
INSERT INTO longshore.group_locks VALUES (975);
INSERT INTO longshore.group_locks VALUES (976);
INSERT INTO longshore.group_locks VALUES (977);
INSERT INTO longshore.group_locks VALUES (978);
INSERT INTO longshore.group_locks VALUES (979);
INSERT INTO longshore.group_locks VALUES (980);
INSERT INTO longshore.group_locks VALUES (981);
INSERT INTO longshore.group_locks VALUES (982);
INSERT INTO longshore.group_locks VALUES (983);
INSERT INTO longshore.group_locks VALUES (984);
INSERT INTO longshore.group_locks VALUES (985);
INSERT INTO longshore.group_locks VALUES (986);
INSERT INTO longshore.group_locks VALUES (987);
INSERT INTO longshore.group_locks VALUES (988);
INSERT INTO longshore.group_locks VALUES (989);
INSERT INTO longshore.group_locks VALUES (990);
INSERT INTO longshore.group_locks VALUES (991);
INSERT INTO longshore.group_locks VALUES (992);
INSERT INTO longshore.group_locks VALUES (993);
INSERT INTO longshore.group_locks VALUES (994);
INSERT INTO longshore.group_locks VALUES (995);
INSERT INTO longshore.group_locks VALUES (996);
INSERT INTO longshore.group_locks VALUES (997);
INSERT INTO longshore.group_locks VALUES (998);
INSERT INTO longshore.group_locks VALUES (999);
INSERT INTO longshore.group_locks VALUES (1000);
INSERT INTO longshore.group_locks VALUES (1001);
INSERT INTO longshore.group_locks VALUES (1002);
INSERT INTO longshore.group_locks VALUES (1003);
INSERT INTO longshore.group_locks VALUES (1004);
INSERT INTO longshore.group_locks VALUES (1005);
INSERT INTO longshore.group_locks VALUES (1006);
INSERT INTO longshore.group_locks VALUES (1007);
INSERT INTO longshore.group_locks VALUES (1008);
INSERT INTO longshore.group_locks VALUES (1009);
INSERT INTO longshore.group_locks VALUES (1010);
INSERT INTO longshore.group_locks VALUES (1011);
INSERT INTO longshore.group_locks VALUES (1012);
INSERT INTO longshore.group_locks VALUES (1013);
INSERT INTO longshore.group_locks VALUES (1014);
INSERT INTO longshore.group_locks VALUES (1015);
INSERT INTO longshore.group_locks VALUES (1016);
INSERT INTO longshore.group_locks VALUES (1017);
INSERT INTO longshore.group_locks VALUES (1018);
INSERT INTO longshore.group_locks VALUES (1019);
INSERT INTO longshore.group_locks VALUES (1020);
INSERT INTO longshore.group_locks VALUES (1021);
INSERT INTO longshore.group_locks VALUES (1022);
INSERT INTO longshore.group_locks VALUES (1023);
INSERT INTO longshore.grouped VALUES ('id-24', 21, 'ledger', 'account-1', 'wait', 1, 1768478412901, 1768478412901, NULL, 18000000);
INSERT INTO longshore.grouped VALUES ('id-54', 89, 'images', 'large', NULL, 1, 1768496413892, 1768478413892, NULL, 18000000);
INSERT INTO longshore.grouped VALUES ('id-55', 91, 'images', 'large', NULL, 0, 1768496413893, 0, NULL, 18000000);
INSERT INTO longshore.grouped VALUES ('id-56', 93, 'images', 'small', NULL, 1, 1768496413893, 1768478413893, NULL, 18000000);
INSERT INTO longshore.grouped VALUES ('id-57', 95, 'images', 'small', NULL, 0, 1768496413894, 0, NULL, 18000000);
INSERT INTO longshore.grouped VALUES ('id-58', 97, 'ledger', 'account-1', 'wait', 0, 1768478413895, 0, NULL, 18000000);
INSERT INTO longshore.history_other VALUES (1, 'id-1', 'mail', 'mail.send', NULL, 5, 1768467612345, 1768467612345, 1, '{"attempt":1,"startedAt":1768467612624,"endedAt":1768467612767,"outcome":"acked","error":null,"output":"\"did earlier\"","maxAttempts":4,"worker":"id-7","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768467612755}', 2, 1768467612767, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.history_other VALUES (3, 'id-9', 'reports', 'report.build', NULL, 5, 1768474812806, 1768474812806, 1, '{"attempt":1,"startedAt":1768478413181,"endedAt":1768478413275,"outcome":"acked","error":null,"output":"\"did hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413274}', 2, 1768478413275, NULL, NULL, 'schedule:hourly@2026-01-15T10:00:00.000Z', 'hourly', '{"name":"hourly","idempotencyKey":"schedule:hourly@2026-01-15T10:00:00.000Z","schedule":"hourly"}', NULL, NULL);
INSERT INTO longshore.history_other VALUES (5, 'id-10', 'reports', 'report.build', NULL, 5, 1768474812810, 1768474812810, 1, '{"attempt":1,"startedAt":1768478413282,"endedAt":1768478413311,"outcome":"acked","error":null,"output":"\"did hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413294}', 2, 1768478413312, NULL, NULL, 'schedule:hourly@2026-01-15T11:00:00.000Z', 'hourly', '{"name":"hourly","idempotencyKey":"schedule:hourly@2026-01-15T11:00:00.000Z","schedule":"hourly"}', NULL, NULL);
INSERT INTO longshore.history_other VALUES (7, 'id-13', 'reports', 'report.build', NULL, 5, 1768474812828, 1768474812828, 1, '{"attempt":1,"startedAt":1768478413282,"endedAt":1768478413311,"outcome":"acked","error":null,"output":"\"did stored-hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413294}', 2, 1768478413312, NULL, NULL, 'schedule:stored-hourly@2026-01-15T10:00:00.000Z', 'stored-hourly', '{"name":"stored-hourly","idempotencyKey":"schedule:stored-hourly@2026-01-15T10:00:00.000Z","schedule":"stored-hourly"}', NULL, NULL);
INSERT INTO longshore.history_other VALUES (9, 'id-14', 'reports', 'report.build', NULL, 5, 1768474812830, 1768474812830, 1, '{"attempt":1,"startedAt":1768478413317,"endedAt":1768478413320,"outcome":"acked","error":null,"output":"\"did stored-hourly\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413318}', 2, 1768478413321, NULL, NULL, 'schedule:stored-hourly@2026-01-15T11:00:00.000Z', 'stored-hourly', '{"name":"stored-hourly","idempotencyKey":"schedule:stored-hourly@2026-01-15T11:00:00.000Z","schedule":"stored-hourly"}', NULL, NULL);
INSERT INTO longshore.history_other VALUES (11, 'id-17', 'mail', 'mail.send', 'tenant-1', 5, 1768478412841, 1768478412841, 1, '{"attempt":1,"startedAt":1768478413317,"endedAt":1768478413339,"outcome":"acked","error":null,"output":"\"did done\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413317}', 2, 1768478413339, NULL, NULL, NULL, NULL, '{"name":"A label","requestId":"request-1"}', NULL, NULL);
INSERT INTO longshore.history_other VALUES (17, 'id-20', 'default', 'card.charge', NULL, 5, 1768478412855, 1768478412855, 1, '{"attempt":1,"startedAt":1768478413350,"endedAt":1768478413360,"outcome":"acked","error":null,"output":"\"did card-1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413358}', 2, 1768478413360, NULL, NULL, 'card-1', NULL, '{"idempotencyKey":"card-1"}', NULL, NULL);
INSERT INTO longshore.history_other VALUES (19, 'id-21', 'default', 'mail.sign-in', NULL, 5, 1768478412887, 1768478412887, 1, '{"attempt":1,"startedAt":1768478413359,"endedAt":1768478413360,"outcome":"acked","error":null,"output":"\"did signed in\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413359}', 2, 1768478413360, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.history_other VALUES (23, 'id-25', 'shop', 'shop.price', NULL, 5, 1768478412937, 1768478412937, 1, '{"attempt":1,"startedAt":1768478413365,"endedAt":1768478413390,"outcome":"acked","error":null,"output":"\"did price-1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413389}', 2, 1768478413397, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.history_other VALUES (35, 'batch.called.0', 'lines', 'line.import', NULL, 5, 1768478413142, 1768478413142, 1, '{"attempt":1,"startedAt":1768478413678,"endedAt":1768478413685,"outcome":"acked","error":null,"output":"\"did a1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413678}', 2, 1768478413690, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.history_other VALUES (36, 'batch.called.1', 'lines', 'line.import', NULL, 5, 1768478413142, 1768478413142, 1, '{"attempt":1,"startedAt":1768478413687,"endedAt":1768478413695,"outcome":"acked","error":null,"output":"\"did a2\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413687}', 2, 1768478413716, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.history_other VALUES (38, 'batch.awaited.0', 'lines', 'line.import', NULL, 5, 1768478413146, 1768478413146, 1, '{"attempt":1,"startedAt":1768478413693,"endedAt":1768478413704,"outcome":"acked","error":null,"output":"\"did b1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413694}', 2, 1768478413717, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.history_other VALUES (41, 'batch.half.0', 'lines', 'line.import', NULL, 5, 1768478413150, 1768478413150, 1, '{"attempt":1,"startedAt":1768478413704,"endedAt":1768478413708,"outcome":"acked","error":null,"output":"\"did c1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413704}', 2, 1768478413717, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.history_other VALUES (44, 'batch.summed.0', 'lines', 'line.import', NULL, 5, 1768478413155, 1768478413155, 1, '{"attempt":1,"startedAt":1768478413713,"endedAt":1768478413721,"outcome":"acked","error":null,"output":"\"did d1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413713}', 2, 1768478413725, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.history_other VALUES (47, 'batch.uncalled.0', 'lines', 'line.import', NULL, 5, 1768478413159, 1768478413159, 1, '{"attempt":1,"startedAt":1768478413719,"endedAt":1768478413724,"outcome":"acked","error":null,"output":"\"did e1\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413720}', 2, 1768478413731, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.history_other VALUES (60, 'batch-end.called.onComplete.1', 'default', 'import.done', NULL, 5, 1768478413707, 1768478413707, 1, '{"attempt":1,"startedAt":1768478413734,"endedAt":1768478413736,"outcome":"acked","error":null,"output":"\"did called called: 2 and 0\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413735}', 2, 1768478413737, NULL, NULL, 'batch-end.called.onComplete.1', NULL, '{"idempotencyKey":"batch-end.called.onComplete.1"}', NULL, NULL);
INSERT INTO longshore.history_other VALUES (48, 'batch.uncalled.1', 'lines', 'line.import', NULL, 5, 1768478413159, 1768478413159, 1, '{"attempt":1,"startedAt":1768478413728,"endedAt":1768478413729,"outcome":"acked","error":null,"output":"\"did e2\"","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413728}', 2, 1768478413737, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.history_other VALUES (50, 'chain.chain.1', 'default', 'text.first', NULL, 5, 1768478413167, 1768478413167, 1, '{"attempt":1,"startedAt":1768478413728,"endedAt":1768478413745,"outcome":"acked","error":null,"output":"4","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413730}', 2, 1768478413745, NULL, NULL, 'chain.chain.1', NULL, '{"idempotencyKey":"chain.chain.1","chain":{"id":"chain","link":1,"links":["text.first",["text.left","text.right"],"text.last"]}}', NULL, NULL);
INSERT INTO longshore.history_other VALUES (65, 'batch.chain.chain.2.1', 'default', 'text.right', NULL, 5, 1768478413743, 1768478413743, 1, '{"attempt":1,"startedAt":1768478413751,"endedAt":1768478413756,"outcome":"acked","error":null,"output":"6","maxAttempts":4,"worker":"id-36","host":"vm"}
', '{"done":5,"total":10,"message":"half","at":1768478413752}', 2, 1768478413757, NULL, NULL, NULL, NULL, '{"chain":{"id":"chain","link":2,"links":["text.first",["text.left","text.right"],"text.last"]}}', NULL, NULL);
INSERT INTO longshore.history_other VALUES (71, 'id-39', 'mail', 'mail.send', NULL, 5, 1768478413834, 1768482013834, 0, '', NULL, 4, 1768478413837, 'cancelled', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO longshore.history_other VALUES (83, 'id-45', 'default', 'card.charge', NULL, 5, 1768478413865, 1768478413865, 1, '{"attempt":1,"startedAt":1768478413977,"endedAt":1768478414051,"outcome":"skipped-idempotent","error":null,"output":"\"did card-1\"","maxAttempts":4,"worker":"id-64","host":"vm"}
', NULL, 2, 1768478414051, NULL, NULL, 'card-1', NULL, '{"idempotencyKey":"card-1"}', NULL, NULL);
INSERT INTO longshore.jobs VALUES (25, 'id-26', 'default', 'sms.send', NULL, 5, 1768478412939, 1768482013439, 1, '{"attempt":1,"startedAt":1768478413375,"endedAt":1768478413438,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', NULL, 54, 1768500013439, false, false, '{"v":1,"job":"sms.send","payload":{"label":"failing sms 1"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-26","idempotencyKey":null,"schedule":null,"issuedAt":1768478412938,"expiresAt":null,"context":null,"kid":"stored","_sig":"ecb4cb65b621c01c3cf1ca401004bfc06a88ae24b1595ce22688acdaba968dc2"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (13, 'id-18', 'mail', 'mail.send', NULL, 5, 1768478412850, 1768482013344, 1, '{"attempt":1,"startedAt":1768478413343,"endedAt":1768478413344,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', NULL, 52, 1768500013344, false, false, '{"v":1,"job":"mail.send","payload":{"label":"failing"},"queue":"mail","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-18","idempotencyKey":null,"schedule":null,"issuedAt":1768478412850,"expiresAt":null,"context":null,"kid":"stored","_sig":"c284d4ff2138dddfbbb39072c068ba7ae1031df61ca70772f35afd7f740b0125"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (31, 'id-29', 'default', 'order.wait', NULL, 5, 1768478413037, 1768482013649, 0, '', '{"done":5,"total":10,"message":"half","at":1768478413613}', 57, 1768500013649, false, false, '{"v":1,"job":"order.wait","payload":{"label":"waiter"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-29","idempotencyKey":null,"schedule":null,"issuedAt":1768478413037,"expiresAt":null,"context":null,"kid":"stored","_sig":"e12c6fbe44a1109a6e36aa76b864ff969619de4869ff78846ac648080eac10c8"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (21, 'id-24', 'ledger', 'ledger.book', NULL, 5, 1768478412901, 1768482013369, 1, '{"attempt":1,"startedAt":1768478413364,"endedAt":1768478413369,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', NULL, 53, 1768500013369, false, false, '{"v":1,"job":"ledger.book","payload":{"label":"failing entry"},"queue":"ledger","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-24","idempotencyKey":null,"schedule":null,"issuedAt":1768478412901,"expiresAt":null,"context":null,"kid":"stored","_sig":"ebaec2598e4db6e3030a0aa87a4f110955fcc2f3d3ef7c9a17a4a6fe0514a140"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (110, 'id-65', 'shop', 'shop.sync', NULL, 5, 1768478414101, 1768478444084, 0, '', NULL, 114, 1768496444084, false, false, '{"v":1,"job":"shop.sync","payload":{"label":"waits for a slot"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-65","idempotencyKey":null,"schedule":null,"issuedAt":1768478414101,"expiresAt":null,"context":null,"kid":"stored","_sig":"a1b92237eac3579df0d2527f0389667c1e24bf8c4367050c884e6ae41880b18f"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (112, 'id-66', 'shop', 'shop.sync', NULL, 5, 1768478414103, 1768478474088, 0, '', NULL, 115, 1768496474088, false, false, '{"v":1,"job":"shop.sync","payload":{"label":"waits for a slot too"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-66","idempotencyKey":null,"schedule":null,"issuedAt":1768478414103,"expiresAt":null,"context":null,"kid":"stored","_sig":"75b88428eb3319e54c0634d98b4017fb0b036f85ee4b31fa86da6e339bf8c3d4"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (27, 'id-27', 'default', 'sms.send', NULL, 5, 1768478412955, 1768482013439, 1, '{"attempt":1,"startedAt":1768478413412,"endedAt":1768478413439,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', NULL, 55, 1768500013439, false, false, '{"v":1,"job":"sms.send","payload":{"label":"failing sms 2"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-27","idempotencyKey":null,"schedule":null,"issuedAt":1768478412955,"expiresAt":null,"context":null,"kid":"stored","_sig":"0c275211fe6eb81272d746b086ec37696932acc8b1cdd26ad2df15d08cdd76cf"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (33, 'id-30', 'default', 'month.count', NULL, 5, 1768478413042, 1768482013678, 0, '', NULL, 58, 1768500013678, false, false, '{"v":1,"job":"month.count","payload":{"label":"parent"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-30","idempotencyKey":null,"schedule":null,"issuedAt":1768478413041,"expiresAt":null,"context":null,"kid":"stored","_sig":"bf00adaa9245966a0b115bf7aa46472920453c3bc109d0f32f198e59755d5334"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (29, 'id-28', 'default', 'order.sleep', NULL, 5, 1768478413022, 1768496413633, 0, '', '{"done":5,"total":10,"message":"half","at":1768478413605}', 56, 1768514413633, false, false, '{"v":1,"job":"order.sleep","payload":{"label":"sleeper"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-28","idempotencyKey":null,"schedule":null,"issuedAt":1768478413022,"expiresAt":null,"context":null,"kid":"stored","_sig":"a775dfb6924d82bb4053c6b1dc25c6db6190c0673c64aac1bfc49804f50c1758"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (81, 'id-44', 'default', 'report.print', NULL, 5, 1768478413862, 1768479014073, 0, '', NULL, 108, 1768497014073, false, false, '{"v":1,"job":"report.print","payload":{"label":"paused job"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-44","idempotencyKey":null,"schedule":null,"issuedAt":1768478413862,"expiresAt":null,"context":null,"kid":"stored","_sig":"c5ba8e93f802edda204014d8426057bed5f8efe24261f3c4267ae1af5655d58f"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (39, 'batch.awaited.1', 'lines', 'line.import', NULL, 5, 1768478413146, 1768482013699, 1, '{"attempt":1,"startedAt":1768478413698,"endedAt":1768478413699,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', NULL, 59, 1768500013699, false, false, '{"v":1,"job":"line.import","payload":{"label":"failing b2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.awaited.1","idempotencyKey":null,"schedule":null,"issuedAt":1768478413146,"expiresAt":null,"context":null,"results":true,"kid":"stored","_sig":"fb2cee718354affaf28147b35dda983668fa92a19f9b7f9f9a2b8b10a0732910"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (79, 'id-43', 'quiet', 'mail.send', NULL, 5, 1768478413853, 1768478413853, 0, '', NULL, 79, 1768496413853, false, false, '{"v":1,"job":"mail.send","payload":{"label":"in a quiet queue"},"queue":"quiet","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-43","idempotencyKey":null,"schedule":null,"issuedAt":1768478413852,"expiresAt":null,"context":null,"kid":"stored","_sig":"04b5d5d2386e5e6ae5ab1bc917029b2c5089edc88b88f48a93e1fc5f4d1c8ab8"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (42, 'batch.half.1', 'lines', 'line.import', NULL, 5, 1768478413150, 1768482013710, 1, '{"attempt":1,"startedAt":1768478413710,"endedAt":1768478413710,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', NULL, 62, 1768500013710, false, false, '{"v":1,"job":"line.import","payload":{"label":"failing c2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.half.1","idempotencyKey":null,"schedule":null,"issuedAt":1768478413150,"expiresAt":null,"context":null,"kid":"stored","_sig":"55b7cc3f8aaf187269b6a6e715c0f5b24393ce8945ac5be19beb929ed15f88cc"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (45, 'batch.summed.1', 'lines', 'line.import', NULL, 5, 1768478413155, 1768482013713, 1, '{"attempt":1,"startedAt":1768478413713,"endedAt":1768478413713,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', NULL, 63, 1768500013713, false, false, '{"v":1,"job":"line.import","payload":{"label":"failing d2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.summed.1","idempotencyKey":null,"schedule":null,"issuedAt":1768478413155,"expiresAt":null,"context":null,"results":true,"kid":"stored","_sig":"747d37934b58cd04b5a59379162b1887d2f7902425ac89c4c20670a7f8199b84"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (64, 'batch.chain.chain.2.0', 'default', 'text.left', NULL, 5, 1768478413743, 1768482013749, 1, '{"attempt":1,"startedAt":1768478413748,"endedAt":1768478413749,"outcome":"requeued","error":{"code":"HANDLER","message":"The other side is down.","stack":"Error: The other side is down."},"output":null,"maxAttempts":4,"worker":"id-36","host":"vm"}
', NULL, 67, 1768500013749, false, false, '{"v":1,"job":"text.left","payload":4,"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.chain.chain.2.0","idempotencyKey":null,"schedule":null,"issuedAt":1768478413740,"expiresAt":null,"context":null,"chain":{"id":"chain","link":2,"links":[{"job":"text.first"},[{"job":"text.left"},{"job":"text.right"}],{"job":"text.last"}]},"results":true,"kid":"stored","_sig":"54cb3c2241e2661ea249710358ce58718803d5551f8e9574be275a8f1d42165e"}', NULL, NULL, '{"chain":{"id":"chain","link":2,"links":["text.first",["text.left","text.right"],"text.last"]}}');
INSERT INTO longshore.jobs VALUES (68, 'batch.sending.0', 'lines', 'line.import', NULL, 5, 1768478413825, 1768478413825, 0, '', NULL, 68, 1768496413825, false, false, '{"v":1,"job":"line.import","payload":{"label":"f1"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.sending.0","idempotencyKey":null,"schedule":null,"issuedAt":1768478413825,"expiresAt":null,"context":null,"kid":"stored","_sig":"b32bdc9a704eb634fd948e056a1cd2a1037305a4028a6e5b90a57adada2df1ba"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (69, 'batch.sending.1', 'lines', 'line.import', NULL, 5, 1768478413825, 1768478413825, 0, '', NULL, 69, 1768496413825, false, false, '{"v":1,"job":"line.import","payload":{"label":"f2"},"queue":"lines","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"batch.sending.1","idempotencyKey":null,"schedule":null,"issuedAt":1768478413825,"expiresAt":null,"context":null,"kid":"stored","_sig":"3317edfb066d7a9c92b51247f6eb5fc9746a98560266c89f9144f826479972a8"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (73, 'id-40', 'mail', 'mail.send', NULL, 8, 1768478413843, 1768478413843, 0, '', NULL, 73, 1768507213843, false, false, '{"v":1,"job":"mail.send","payload":{"label":"low"},"queue":"mail","priority":8,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-40","idempotencyKey":null,"schedule":null,"issuedAt":1768478413843,"expiresAt":null,"context":null,"kid":"stored","_sig":"52d4716b6a8202fd1ee5d33f31b59dc912f3a9fff04efcbc25c0870b21d0b408"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (75, 'id-41', 'mail', 'mail.send', NULL, 0, 1768478413848, 1768478413848, 0, '', NULL, 75, 1768478413848, false, false, '{"v":1,"job":"mail.send","payload":{"label":"urgent"},"queue":"mail","priority":0,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-41","idempotencyKey":null,"schedule":null,"issuedAt":1768478413846,"expiresAt":null,"context":null,"kid":"stored","_sig":"cbc2d4a36d34f78ba78fffd3f481f5fd35690abdb9300b02e250fed63e07ff4b"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (77, 'id-42', 'mail', 'mail.send', NULL, 5, 1768478413850, 1768482013850, 0, '', NULL, 77, 1768500013850, false, false, '{"v":1,"job":"mail.send","payload":{"label":"delayed"},"queue":"mail","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-42","idempotencyKey":null,"schedule":1768482013850,"issuedAt":1768478413850,"expiresAt":null,"context":null,"kid":"stored","_sig":"d2915929c4374ef3267ec1e238838635dc3761cf3e815b5fb230a3d112f19606"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (85, 'id-46', 'default', 'customer.sync', NULL, 5, 1768478413867, 1768489213866, 0, '', NULL, 85, 1768507213866, false, false, '{"v":1,"job":"customer.sync","payload":{"label":"unique"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-46","idempotencyKey":null,"schedule":1768489213866,"issuedAt":1768478413866,"expiresAt":null,"context":null,"kid":"stored","_sig":"24eb6211c8e769de26c01fed3ae028d4ba5e39f19ced574a7b45ae3178844194"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (101, 'id-60', 'shop', 'shop.price', NULL, 5, 1768478413896, 1768492813376, 0, '', NULL, 107, 1768510813376, false, false, '{"v":1,"job":"shop.price","payload":{"label":"price-2"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-60","idempotencyKey":null,"schedule":null,"issuedAt":1768478413896,"expiresAt":null,"context":null,"kid":"stored","_sig":"5fa4c2a4dbc5a0e50e943506c060193083eecb88d862a7b3645dccf6c336c087"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (87, 'id-49', 'default', 'index.build', NULL, 5, 1768478413874, 1768489213889, 0, '', NULL, 87, 1768507213889, false, false, '{"v":1,"job":"index.build","payload":{"label":"debounced"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-49","idempotencyKey":null,"schedule":1768489213889,"issuedAt":1768478413889,"expiresAt":null,"context":null,"kid":"stored","_sig":"0d99438d4723269fe151016a367aa3476c96051fde7665190a6ae2abb48d3156"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (89, 'id-54', 'images', 'image.resize', NULL, 5, 1768478413892, 1768478413892, 0, '', NULL, 89, 1768496413892, false, false, '{"v":1,"job":"image.resize","payload":{"label":"large 1"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-54","idempotencyKey":null,"schedule":null,"issuedAt":1768478413891,"expiresAt":null,"context":null,"kid":"stored","_sig":"4c54b1e25466f8602291160e64859888f39052b9505c1c53abde886005239963"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (91, 'id-55', 'images', 'image.resize', NULL, 5, 1768478413893, 1768478413893, 0, '', NULL, 91, 1768496413893, false, false, '{"v":1,"job":"image.resize","payload":{"label":"large 2"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-55","idempotencyKey":null,"schedule":null,"issuedAt":1768478413893,"expiresAt":null,"context":null,"kid":"stored","_sig":"0ac1b0e077a72552e1d62116717c38a397d8b5b18b59a5ac2f7b0176695dbb79"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (93, 'id-56', 'images', 'image.resize', NULL, 5, 1768478413893, 1768478413893, 0, '', NULL, 93, 1768496413893, false, false, '{"v":1,"job":"image.resize","payload":{"label":"small 1"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-56","idempotencyKey":null,"schedule":null,"issuedAt":1768478413893,"expiresAt":null,"context":null,"kid":"stored","_sig":"e0d7bb1621bdde6ad3063ef51ccb0dee83dee3ec0708afdfc6b2fa9849b14621"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (95, 'id-57', 'images', 'image.resize', NULL, 5, 1768478413894, 1768478413894, 0, '', NULL, 95, 1768496413894, false, false, '{"v":1,"job":"image.resize","payload":{"label":"small 2"},"queue":"images","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-57","idempotencyKey":null,"schedule":null,"issuedAt":1768478413894,"expiresAt":null,"context":null,"kid":"stored","_sig":"b596baafbbafc63e0982fa7b77b2ad47d28741de020aafffe3d0ba5d143537c6"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (97, 'id-58', 'ledger', 'ledger.book', NULL, 5, 1768478413895, 1768478413895, 0, '', NULL, 97, 1768496413895, false, false, '{"v":1,"job":"ledger.book","payload":{"label":"second entry"},"queue":"ledger","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-58","idempotencyKey":null,"schedule":null,"issuedAt":1768478413895,"expiresAt":null,"context":null,"kid":"stored","_sig":"484e553e2015e7403673ca8a02017ad7a750023a63e057ba8a3d2dfdeffac646"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (103, 'id-61', 'shop', 'shop.sync', NULL, 5, 1768478413896, 1768478413896, 0, '', NULL, 103, 1768496413896, false, false, '{"v":1,"job":"shop.sync","payload":{"label":"in use"},"queue":"shop","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-61","idempotencyKey":null,"schedule":null,"issuedAt":1768478413896,"expiresAt":null,"context":null,"kid":"stored","_sig":"62471f676f99037b67afc8dde9d96baddc4cbab2021821c39893d969eb8d513b"}', NULL, NULL, NULL);
INSERT INTO longshore.jobs VALUES (105, 'id-62', 'default', 'card.charge', NULL, 5, 1768478413897, 1768478413897, 0, '', NULL, 105, 1768496413897, false, false, '{"v":1,"job":"card.charge","payload":{"label":"stuck card"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-62","idempotencyKey":"stuck card","schedule":null,"issuedAt":1768478413897,"expiresAt":null,"context":null,"kid":"stored","_sig":"a78ddea33bc5c635871af98b9df8f7ed16b4cee7114d5194f5682a986422dbcd"}', 'stuck card', NULL, '{"idempotencyKey":"stuck card"}');
INSERT INTO longshore.jobs VALUES (99, 'id-59', 'default', 'sms.send', NULL, 5, 1768478413896, 1768507213634, 0, '', NULL, 109, 1768525213634, false, false, '{"v":1,"job":"sms.send","payload":{"label":"sms 3"},"queue":"default","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"id-59","idempotencyKey":null,"schedule":null,"issuedAt":1768478413895,"expiresAt":null,"context":null,"kid":"stored","_sig":"5856e684dd81bbaf9685aa6a3d623ae52fb1ca9f7bad4514344d655f2f88c7ba"}', NULL, NULL, NULL);
INSERT INTO longshore.keys VALUES ('schedule:hourly', NULL, 0, false, '{"at":1768474812802,"lastId":"id-10"}', 1803034812817);
INSERT INTO longshore.keys VALUES ('schedule:off', NULL, 0, false, '{"at":1768474812821,"lastId":null,"pausedAt":1768467612615,"skipped":[{"at":1768471200000,"lastAt":1768474800000,"count":2,"reason":"paused"}]}', 1803034812825);
INSERT INTO longshore.keys VALUES ('schedule:stored-hourly', NULL, 0, false, '{"at":1768474812826,"lastId":"id-14"}', 1803034812831);
INSERT INTO longshore.keys VALUES ('unique:default:mail.sign-in:anna', NULL, 0, false, '{"ids":["id-21"],"at":1768478412886,"sent":true,"keepUntil":1768651212886}', 1768651212886);
INSERT INTO longshore.keys VALUES ('job:report.build:schedule:hourly@2026-01-15T10:00:00.000Z', NULL, 0, true, '"did hourly"', 1768564813275);
INSERT INTO longshore.keys VALUES ('job:report.build:schedule:hourly@2026-01-15T11:00:00.000Z', NULL, 0, true, '"did hourly"', 1768564813311);
INSERT INTO longshore.keys VALUES ('job:report.build:schedule:stored-hourly@2026-01-15T10:00:00.000Z', NULL, 0, true, '"did stored-hourly"', 1768564813311);
INSERT INTO longshore.keys VALUES ('job:report.build:schedule:stored-hourly@2026-01-15T11:00:00.000Z', NULL, 0, true, '"did stored-hourly"', 1768564813320);
INSERT INTO longshore.keys VALUES ('job:card.charge:card-1', NULL, 0, true, '"did card-1"', 1768564813360);
INSERT INTO longshore.keys VALUES ('job:import.done:batch-end.called.onComplete.1', NULL, 0, true, '"did called called: 2 and 0"', 1768564813736);
INSERT INTO longshore.keys VALUES ('job:text.first:chain.chain.1', NULL, 0, true, '4', 1768564813745);
INSERT INTO longshore.keys VALUES ('unique:default:customer.sync:customer-7', NULL, 0, false, '{"ids":["id-46"],"at":1768478413867,"sent":true,"keepUntil":1769094013866}', 1769094013866);
INSERT INTO longshore.keys VALUES ('unique:default:index.build:products', NULL, 0, false, '{"ids":["id-49"],"at":1768478413873,"sent":true,"keepUntil":1769094013882}', 1769094013882);
INSERT INTO longshore.keys VALUES ('job:card.charge:stuck card', 'g_cUIoXidoqj4qKt.105.id-62', 1768478444083, false, NULL, 0);
INSERT INTO longshore.keys VALUES ('alerts:default', NULL, 0, false, '{"at":1768478413960,"where":"worker","open":{"InvoicesOpen ":{"since":1768478413960,"firedAt":1768478413960,"noticedAt":1768478413960,"seenAt":1768478413960}},"notices":[],"targets":{},"ended":{}}', 1771070414999);
INSERT INTO longshore.leases VALUES ('g_cUIoXidoqj4qKt', 'shop', 1768478414083, 1768478444083, '{id-61}', '{103}');
INSERT INTO longshore.leases VALUES ('g_cUIoXidoqj4qKt', 'default', 1768478414083, 1768478444083, '{id-62}', '{105}');
INSERT INTO longshore.limit_holds VALUES ('pause:report.print', 9007199254740991);
INSERT INTO longshore.limit_holds VALUES ('breaker:sms.send:open', 1768507213604);
INSERT INTO longshore.limit_slots VALUES ('job:shop.price:rate', 'id-25#KS8IxgRs', '679xSHhsTqvvsF2f.23.id-25', 1, 1768492813374);
INSERT INTO longshore.limit_slots VALUES ('breaker:sms.send:failures', 'id-26#1', '-q3EFNRxZoMNMMfh.25.id-26', 10000, 1768593613461);
INSERT INTO longshore.limit_slots VALUES ('breaker:sms.send:failures', 'id-27#1', 'HGfUuwR2dcj7kmh_.27.id-27', 10000, 1768593613461);
INSERT INTO longshore.limit_slots VALUES ('job:shop.sync:concurrency:shop-1', 'id-61', 'g_cUIoXidoqj4qKt.103.id-61', 1, 1768478444084);
INSERT INTO longshore.limit_waiters VALUES ('id-44', 'pause:report.print', 'default', 1768496413862, 10000, 1769169614050);
INSERT INTO longshore.limit_waiters VALUES ('id-60#1', 'job:shop.price:rate', 'shop', 1768496413896, 1, 1768579213374);
INSERT INTO longshore.limit_waiters VALUES ('id-59', 'breaker:sms.send:open', 'default', 1768496413895, 10000, 1768593613604);
INSERT INTO longshore.limit_waiters VALUES ('id-65', 'job:shop.sync:concurrency:shop-1', 'shop', 1768496414101, 1, 1768564844084);
INSERT INTO longshore.limit_waiters VALUES ('id-66', 'job:shop.sync:concurrency:shop-1', 'shop', 1768496414103, 1, 1768564874083);
INSERT INTO longshore.longshore VALUES (10);
INSERT INTO longshore.metrics VALUES ('minute', 1768467600000, 'mail', 'mail.send', 'id-7', '{"v":1,"ends":[1,0,0,0,0,0,0],"runMs":[1,143,143,54,1],"waitMs":[1,643,643,69,1],"memory":[1,655360,655360],"lastAt":1768467612775}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'default', 'card.charge', 'id-36', '{"v":1,"ends":[1,0,0,0,0,0,0],"runMs":[1,10,10,26,1],"waitMs":[1,495,495,67,1],"memory":[0,0,0],"lastAt":1768478413369}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'default', 'import.done', 'id-36', '{"v":1,"ends":[1,0,0,0,0,0,0],"runMs":[1,2,2,9,1],"waitMs":[1,28,28,36,1],"memory":[0,0,0],"lastAt":1768478413739}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'default', 'mail.sign-in', 'id-36', '{"v":1,"ends":[1,0,0,0,0,0,0],"runMs":[1,1,1,1,1],"waitMs":[1,502,502,67,1],"memory":[0,0,0],"lastAt":1768478413364}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'default', 'month.count', 'id-36', '{"v":1,"ends":[0,0,0,1,0,0,0],"runMs":[0,0,0],"waitMs":[0,0,0],"memory":[0,0,0],"lastAt":1768478413688}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'default', 'order.sleep', 'id-36', '{"v":1,"ends":[0,0,0,1,0,0,0],"runMs":[0,0,0],"waitMs":[0,0,0],"memory":[0,0,0],"lastAt":1768478413649}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'default', 'order.wait', 'id-36', '{"v":1,"ends":[0,0,0,1,0,0,0],"runMs":[0,0,0],"waitMs":[0,0,0],"memory":[1,0,0],"lastAt":1768478413670}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'default', 'sms.send', 'id-36', '{"v":1,"ends":[0,0,2,0,0,0,0],"runMs":[2,90,63,45,1,36,1],"waitMs":[2,894,457,65,1,66,1],"memory":[1,0,0],"lastAt":1768478413613}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'default', 'text.first', 'id-36', '{"v":1,"ends":[1,0,0,0,0,0,0],"runMs":[1,17,17,31,1],"waitMs":[1,561,561,68,1],"memory":[0,0,0],"lastAt":1768478413748}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'default', 'text.left', 'id-36', '{"v":1,"ends":[0,0,1,0,0,0,0],"runMs":[1,1,1,1,1],"waitMs":[1,8,8,23,1],"memory":[0,0,0],"lastAt":1768478413754}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'default', 'text.right', 'id-36', '{"v":1,"ends":[1,0,0,0,0,0,0],"runMs":[1,5,5,18,1],"waitMs":[1,11,11,27,1],"memory":[0,0,0],"lastAt":1768478413758}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'ledger', 'ledger.book', 'id-36', '{"v":1,"ends":[0,0,1,0,0,0,0],"runMs":[1,5,5,18,1],"waitMs":[1,463,463,66,1],"memory":[0,0,0],"lastAt":1768478413390}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'lines', 'line.import', 'id-36', '{"v":1,"ends":[7,0,3,0,0,0,0],"runMs":[10,45,11,22,1,1,2,0,2,23,2,27,1,16,1,18,1],"waitMs":[10,5539,569,67,1,68,9],"memory":[1,0,0],"lastAt":1768478413739}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'mail', 'mail.send', 'id-36', '{"v":1,"ends":[1,0,1,0,1,0,0],"runMs":[3,112,89,49,1,34,1,1,1],"waitMs":[3,1299,493,62,1,66,1,67,1],"memory":[1,131072,131072],"lastAt":1768478413351}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'reports', 'report.build', 'id-36', '{"v":1,"ends":[4,0,0,0,0,0,0],"runMs":[4,155,94,49,1,37,2,13,1],"waitMs":[4,14401790,3600487,160,4],"memory":[1,0,0],"lastAt":1768478413343}');
INSERT INTO longshore.metrics VALUES ('minute', 1768478400000, 'shop', 'shop.price', 'id-36', '{"v":1,"ends":[1,0,0,0,0,0,0],"runMs":[1,25,25,35,1],"waitMs":[1,428,428,65,1],"memory":[0,0,0],"lastAt":1768478413412}');
INSERT INTO longshore.metrics VALUES ('hour', 1768467600000, 'mail', 'mail.send', '', '{"v":1,"ends":[1,0,0,0,0,0,0],"runMs":[1,143,143,54,1],"waitMs":[1,643,643,69,1],"memory":[1,655360,655360],"lastAt":1768467612775}');
INSERT INTO longshore.metrics VALUES ('day', 1768348800000, 'mail', 'mail.send', '', '{"v":1,"ends":[1,0,0,0,0,0,0],"runMs":[1,143,143,54,1],"waitMs":[1,643,643,69,1],"memory":[1,655360,655360],"lastAt":1768467612775}');
INSERT INTO longshore.outbox OVERRIDING SYSTEM VALUE VALUES (1, 'memory', 1768478416109, '{"id":"row-1","queue":"images","job":"image.resize","body":"{\"v\":1,\"job\":\"image.resize\",\"payload\":{\"label\":\"first row\"},\"queue\":\"images\",\"priority\":2,\"maxRetries\":3,\"attempts\":0,\"name\":null,\"identifier\":\"row-1\",\"idempotencyKey\":null,\"schedule\":null,\"issuedAt\":1768478416109,\"expiresAt\":null,\"context\":null,\"kid\":\"stored\",\"_sig\":\"052ea64344a0fa7201fb80b374fd89e07631f524e39a32c3b7900fec001acbf5\"}","priority":2,"notBefore":null,"group":"account-1","tenantId":null}');
INSERT INTO longshore.outbox OVERRIDING SYSTEM VALUE VALUES (2, 'memory', 1768478416129, '{"id":"row-2","queue":"images","job":"image.resize","body":"{\"v\":1,\"job\":\"image.resize\",\"payload\":{\"label\":\"second row\"},\"queue\":\"images\",\"priority\":2,\"maxRetries\":3,\"attempts\":0,\"name\":null,\"identifier\":\"row-2\",\"idempotencyKey\":null,\"schedule\":null,\"issuedAt\":1768478416129,\"expiresAt\":null,\"context\":null,\"kid\":\"stored\",\"_sig\":\"6dbb88e45390087e02f4d326e2b1776027d8ab3159b961d852fb0d15b3d43ea3\"}","priority":2,"notBefore":null,"group":"account-1","tenantId":null}');
INSERT INTO longshore.queues VALUES ('mail', false, false);
INSERT INTO longshore.queues VALUES ('reports', false, false);
INSERT INTO longshore.queues VALUES ('quiet', true, false);
INSERT INTO longshore.queues VALUES ('default', false, false);
INSERT INTO longshore.queues VALUES ('ledger', false, true);
INSERT INTO longshore.queues VALUES ('shop', false, false);
INSERT INTO longshore.queues VALUES ('lines', false, false);
INSERT INTO longshore.queues VALUES ('images', false, true);
INSERT INTO longshore.ready VALUES ('lines', 1768496413825, 68, 1768478413825, 'batch.sending.0');
INSERT INTO longshore.ready VALUES ('lines', 1768496413825, 69, 1768478413825, 'batch.sending.1');
INSERT INTO longshore.ready VALUES ('mail', 1768507213843, 73, 1768478413843, 'id-40');
INSERT INTO longshore.ready VALUES ('mail', 1768478413848, 75, 1768478413848, 'id-41');
INSERT INTO longshore.ready VALUES ('quiet', 1768496413853, 79, 1768478413853, 'id-43');
INSERT INTO longshore.ready VALUES ('images', 1768496413892, 89, 1768478413892, 'id-54');
INSERT INTO longshore.ready VALUES ('images', 1768496413893, 93, 1768478413893, 'id-56');
INSERT INTO longshore.schedules VALUES ('stored-off', NULL, 'ef8e77c5-280a-4f39-8224-a45cf3d59f2a', '{"cron":"30 2 * * *","timezone":"Europe/Berlin","payload":{"label":"stored-off"},"job":"report.build","overlap":"allow","missed":"one","createdAt":1768467612593,"changedAt":1768467612604,"since":1768467612593,"pausedAt":1768467612604}');
INSERT INTO longshore.schedules VALUES ('stored-hourly', 1768478400000, '131e7a96-8a01-4fde-a432-632b1bf2c5e0', '{"everyMs":3600000,"payload":{"label":"stored-hourly"},"job":"report.build","overlap":"allow","missed":"all","createdAt":1768467612575,"changedAt":1768467612575,"since":1768467612575}');
INSERT INTO longshore.steps VALUES ('job:id-28', 'afed28d8-65b7-489c-8db2-ab3af1e7c7dd', 1777136413622, '{"owner":"Y_7aEbhmXPoE8FpDXnxCyzFSak6ORvS5XTPRvle9F_Y","attempt":1,"leaseUntil":1768478443489,"steps":[{"name":"charge","at":1768478413614,"value":"did sleeper: charge"},{"name":"sleep:1","at":1768478413622,"until":1768496413622}],"kid":"stored","_sig":"ba1e74b9a3aa1e56258205c908f064d030f126607f454f440e5ed51ac6520bf6"}');
INSERT INTO longshore.steps VALUES ('job:id-29', '0d9c488e-be34-46a6-8473-37de0a072f48', 1777377613626, '{"owner":"CA4eK3aECeVYTi-QwSp4_PFOYCvsRgS8Owj9iyfWt9I","attempt":1,"leaseUntil":1768478443489,"steps":[{"name":"charge","at":1768478413621,"value":"did waiter: charge"},{"name":"wait:packed:waiter","at":1768478413626,"until":1768737613626,"event":"packed","key":"waiter"}],"kid":"stored","_sig":"4c373f7dfce6019fc22682388c7421186457feb60db49d03de9ef4c54f34831c"}');
INSERT INTO longshore.steps VALUES ('event:packed:waiter', 'a2b491d0-fb2d-4bdb-8aa6-957b0de2b1f0', 1768737613626, '{"kept":null,"waiters":[{"id":"id-29","queue":"default","step":"wait:packed:waiter","until":1768737613626}],"kid":"stored","_sig":"238d8a6c18a5921e68dfdd9af34f63b9762f58abe290bd76cd8ffee017ce66a9"}');
INSERT INTO longshore.steps VALUES ('job:id-30', '0ecc04f1-6bf8-42d6-8582-6415c99625c6', 1777377613672, '{"owner":"6iihTzqG9811Q_K6my8dB9JXluuu_c1LA07oBZUsvwI","attempt":1,"leaseUntil":1768478443649,"steps":[{"name":"wait:longshore.batch-end:awaited","at":1768478413672,"until":1768737613672,"event":"longshore.batch-end","key":"awaited"}],"kid":"stored","_sig":"d0a7a4a12a208e4cf2dc73a10337cc5968a3734779a5807c0445c96186dd78dc"}');
INSERT INTO longshore.steps VALUES ('event:longshore.batch-end:awaited', '3b492036-a9ef-4565-99c5-60cfcfb1093c', 1768737613672, '{"kept":null,"waiters":[{"id":"id-30","queue":"default","step":"wait:longshore.batch-end:awaited","until":1768737613672}],"kid":"stored","_sig":"acd91f5effe7954d1c1eede3e006f1fcad44987fa82823c7574a3e612bbb65a6"}');
INSERT INTO longshore.steps VALUES ('result:awaited:0', '512e85de-8d72-4740-80b0-76388bfe6d27', 1777118413696, '{"text":"\"did b1\"","kid":"stored","sig":"58c707c66468aa67d5f248971fea0edf3a4c0130f802e4a14f6fc786d6396bb8"}');
INSERT INTO longshore.steps VALUES ('result:summed:0', '9af0e901-35cd-4f66-83fc-a5757a5a4e53', 1777118413717, '{"text":"\"did d1\"","kid":"stored","sig":"13dfda0f1961365fad89c8f280445f98a45c3e9bcb3c25d47f93dc25052e1b4d"}');
INSERT INTO longshore.steps VALUES ('result:chain.chain.2:1', '6ba5bd83-cdf8-4989-991c-7e0167119943', 1777118413753, '{"text":"6","kid":"stored","sig":"170f4831a787a9b69da43cb94c3c358928d58eac824d471c5ed6be56acc97cb0"}');
INSERT INTO longshore.workers VALUES ('id-64', 1768478413975, '{"id":"id-64","host":"vm","pid":24425,"queues":["shop","default"],"concurrency":3,"startedAt":1768478413975,"seenAt":1768478413975,"running":0,"counts":{"acked":0,"requeued":0,"dead-lettered":0,"rejected":0,"skipped-idempotent":0},"failed":0,"jobs":[],"memoryBytes":167763968}', false);
SELECT pg_catalog.setval('longshore.batches_seq_seq', 7, true);
SELECT pg_catalog.setval('longshore.outbox_seq_seq', 2, true);
SELECT pg_catalog.setval('longshore.records_seq_seq', 1, false);
SELECT pg_catalog.setval('longshore.turns', 115, true);
ALTER TABLE ONLY longshore.audit
    ADD CONSTRAINT audit_id_key UNIQUE (id);
ALTER TABLE ONLY longshore.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (at, id);
ALTER TABLE ONLY longshore.batch_marks
    ADD CONSTRAINT batch_marks_pkey PRIMARY KEY (batch, block);
ALTER TABLE ONLY longshore.batches
    ADD CONSTRAINT batches_pkey PRIMARY KEY (id);
ALTER TABLE ONLY longshore.dead
    ADD CONSTRAINT dead_pkey PRIMARY KEY (id);
ALTER TABLE ONLY longshore.group_locks
    ADD CONSTRAINT group_locks_pkey PRIMARY KEY (n);
ALTER TABLE ONLY longshore.grouped
    ADD CONSTRAINT grouped_pkey PRIMARY KEY (id);
ALTER TABLE ONLY longshore.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY longshore.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (key);
ALTER TABLE ONLY longshore.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (claim, queue);
ALTER TABLE ONLY longshore.limit_holds
    ADD CONSTRAINT limit_holds_pkey PRIMARY KEY (key);
ALTER TABLE ONLY longshore.limit_slots
    ADD CONSTRAINT limit_slots_pkey PRIMARY KEY (key, holder);
ALTER TABLE ONLY longshore.limit_waiters
    ADD CONSTRAINT limit_waiters_pkey PRIMARY KEY (holder, key);
ALTER TABLE ONLY longshore.metrics
    ADD CONSTRAINT metrics_pkey PRIMARY KEY (step, at, queue, job, source);
ALTER TABLE ONLY longshore.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (target, seq);
ALTER TABLE ONLY longshore.outbox_refused
    ADD CONSTRAINT outbox_refused_pkey PRIMARY KEY (target, seq);
ALTER TABLE ONLY longshore.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (name);
ALTER TABLE ONLY longshore.records
    ADD CONSTRAINT records_id_key UNIQUE (id);
ALTER TABLE ONLY longshore.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY longshore.renewals
    ADD CONSTRAINT renewals_pkey PRIMARY KEY (id);
ALTER TABLE ONLY longshore.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (name);
ALTER TABLE ONLY longshore.steps
    ADD CONSTRAINT steps_pkey PRIMARY KEY (name);
ALTER TABLE ONLY longshore.waits
    ADD CONSTRAINT waits_pkey PRIMARY KEY (id, channel);
ALTER TABLE ONLY longshore.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);
CREATE INDEX batches_look_at ON longshore.batches USING btree (look_at) WHERE (look_at IS NOT NULL);
CREATE INDEX batches_seq ON longshore.batches USING btree (seq);
CREATE INDEX dead_finished_at ON longshore.dead USING btree (finished_at, seq);
CREATE INDEX dead_kept_until ON longshore.dead USING btree (keep_until) WHERE (keep_until IS NOT NULL);
CREATE INDEX dead_key ON longshore.dead USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX dead_queue ON longshore.dead USING btree (queue, finished_at, seq);
CREATE INDEX dead_schedule ON longshore.dead USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX dead_seq ON longshore.dead USING btree (seq);
CREATE INDEX dead_usual ON longshore.dead USING btree ((
CASE
    WHEN (keep_until IS NULL) THEN finished_at
    ELSE NULL::bigint
END), seq);
CREATE INDEX delayed_ready_at ON longshore.delayed USING btree (queue, ready_at, seq);
CREATE INDEX grouped_apart ON longshore.grouped USING btree (queue, apart_until) WHERE (apart_until IS NOT NULL);
CREATE INDEX grouped_busy ON longshore.grouped USING btree (queue) WHERE (state <> 0);
CREATE INDEX grouped_line ON longshore.grouped USING btree (queue, name, state, place, seq);
CREATE INDEX history_id ON ONLY longshore.history USING btree (id);
CREATE INDEX history_20261125_id_idx ON longshore.history_20261125 USING btree (id);
CREATE INDEX history_key ON ONLY longshore.history USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_20261125_idempotency_key_seq_idx ON longshore.history_20261125 USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_schedule ON ONLY longshore.history USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_20261125_schedule_seq_idx ON longshore.history_20261125 USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_seq ON ONLY longshore.history USING btree (seq);
CREATE INDEX history_20261125_seq_idx ON longshore.history_20261125 USING btree (seq);
CREATE INDEX history_20261126_id_idx ON longshore.history_20261126 USING btree (id);
CREATE INDEX history_20261126_idempotency_key_seq_idx ON longshore.history_20261126 USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_20261126_schedule_seq_idx ON longshore.history_20261126 USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_20261126_seq_idx ON longshore.history_20261126 USING btree (seq);
CREATE INDEX history_20261127_id_idx ON longshore.history_20261127 USING btree (id);
CREATE INDEX history_20261127_idempotency_key_seq_idx ON longshore.history_20261127 USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_20261127_schedule_seq_idx ON longshore.history_20261127 USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_20261127_seq_idx ON longshore.history_20261127 USING btree (seq);
CREATE INDEX history_20261128_id_idx ON longshore.history_20261128 USING btree (id);
CREATE INDEX history_20261128_idempotency_key_seq_idx ON longshore.history_20261128 USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_20261128_schedule_seq_idx ON longshore.history_20261128 USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_20261128_seq_idx ON longshore.history_20261128 USING btree (seq);
CREATE INDEX history_20261129_id_idx ON longshore.history_20261129 USING btree (id);
CREATE INDEX history_20261129_idempotency_key_seq_idx ON longshore.history_20261129 USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_20261129_schedule_seq_idx ON longshore.history_20261129 USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_20261129_seq_idx ON longshore.history_20261129 USING btree (seq);
CREATE INDEX history_20261130_id_idx ON longshore.history_20261130 USING btree (id);
CREATE INDEX history_20261130_idempotency_key_seq_idx ON longshore.history_20261130 USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_20261130_schedule_seq_idx ON longshore.history_20261130 USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_20261130_seq_idx ON longshore.history_20261130 USING btree (seq);
CREATE INDEX history_20261201_id_idx ON longshore.history_20261201 USING btree (id);
CREATE INDEX history_20261201_idempotency_key_seq_idx ON longshore.history_20261201 USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_20261201_schedule_seq_idx ON longshore.history_20261201 USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_20261201_seq_idx ON longshore.history_20261201 USING btree (seq);
CREATE INDEX history_20261202_id_idx ON longshore.history_20261202 USING btree (id);
CREATE INDEX history_20261202_idempotency_key_seq_idx ON longshore.history_20261202 USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_20261202_schedule_seq_idx ON longshore.history_20261202 USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_20261202_seq_idx ON longshore.history_20261202 USING btree (seq);
CREATE INDEX history_20261203_id_idx ON longshore.history_20261203 USING btree (id);
CREATE INDEX history_20261203_idempotency_key_seq_idx ON longshore.history_20261203 USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_20261203_schedule_seq_idx ON longshore.history_20261203 USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_20261203_seq_idx ON longshore.history_20261203 USING btree (seq);
CREATE INDEX history_kept_id_idx ON longshore.history_kept USING btree (id);
CREATE INDEX history_kept_idempotency_key_seq_idx ON longshore.history_kept USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_kept_schedule_seq_idx ON longshore.history_kept USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_kept_seq_idx ON longshore.history_kept USING btree (seq);
CREATE INDEX history_kept_until ON longshore.history_kept USING btree (keep_until);
CREATE INDEX history_other_id_idx ON longshore.history_other USING btree (id);
CREATE INDEX history_other_idempotency_key_seq_idx ON longshore.history_other USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX history_other_schedule_seq_idx ON longshore.history_other USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX history_other_seq_idx ON longshore.history_other USING btree (seq);
CREATE INDEX jobs_key ON longshore.jobs USING btree (idempotency_key, seq) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX jobs_retried ON longshore.jobs USING btree (seq) WHERE (attempt > 0);
CREATE INDEX jobs_schedule ON longshore.jobs USING btree (schedule, seq) WHERE (schedule IS NOT NULL);
CREATE INDEX jobs_seq ON longshore.jobs USING btree (seq) WITH (deduplicate_items=off);
CREATE INDEX jobs_tenant ON longshore.jobs USING btree (tenant_id COLLATE "C", seq) WHERE (tenant_id IS NOT NULL);
CREATE INDEX keys_ended ON longshore.keys USING btree (GREATEST(hold_until, keep_until));
CREATE INDEX leases_until ON longshore.leases USING btree (queue, until);
CREATE INDEX limit_slots_until ON longshore.limit_slots USING btree (until);
CREATE INDEX limit_waiters_rank ON longshore.limit_waiters USING btree (key, rank, holder);
CREATE INDEX limit_waiters_until ON longshore.limit_waiters USING btree (until);
CREATE INDEX queues_grouped ON longshore.queues USING btree (name) WHERE grouped;
CREATE INDEX ready_rank ON longshore.ready USING btree (queue, rank, seq);
CREATE INDEX records_created_at ON longshore.records USING btree (created_at, seq);
CREATE INDEX records_finished_at ON longshore.records USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX records_status ON longshore.records USING btree (status, created_at, seq);
CREATE INDEX renewals_until ON longshore.renewals USING btree (queue, until);
CREATE INDEX schedules_next_at ON longshore.schedules USING btree (next_at, name) WHERE (next_at IS NOT NULL);
CREATE INDEX steps_ends_at ON longshore.steps USING btree (ends_at);
CREATE INDEX waits_until ON longshore.waits USING btree (until);
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261125_id_idx;
ALTER INDEX longshore.history_key ATTACH PARTITION longshore.history_20261125_idempotency_key_seq_idx;
ALTER INDEX longshore.history_schedule ATTACH PARTITION longshore.history_20261125_schedule_seq_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261125_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261126_id_idx;
ALTER INDEX longshore.history_key ATTACH PARTITION longshore.history_20261126_idempotency_key_seq_idx;
ALTER INDEX longshore.history_schedule ATTACH PARTITION longshore.history_20261126_schedule_seq_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261126_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261127_id_idx;
ALTER INDEX longshore.history_key ATTACH PARTITION longshore.history_20261127_idempotency_key_seq_idx;
ALTER INDEX longshore.history_schedule ATTACH PARTITION longshore.history_20261127_schedule_seq_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261127_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261128_id_idx;
ALTER INDEX longshore.history_key ATTACH PARTITION longshore.history_20261128_idempotency_key_seq_idx;
ALTER INDEX longshore.history_schedule ATTACH PARTITION longshore.history_20261128_schedule_seq_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261128_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261129_id_idx;
ALTER INDEX longshore.history_key ATTACH PARTITION longshore.history_20261129_idempotency_key_seq_idx;
ALTER INDEX longshore.history_schedule ATTACH PARTITION longshore.history_20261129_schedule_seq_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261129_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261130_id_idx;
ALTER INDEX longshore.history_key ATTACH PARTITION longshore.history_20261130_idempotency_key_seq_idx;
ALTER INDEX longshore.history_schedule ATTACH PARTITION longshore.history_20261130_schedule_seq_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261130_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261201_id_idx;
ALTER INDEX longshore.history_key ATTACH PARTITION longshore.history_20261201_idempotency_key_seq_idx;
ALTER INDEX longshore.history_schedule ATTACH PARTITION longshore.history_20261201_schedule_seq_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261201_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261202_id_idx;
ALTER INDEX longshore.history_key ATTACH PARTITION longshore.history_20261202_idempotency_key_seq_idx;
ALTER INDEX longshore.history_schedule ATTACH PARTITION longshore.history_20261202_schedule_seq_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261202_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261203_id_idx;
ALTER INDEX longshore.history_key ATTACH PARTITION longshore.history_20261203_idempotency_key_seq_idx;
ALTER INDEX longshore.history_schedule ATTACH PARTITION longshore.history_20261203_schedule_seq_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261203_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_kept_id_idx;
ALTER INDEX longshore.history_key ATTACH PARTITION longshore.history_kept_idempotency_key_seq_idx;
ALTER INDEX longshore.history_schedule ATTACH PARTITION longshore.history_kept_schedule_seq_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_kept_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_other_id_idx;
ALTER INDEX longshore.history_key ATTACH PARTITION longshore.history_other_idempotency_key_seq_idx;
ALTER INDEX longshore.history_schedule ATTACH PARTITION longshore.history_other_schedule_seq_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_other_seq_idx;
