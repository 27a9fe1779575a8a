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
    DELETE FROM "longshore".jobs WHERE id = the_id AND turn = the_turn AND coalesce(
  (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = the_id AND r.claim = the_claim),
  EXISTS (SELECT FROM "longshore".leases l WHERE l.claim = the_claim AND l.until > now)) RETURNING * INTO j;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    DELETE FROM "longshore".renewals r WHERE r.id = the_id AND r.claim = the_claim;
    DELETE FROM "longshore".leases l WHERE l.claim = ANY (finished);
    IF the_end <> 4 THEN
      INSERT INTO "longshore".dead (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, ended, finished_at, reason, error, body)
      VALUES (j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt + 1, j.reports || report,
        j.progress, the_end, now, why, message, j.body);
    ELSIF keep THEN
      INSERT INTO "longshore".history (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, ended, finished_at, reason, error)
      VALUES (j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt + 1, j.reports || report,
        j.progress, the_end, now, why, message);
    END IF;
    RETURN true;
  END $$;
CREATE FUNCTION longshore.cancel(at bigint, keep boolean, the_id text) RETURNS text
    LANGUAGE plpgsql
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    j "longshore".jobs;
  BEGIN
    SELECT * INTO j FROM "longshore".jobs WHERE id = the_id FOR UPDATE;
    IF NOT FOUND THEN
      RETURN CASE WHEN EXISTS (SELECT FROM "longshore".history WHERE id = the_id) OR EXISTS (SELECT FROM "longshore".dead WHERE id = the_id)
        THEN 'finished' ELSE 'unknown' END;
    END IF;
    DELETE FROM "longshore".ready WHERE queue = j.queue AND rank = j.rank AND seq = j.seq;
    IF NOT FOUND THEN
      DELETE FROM "longshore".delayed WHERE queue = j.queue AND ready_at = j.ready_at AND seq = j.seq;
    END IF;
    IF NOT FOUND THEN
      UPDATE "longshore".jobs SET cancel_requested = true WHERE id = the_id;
      RETURN 'cancelling';
    END IF;
    DELETE FROM "longshore".jobs WHERE id = the_id;
    IF keep THEN
      INSERT INTO "longshore".history (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, ended, finished_at, reason)
      VALUES (j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt, j.reports, j.progress,
        4, now, 'cancelled');
    END IF;
    RETURN 'cancelled';
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
CREATE FUNCTION longshore.enqueue(at bigint, ageing bigint, since bigint, fresh text[], ids text[], queues text[], names text[], tenants text[], priorities integer[], delays bigint[], bodies text[], channel text, rings text[]) RETURNS integer[]
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
  cancel_requested, reports, body)
        SELECT seq, seq, id, queue, job, tenant_id, priority, now, now + delay, now + delay + priority * ageing, 0, false,
          false, '', body
        FROM (
          SELECT nextval('"longshore".turns') AS seq, g.*
          FROM unnest(ids, queues, names, tenants, priorities, delays, bodies) g (id, queue, job, tenant_id, priority, delay, body)
        ) g WHERE ended IS NULL OR NOT (id = ANY (ended)) ON CONFLICT (id) DO NOTHING
        RETURNING j.id, j.queue, j.rank, j.seq, j.ready_at),
      lined AS (INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM stored WHERE ready_at <= now),
      put_off AS (INSERT INTO "longshore".delayed (queue, ready_at, seq, rank, id)
        SELECT queue, ready_at, seq, rank, id FROM stored WHERE ready_at > now)
      SELECT array_agg(id) INTO stored_ids FROM stored;
    
    IF cardinality(rings) > 0 THEN
      PERFORM pg_notify(channel, ring) FROM unnest(rings) ring;
    END IF;
    IF cardinality(stored_ids) = cardinality(ids) THEN
      RETURN NULL;
    END IF;
    -- Of several copies in this call the first is none.
    RETURN ARRAY(
      SELECT n FROM (
        SELECT id, n, row_number() OVER (PARTITION BY id ORDER BY n) AS copy FROM unnest(ids) WITH ORDINALITY g (id, n)) g
      WHERE g.copy > 1 OR NOT (g.id = ANY (coalesce(stored_ids, '{}'))));
  END $$;
CREATE FUNCTION longshore.enqueue_alike(at bigint, ageing bigint, fresh text[], ids text[], the_queue text, the_job text, the_tenant text, the_priority integer, bodies text[], channel text, rings text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    the_rank bigint := now + the_priority * ageing;
  BEGIN
    
    IF cardinality(fresh) > 0 THEN
      INSERT INTO "longshore".queues (name) SELECT * FROM unnest(fresh) ON CONFLICT DO NOTHING;
    END IF;
    WITH stored AS (
      INSERT INTO "longshore".jobs AS j (seq, turn, id, queue, job, tenant_id, priority, created_at, ready_at, rank, attempt, interrupted,
  cancel_requested, reports, body)
      SELECT seq, seq, id, the_queue, the_job, the_tenant, the_priority, now, now, the_rank, 0, false, false, '', body
      FROM (SELECT nextval('"longshore".turns') AS seq, g.* FROM unnest(ids, bodies) g (id, body)) g
      RETURNING j.seq, j.id)
    INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) SELECT the_queue, the_rank, seq, now, id FROM stored;
    
    IF cardinality(rings) > 0 THEN
      PERFORM pg_notify(channel, ring) FROM unnest(rings) ring;
    END IF;
  END $$;
CREATE FUNCTION longshore.enqueue_new(at bigint, ageing bigint, fresh text[], ids text[], queues text[], names text[], tenants text[], priorities integer[], delays bigint[], bodies text[], channel text, rings text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
  DECLARE
    now bigint := coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  BEGIN
    
    IF cardinality(fresh) > 0 THEN
      INSERT INTO "longshore".queues (name) SELECT * FROM unnest(fresh) ON CONFLICT DO NOTHING;
    END IF;
    IF 0 = ALL (delays) THEN
      
      WITH stored AS (
        INSERT INTO "longshore".jobs AS j (seq, turn, id, queue, job, tenant_id, priority, created_at, ready_at, rank, attempt, interrupted,
  cancel_requested, reports, body)
        SELECT seq, seq, id, queue, job, tenant_id, priority, now, now + delay, now + delay + priority * ageing, 0, false,
          false, '', body
        FROM (
          SELECT nextval('"longshore".turns') AS seq, g.*
          FROM unnest(ids, queues, names, tenants, priorities, delays, bodies) g (id, queue, job, tenant_id, priority, delay, body)
        ) g 
        RETURNING j.id, j.queue, j.rank, j.seq, j.ready_at) INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM stored ;
    ELSE
      
      WITH stored AS (
        INSERT INTO "longshore".jobs AS j (seq, turn, id, queue, job, tenant_id, priority, created_at, ready_at, rank, attempt, interrupted,
  cancel_requested, reports, body)
        SELECT seq, seq, id, queue, job, tenant_id, priority, now, now + delay, now + delay + priority * ageing, 0, false,
          false, '', body
        FROM (
          SELECT nextval('"longshore".turns') AS seq, g.*
          FROM unnest(ids, queues, names, tenants, priorities, delays, bodies) g (id, queue, job, tenant_id, priority, delay, body)
        ) g 
        RETURNING j.id, j.queue, j.rank, j.seq, j.ready_at), lined AS (INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM stored WHERE ready_at <= now) INSERT INTO "longshore".delayed (queue, ready_at, seq, rank, id)
        SELECT queue, ready_at, seq, rank, id FROM stored WHERE ready_at > now;
    END IF;
    
    IF cardinality(rings) > 0 THEN
      PERFORM pg_notify(channel, ring) FROM unnest(rings) ring;
    END IF;
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
        INSERT INTO "longshore".history (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, ended, finished_at, reason, error)
        VALUES (j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt, j.reports, j.progress,
          4, now, 'cancelled', NULL);
      END IF;
    ELSIF j.ready_at <= now THEN
      INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) VALUES (j.queue, j.rank, j.seq, j.ready_at, j.id);
    ELSE
      INSERT INTO "longshore".delayed (queue, ready_at, seq, rank, id) VALUES (j.queue, j.ready_at, j.seq, j.rank, j.id);
    END IF;
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
    UPDATE "longshore".jobs SET turn = nextval('"longshore".turns'), attempt = attempt + counted::int, interrupted = interrupted AND NOT counted,
      ready_at = now + delay, rank = now + delay + priority * ageing, reports = reports || report
    WHERE id = the_id AND turn = the_turn AND coalesce(
  (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = the_id AND r.claim = the_claim),
  EXISTS (SELECT FROM "longshore".leases l WHERE l.claim = the_claim AND l.until > now))
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
    back text[];
  BEGIN
    IF NOT EXISTS (SELECT FROM "longshore".leases l WHERE l.queue = the_queue AND l.until <= now)
      AND NOT EXISTS (SELECT FROM "longshore".renewals r WHERE r.queue = the_queue AND r.until <= now) THEN
      RETURN 0;
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
      WHERE NOT EXISTS (SELECT FROM "longshore".renewals r WHERE r.id = m.id AND r.turn = m.turn)
      UNION ALL SELECT id, turn, claimed_at FROM unrenewed),
    freed AS (
      UPDATE "longshore".jobs j SET turn = nextval('"longshore".turns'), attempt = j.attempt + 1, interrupted = true, ready_at = now,
        rank = now + j.priority * ageing, reports = j.reports || format(lost, j.attempt + 1, o.claimed_at, now) || E'\n'
      FROM over o WHERE j.id = o.id AND j.turn = o.turn RETURNING j.id)
    SELECT array_agg(id) INTO back FROM freed;
    PERFORM "longshore".line(now, keep, id) FROM unnest(back) id;
    RETURN coalesce(cardinality(back), 0);
  END $$;
CREATE FUNCTION longshore.record(the_id text, since bigint) RETURNS TABLE(id text, queue text, job text, tenant_id text, state integer, priority smallint, created_at bigint, ready_at bigint, attempt integer, finished_at bigint, reason text, error text, progress text, reports text)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
  #variable_conflict use_column
  BEGIN
    RETURN QUERY SELECT id, queue, job, tenant_id, state, priority, created_at, ready_at, attempt, finished_at, reason, error, progress, reports FROM ((
  SELECT seq, id, queue, job, tenant_id, priority, created_at, ready_at, reports, progress, attempt + leased::int AS attempt, leased::int AS state, NULL::bigint AS finished_at,
    NULL::text AS reason, NULL::text AS error
  FROM (
    SELECT j.*, NOT EXISTS (SELECT FROM "longshore".ready r WHERE r.queue = j.queue AND r.rank = j.rank AND r.seq = j.seq)
      AND NOT EXISTS (SELECT FROM "longshore".delayed d WHERE d.queue = j.queue AND d.ready_at = j.ready_at AND d.seq = j.seq) AS leased
    FROM "longshore".jobs j) alive
  WHERE id = the_id AND true ) UNION ALL (
  SELECT seq, id, queue, job, tenant_id, priority, created_at, ready_at, reports, progress, attempt, ended AS state, finished_at, reason, error FROM "longshore".dead WHERE id = the_id AND true ) UNION ALL (
  SELECT seq, id, queue, job, tenant_id, priority, created_at, ready_at, reports, progress, attempt, ended AS state, finished_at, reason, error FROM "longshore".history WHERE id = the_id AND true AND finished_at > since )) records ORDER BY seq + 0 DESC LIMIT 1;
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
      JOIN "longshore".jobs j ON j.id = a.id AND j.turn = a.turn
      WHERE coalesce(
  (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]),
  EXISTS (SELECT FROM "longshore".leases l WHERE l.claim = p_claims[a.which] AND l.until > now)) FOR UPDATE OF j),
    written AS (
      INSERT INTO "longshore".renewals AS r (id, turn, claim, queue, claimed_at, until)
      SELECT DISTINCT ON (o.id) o.id, o.turn, o.claim, o.queue, coalesce(
        (SELECT l.claimed_at FROM "longshore".leases l WHERE l.claim = o.claim AND l.queue = o.queue), now), now + lease_ms FROM owned o
      ON CONFLICT (id) DO UPDATE SET turn = excluded.turn, claim = excluded.claim, until = excluded.until,
        claimed_at = CASE WHEN r.claim = excluded.claim THEN r.claimed_at ELSE excluded.claimed_at END)
    SELECT coalesce(array_agg(n), '{}') INTO renewed FROM owned;
    RETURN renewed;
  END $$;
CREATE FUNCTION longshore.revive(at bigint, ageing bigint, the_ids text[]) RETURNS TABLE(revived_queue text)
    LANGUAGE sql
    AS $$
    WITH given AS (SELECT coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now),
    found AS (DELETE FROM "longshore".dead WHERE id = ANY (the_ids) RETURNING *),
    back AS (
      INSERT INTO "longshore".jobs (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, turn, rank, interrupted, cancel_requested, body)
      SELECT seq, id, queue, job, tenant_id, priority, created_at, now, 0, reports, progress, nextval('"longshore".turns'),
        now + priority * ageing, false, false, body FROM found, given
      RETURNING queue, rank, seq, ready_at, id)
    INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM back RETURNING queue
  $$;
CREATE FUNCTION longshore.settle(at bigint, p_ids text[], p_turns bigint[], p_which integer[], p_claims text[], p_reports text[], p_renewed text[], p_finished text[], p_keys text[], p_owners text[], p_vals text[], p_keeps bigint[], p_places integer[]) RETURNS integer[]
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
    settled int[];
  BEGIN
    
  IF cardinality(p_ids) > 0 THEN
    alive := ARRAY(
      SELECT EXISTS (SELECT FROM "longshore".leases l WHERE l.claim = c.claim AND l.until + 0 > now)
      FROM unnest(p_claims) WITH ORDINALITY c (claim, n) ORDER BY n);
    IF p_reports IS NULL THEN
      WITH gone AS (
        DELETE FROM "longshore".jobs j USING unnest(p_ids, p_turns, p_which) WITH ORDINALITY a (id, turn, which, n)
        WHERE j.id = a.id AND j.turn = a.turn AND coalesce(
          (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]), alive[a.which])
        RETURNING a.n)
      SELECT CASE WHEN count(*) < cardinality(p_ids) THEN coalesce(array_agg(n), '{}') END INTO settled FROM gone;
    ELSE
      WITH gone AS (
        DELETE FROM "longshore".jobs j USING unnest(p_ids, p_turns, p_which, p_reports) WITH ORDINALITY a (id, turn, which, report, n)
        WHERE j.id = a.id AND j.turn = a.turn AND coalesce(
          (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]), alive[a.which])
        RETURNING a.n, j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt + 1 AS attempt,
          j.reports || a.report AS reports, j.progress),
      kept AS (
        INSERT INTO "longshore".history (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, ended, finished_at) SELECT seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, 2, now FROM gone)
      SELECT CASE WHEN count(*) < cardinality(p_ids) THEN coalesce(array_agg(n), '{}') END INTO settled FROM gone;
    END IF;
    IF cardinality(p_keys) > 0 THEN
      UPDATE "longshore".keys k SET owner = NULL, hold_until = 0, done = true, value = d.value, keep_until = now + d.keep
      FROM unnest(p_keys, p_owners, p_vals, p_keeps, p_places) d (key, owner, value, keep, n)
      WHERE k.key = d.key AND k.owner = d.owner AND (settled IS NULL OR d.n = ANY (settled));
    END IF;
    IF cardinality(p_renewed) > 0 THEN
      -- A renewal that has ended must stay: without it the claim's own end, which may be later, would count again.
      DELETE FROM "longshore".renewals r WHERE r.id = ANY (p_renewed) AND r.claim = ANY (p_claims)
        AND NOT EXISTS (SELECT FROM "longshore".jobs j WHERE j.id = r.id AND j.turn = r.turn);
    END IF;
  END IF;
  -- Not if anything failed: an expired lease that is not settled must be left for the reaper to find.
  IF cardinality(p_finished) > 0 AND settled IS NULL THEN
    DELETE FROM "longshore".leases l WHERE l.claim = ANY (p_finished);
  END IF;
    RETURN settled;
  END $$;
CREATE FUNCTION longshore.stats(at bigint, only_queue text) RETURNS TABLE(name text, ready bigint, delayed bigint, leased bigint, dead bigint, paused boolean, oldest bigint)
    LANGUAGE sql
    SET jit TO 'off'
    AS $$
    SELECT q.name,
      (SELECT count(*) FROM "longshore".ready r WHERE r.queue = q.name) +
        (SELECT count(*) FROM "longshore".delayed d WHERE d.queue = q.name AND d.ready_at <= q.now),
      (SELECT count(*) FROM "longshore".delayed d WHERE d.queue = q.name AND d.ready_at > q.now),
      (SELECT count(*) FROM "longshore".leases l CROSS JOIN LATERAL unnest(l.ids, l.turns) m (id, turn)
        JOIN "longshore".jobs j ON j.id = m.id AND j.turn = m.turn
        WHERE l.queue = q.name AND NOT EXISTS (SELECT FROM "longshore".renewals r WHERE r.id = m.id AND r.turn = m.turn)) +
      (SELECT count(*) FROM "longshore".renewals r JOIN "longshore".jobs j ON j.id = r.id AND j.turn = r.turn WHERE r.queue = q.name),
      (SELECT count(*) FROM "longshore".dead d WHERE d.queue = q.name),
      coalesce((SELECT paused FROM "longshore".queues p WHERE p.name = q.name), false),
      q.now - least(
        (SELECT min(r.ready_at) FROM "longshore".ready r WHERE r.queue = q.name),
        (SELECT min(d.ready_at) FROM "longshore".delayed d WHERE d.queue = q.name AND d.ready_at <= q.now))
    FROM (
      SELECT names.name, coalesce(at::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now
      FROM (SELECT only_queue AS name WHERE only_queue IS NOT NULL
        UNION ALL SELECT n.name FROM "longshore".queues n WHERE only_queue IS NULL) names) q
    ORDER BY q.name
  $$;
CREATE FUNCTION longshore.work(at bigint, p_ids text[], p_turns bigint[], p_which integer[], p_claims text[], p_reports text[], p_renewed text[], p_finished text[], p_keys text[], p_owners text[], p_vals text[], p_keeps bigint[], p_places integer[], wanted text[], most integer, lease_ms bigint, nonce text) RETURNS TABLE(id text, turn bigint, attempt integer, interrupted boolean, queue text, body text)
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
    settled int[];
    open text[];
  BEGIN
    
  IF cardinality(p_ids) > 0 THEN
    alive := ARRAY(
      SELECT EXISTS (SELECT FROM "longshore".leases l WHERE l.claim = c.claim AND l.until + 0 > now)
      FROM unnest(p_claims) WITH ORDINALITY c (claim, n) ORDER BY n);
    IF p_reports IS NULL THEN
      WITH gone AS (
        DELETE FROM "longshore".jobs j USING unnest(p_ids, p_turns, p_which) WITH ORDINALITY a (id, turn, which, n)
        WHERE j.id = a.id AND j.turn = a.turn AND coalesce(
          (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]), alive[a.which])
        RETURNING a.n)
      SELECT CASE WHEN count(*) < cardinality(p_ids) THEN coalesce(array_agg(n), '{}') END INTO settled FROM gone;
    ELSE
      WITH gone AS (
        DELETE FROM "longshore".jobs j USING unnest(p_ids, p_turns, p_which, p_reports) WITH ORDINALITY a (id, turn, which, report, n)
        WHERE j.id = a.id AND j.turn = a.turn AND coalesce(
          (SELECT r.until > now FROM "longshore".renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]), alive[a.which])
        RETURNING a.n, j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt + 1 AS attempt,
          j.reports || a.report AS reports, j.progress),
      kept AS (
        INSERT INTO "longshore".history (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, ended, finished_at) SELECT seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, progress, 2, now FROM gone)
      SELECT CASE WHEN count(*) < cardinality(p_ids) THEN coalesce(array_agg(n), '{}') END INTO settled FROM gone;
    END IF;
    IF cardinality(p_keys) > 0 THEN
      UPDATE "longshore".keys k SET owner = NULL, hold_until = 0, done = true, value = d.value, keep_until = now + d.keep
      FROM unnest(p_keys, p_owners, p_vals, p_keeps, p_places) d (key, owner, value, keep, n)
      WHERE k.key = d.key AND k.owner = d.owner AND (settled IS NULL OR d.n = ANY (settled));
    END IF;
    IF cardinality(p_renewed) > 0 THEN
      -- A renewal that has ended must stay: without it the claim's own end, which may be later, would count again.
      DELETE FROM "longshore".renewals r WHERE r.id = ANY (p_renewed) AND r.claim = ANY (p_claims)
        AND NOT EXISTS (SELECT FROM "longshore".jobs j WHERE j.id = r.id AND j.turn = r.turn);
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
      WITH due AS (
        DELETE FROM "longshore".delayed WHERE ctid = ANY (ARRAY(
          SELECT d.ctid FROM "longshore".delayed d WHERE d.queue = ANY (wanted) AND d.ready_at <= now
          ORDER BY d.ready_at, d.seq LIMIT 1000 FOR UPDATE SKIP LOCKED))
        RETURNING queue, rank, seq, ready_at, id)
      INSERT INTO "longshore".ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM due;
    END IF;
    open := ARRAY(SELECT q FROM unnest(wanted) q
      WHERE NOT EXISTS (SELECT FROM "longshore".queues n WHERE n.name = q AND n.paused));
    RETURN QUERY SELECT NULL::text, (
      SELECT min(d.ready_at) - now FROM unnest(open) q (queue) CROSS JOIN LATERAL (
        SELECT d.ready_at FROM "longshore".delayed d WHERE d.queue = q.queue ORDER BY d.queue, d.ready_at LIMIT 1) d),
      NULL::int, NULL::boolean, NULL::text, settled::text;
    IF cardinality(open) = 1 THEN
      
  RETURN QUERY WITH picked AS (
    DELETE FROM "longshore".ready WHERE ctid = ANY (ARRAY(SELECT r.ctid FROM "longshore".ready r WHERE r.queue = open[1] ORDER BY r.queue, r.rank, r.seq LIMIT most
          FOR UPDATE SKIP LOCKED)) RETURNING rank, seq, id),
  taken AS MATERIALIZED (
    SELECT j.queue, j.rank, j.seq, j.id, j.turn, j.attempt + 1 AS attempt, j.interrupted, j.body
    FROM picked p JOIN "longshore".jobs j ON j.id = p.id ORDER BY j.rank, j.seq),
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
          FOR UPDATE SKIP LOCKED) spot)) RETURNING rank, seq, id),
  taken AS MATERIALIZED (
    SELECT j.queue, j.rank, j.seq, j.id, j.turn, j.attempt + 1 AS attempt, j.interrupted, j.body
    FROM picked p JOIN "longshore".jobs j ON j.id = p.id ORDER BY j.rank, j.seq),
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
    body text NOT NULL
);
CREATE TABLE longshore.delayed (
    queue text NOT NULL COLLATE pg_catalog."C",
    ready_at bigint NOT NULL,
    seq bigint NOT NULL,
    rank bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
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
    error text
)
PARTITION BY RANGE (finished_at);
CREATE TABLE longshore.history_20261121 (
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
    error text
);
CREATE TABLE longshore.history_20261122 (
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
    error text
);
CREATE TABLE longshore.history_20261123 (
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
    error text
);
CREATE TABLE longshore.history_20261124 (
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
    error text
);
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
    error text
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
    error text
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
    error text
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
    error text
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
    error text
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
    error text
);
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
    body text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='5000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');
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
CREATE TABLE longshore.longshore (
    version integer NOT NULL
);
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
    paused boolean DEFAULT false NOT NULL
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
CREATE SEQUENCE longshore.turns
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE longshore.workers (
    id text NOT NULL COLLATE pg_catalog."C",
    seen_at bigint NOT NULL,
    beat text NOT NULL
);
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261121 FOR VALUES FROM ('1795219200000') TO ('1795305600000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261122 FOR VALUES FROM ('1795305600000') TO ('1795392000000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261123 FOR VALUES FROM ('1795392000000') TO ('1795478400000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261124 FOR VALUES FROM ('1795478400000') TO ('1795564800000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261125 FOR VALUES FROM ('1795564800000') TO ('1795651200000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261126 FOR VALUES FROM ('1795651200000') TO ('1795737600000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261127 FOR VALUES FROM ('1795737600000') TO ('1795824000000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261128 FOR VALUES FROM ('1795824000000') TO ('1795910400000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_20261129 FOR VALUES FROM ('1795910400000') TO ('1795996800000');
ALTER TABLE ONLY longshore.history ATTACH PARTITION longshore.history_other DEFAULT;
INSERT INTO longshore.dead VALUES (3, 'dead', 'mail', 'mail.send', NULL, 5, 1767225600351, 1767225600351, 1, '{"attempt":1,"startedAt":1767225600371,"endedAt":1767225600379,"outcome":"dead-lettered","error":{"code":"HANDLER","message":"There is no such address.","stack":"PermanentError: There is no such address."},"output":null}
', NULL, 3, 1767225600379, 'permanent', 'HANDLER: There is no such address.', '{"v":1,"job":"mail.send","payload":{"to":"dead"},"queue":"mail","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"dead","idempotencyKey":null,"schedule":null,"issuedAt":1767225600350,"expiresAt":null,"context":null,"kid":"stored","_sig":"41001a453385ca13aaceba4b72437a6a7043c8f5295fd475d6908818efb4d5b4"}');
INSERT INTO longshore.delayed VALUES ('mail', 1767229200379, 2, 1767247200379, 'failing');
INSERT INTO longshore.delayed VALUES ('mail', 1767229200677, 10, 1767247200677, 'delayed');
INSERT INTO longshore.history_other VALUES (1, 'done', 'mail', 'mail.send', NULL, 5, 1767225600317, 1767225600317, 1, '{"attempt":1,"startedAt":1767225600371,"endedAt":1767225600383,"outcome":"acked","error":null,"output":"{\"sent\":\"done\"}"}
', '{"done":5,"total":10,"message":"half","at":1767225600371}', 2, 1767225600386, NULL, NULL);
INSERT INTO longshore.history_other VALUES (4, 'charged', 'cards', 'card.charge', NULL, 5, 1767225600354, 1767225600354, 1, '{"attempt":1,"startedAt":1767225600371,"endedAt":1767225600531,"outcome":"acked","error":null,"output":"{\"sent\":\"card-1\"}"}
', '{"done":5,"total":null,"message":null,"at":1767225600517}', 2, 1767225600531, NULL, NULL);
INSERT INTO longshore.history_other VALUES (6, 'cancelled', 'mail', 'mail.send', NULL, 5, 1767225600634, 1767229200634, 0, '', NULL, 4, 1767225600644, 'cancelled', NULL);
INSERT INTO longshore.jobs VALUES (2, 'failing', 'mail', 'mail.send', NULL, 5, 1767225600342, 1767229200379, 1, '{"attempt":1,"startedAt":1767225600371,"endedAt":1767225600379,"outcome":"requeued","error":{"code":"HANDLER","message":"The mail server is down.","stack":"Error: The mail server is down."},"output":null}
', NULL, 5, 1767247200379, false, false, '{"v":1,"job":"mail.send","payload":{"to":"failing"},"queue":"mail","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"failing","idempotencyKey":null,"schedule":null,"issuedAt":1767225600342,"expiresAt":null,"context":null,"kid":"stored","_sig":"2614781cbbc71137c8e9a70caee4e34624464876e787fec444342c1200ef06b8"}');
INSERT INTO longshore.jobs VALUES (7, 'vanished', 'mail', 'mail.send', NULL, 0, 1767225600657, 1767225600657, 0, '', NULL, 7, 1767225600657, false, false, '{"v":1,"job":"mail.send","payload":{"to":"vanished"},"queue":"mail","priority":0,"maxRetries":3,"attempts":0,"name":null,"identifier":"vanished","idempotencyKey":null,"schedule":null,"issuedAt":1767225600657,"expiresAt":null,"context":null,"kid":"stored","_sig":"9e35e7115ab8840a2d6bc455480ba68655bd4167966deccda0b64dd697a40842"}');
INSERT INTO longshore.jobs VALUES (8, 'ready', 'mail', 'mail.send', 'tenant-1', 8, 1767225600661, 1767225600661, 0, '', NULL, 8, 1767254400661, false, false, '{"v":1,"job":"mail.send","payload":{"to":"ready"},"queue":"mail","priority":8,"maxRetries":3,"attempts":0,"name":"A label","identifier":"ready","idempotencyKey":null,"schedule":null,"issuedAt":1767225600661,"expiresAt":null,"context":{"tenantId":"tenant-1"},"kid":"stored","_sig":"9e39dfc73b77e91a2d1f8b6f1d6d6b4b1689a6f7e5aa361669d006a6380bd304"}');
INSERT INTO longshore.jobs VALUES (9, 'urgent', 'mail', 'mail.send', NULL, 2, 1767225600675, 1767225600675, 0, '', NULL, 9, 1767232800675, false, false, '{"v":1,"job":"mail.send","payload":{"to":"urgent"},"queue":"mail","priority":2,"maxRetries":3,"attempts":0,"name":null,"identifier":"urgent","idempotencyKey":null,"schedule":null,"issuedAt":1767225600675,"expiresAt":null,"context":null,"kid":"stored","_sig":"b8dea32bc59db0422c48b1a2a11cfb1fdae5459bc4ee5015eedd88483de431fa"}');
INSERT INTO longshore.jobs VALUES (10, 'delayed', 'mail', 'mail.send', NULL, 5, 1767225600677, 1767229200677, 0, '', NULL, 10, 1767247200677, false, false, '{"v":1,"job":"mail.send","payload":{"to":"delayed"},"queue":"mail","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"delayed","idempotencyKey":null,"schedule":1767229200677,"issuedAt":1767225600677,"expiresAt":null,"context":null,"kid":"stored","_sig":"7456d24be5a096442390e83f93a23cce747f3dec28640127e58d18ba2974ad39"}');
INSERT INTO longshore.jobs VALUES (11, 'paused', 'quiet', 'mail.send', NULL, 5, 1767225600686, 1767225600686, 0, '', NULL, 11, 1767243600686, false, false, '{"v":1,"job":"mail.send","payload":{"to":"paused"},"queue":"quiet","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"paused","idempotencyKey":null,"schedule":null,"issuedAt":1767225600686,"expiresAt":null,"context":null,"kid":"stored","_sig":"d3d49ce4886f750d83004dd5f2fa8d1e5ae1a1fda058f33a03788c42be29725d"}');
INSERT INTO longshore.jobs VALUES (12, 'charged-again', 'cards', 'card.charge', NULL, 5, 1767225600693, 1767225600693, 0, '', NULL, 12, 1767243600693, false, false, '{"v":1,"job":"card.charge","payload":{"to":"card-1"},"queue":"cards","priority":5,"maxRetries":3,"attempts":0,"name":null,"identifier":"charged-again","idempotencyKey":"card-1","schedule":null,"issuedAt":1767225600693,"expiresAt":null,"context":null,"kid":"stored","_sig":"f5fb1f0186834bbf26001961fd747eaa0391e428337f47c8a2b303804635099d"}');
INSERT INTO longshore.keys VALUES ('job:card.charge:card-1', NULL, 0, true, '{"sent":"card-1"}', 1767312000530);
INSERT INTO longshore.keys VALUES ('schedule:hourly', NULL, 0, false, '{"at":1767225600708,"lastId":null}', 1801785600708);
INSERT INTO longshore.leases VALUES ('JLdNImBuhbpUwaA4', 'mail', 1767225600659, 1767225630659, '{vanished}', '{7}');
INSERT INTO longshore.longshore VALUES (1);
INSERT INTO longshore.queues VALUES ('mail', false);
INSERT INTO longshore.queues VALUES ('cards', false);
INSERT INTO longshore.queues VALUES ('quiet', true);
INSERT INTO longshore.ready VALUES ('mail', 1767254400661, 8, 1767225600661, 'ready');
INSERT INTO longshore.ready VALUES ('mail', 1767232800675, 9, 1767225600675, 'urgent');
INSERT INTO longshore.ready VALUES ('quiet', 1767243600686, 11, 1767225600686, 'paused');
INSERT INTO longshore.ready VALUES ('cards', 1767243600693, 12, 1767225600693, 'charged-again');
INSERT INTO longshore.workers VALUES ('worker-1', 1767225660000, '{"id":"worker-1","host":"host-1","pid":42,"queues":["mail","cards"],"concurrency":10,"startedAt":1767225600000,"seenAt":1767225660000,"running":1,"counts":{"acked":2,"requeued":1,"dead-lettered":1,"rejected":0,"skipped-idempotent":0},"memoryBytes":60000000}');
SELECT pg_catalog.setval('longshore.outbox_seq_seq', 1, false);
SELECT pg_catalog.setval('longshore.records_seq_seq', 1, false);
SELECT pg_catalog.setval('longshore.turns', 12, true);
ALTER TABLE ONLY longshore.dead
    ADD CONSTRAINT dead_pkey PRIMARY KEY (id);
ALTER TABLE ONLY longshore.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY longshore.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (key);
ALTER TABLE ONLY longshore.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (claim, queue);
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
ALTER TABLE ONLY longshore.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);
CREATE INDEX dead_finished_at ON longshore.dead USING btree (finished_at, seq);
CREATE INDEX delayed_ready_at ON longshore.delayed USING btree (queue, ready_at, seq);
CREATE INDEX history_id ON ONLY longshore.history USING btree (id);
CREATE INDEX history_20261121_id_idx ON longshore.history_20261121 USING btree (id);
CREATE INDEX history_seq ON ONLY longshore.history USING btree (seq);
CREATE INDEX history_20261121_seq_idx ON longshore.history_20261121 USING btree (seq);
CREATE INDEX history_20261122_id_idx ON longshore.history_20261122 USING btree (id);
CREATE INDEX history_20261122_seq_idx ON longshore.history_20261122 USING btree (seq);
CREATE INDEX history_20261123_id_idx ON longshore.history_20261123 USING btree (id);
CREATE INDEX history_20261123_seq_idx ON longshore.history_20261123 USING btree (seq);
CREATE INDEX history_20261124_id_idx ON longshore.history_20261124 USING btree (id);
CREATE INDEX history_20261124_seq_idx ON longshore.history_20261124 USING btree (seq);
CREATE INDEX history_20261125_id_idx ON longshore.history_20261125 USING btree (id);
CREATE INDEX history_20261125_seq_idx ON longshore.history_20261125 USING btree (seq);
CREATE INDEX history_20261126_id_idx ON longshore.history_20261126 USING btree (id);
CREATE INDEX history_20261126_seq_idx ON longshore.history_20261126 USING btree (seq);
CREATE INDEX history_20261127_id_idx ON longshore.history_20261127 USING btree (id);
CREATE INDEX history_20261127_seq_idx ON longshore.history_20261127 USING btree (seq);
CREATE INDEX history_20261128_id_idx ON longshore.history_20261128 USING btree (id);
CREATE INDEX history_20261128_seq_idx ON longshore.history_20261128 USING btree (seq);
CREATE INDEX history_20261129_id_idx ON longshore.history_20261129 USING btree (id);
CREATE INDEX history_20261129_seq_idx ON longshore.history_20261129 USING btree (seq);
CREATE INDEX history_other_id_idx ON longshore.history_other USING btree (id);
CREATE INDEX history_other_seq_idx ON longshore.history_other USING btree (seq);
CREATE INDEX keys_ended ON longshore.keys USING btree (GREATEST(hold_until, keep_until));
CREATE INDEX leases_until ON longshore.leases USING btree (queue, until);
CREATE INDEX ready_rank ON longshore.ready USING btree (queue, rank, seq);
CREATE INDEX records_created_at ON longshore.records USING btree (created_at, seq);
CREATE INDEX records_finished_at ON longshore.records USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX records_status ON longshore.records USING btree (status, created_at, seq);
CREATE INDEX renewals_until ON longshore.renewals USING btree (queue, until);
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261121_id_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261121_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261122_id_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261122_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261123_id_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261123_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261124_id_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261124_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261125_id_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261125_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261126_id_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261126_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261127_id_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261127_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261128_id_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261128_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_20261129_id_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_20261129_seq_idx;
ALTER INDEX longshore.history_id ATTACH PARTITION longshore.history_other_id_idx;
ALTER INDEX longshore.history_seq ATTACH PARTITION longshore.history_other_seq_idx;
