/**
 * The steps of a job as functions inside the database. Each takes one round trip, and its plans are cached with the connection, even
 * where prepared statements do not work (pgbouncer).
 *
 * `at` is the caller's time in epoch ms, for tests; NULL = the database's clock. Callers pass and get durations, so the clocks of
 * hosts may differ.
 *
 * Names in stored SQL do not change: a `claim` is a batch of leases, a `turn` is the version of a job.
 */

import { roomForReport } from '../shared/report-lines.ts';
import { fewPages, frontFunctions, pagesRead, since } from './front.ts';
import { cameForward, groupingOf } from './group-pieces.ts';
import { clock, hot, recordNames, recordNamesOf, timeOf } from './sql.ts';

/**
 * `column = value` in a join, written so that the planner can only look up each value by the index. With `=` it may read the whole
 * index if the statistics say that the table is empty. VACUUM may have written that before the backlog came.
 */
const finds = (column: string, value: string): string => `${column} BETWEEN ${value} AND ${value}`;

/**
 * Whether the lease of a job has not expired. A renewal, which may also shorten the lease, replaces the end of the batch.
 * `+ 0` keeps the planner from the index by time, because nearly every batch is alive. Here and below, `OFFSET 0` makes it look up each
 * row by the index: without it Postgres may read the whole table.
 */
const alive = (s: string, claim: string, id: string): string => `coalesce(
  (SELECT r.until > now FROM ${s}.renewals r WHERE r.id = ${id} AND r.claim = ${claim}),
  EXISTS (SELECT FROM ${s}.leases l WHERE l.claim = ${claim} AND l.until + 0 > now OFFSET 0))`;

/** Locks the job of a lease, so that no other transaction can end the lease. @param $1 the caller's time; $2 the id; $3 the turn; $4 the claim */
export const holding = (s: string): string => `
  SELECT FROM ${s}.jobs j, (SELECT ${timeOf('$1')} AS now) t
  WHERE j.id = $2 AND j.turn = $3 AND ${alive(s, '$4', '$2')} FOR SHARE OF j`;

const room = (column: string): string => roomForReport(column, 'chr(10)', 'strpos');

const endNames = 'ended, finished_at, reason, error';

/** Acks. Each position of the arrays is one lease. Sets `settled` to the settled positions; NULL = all. */
const settle = (s: string): string => `
  IF cardinality(p_ids) > 0 THEN
    grouped_too := ${s}.lock_ending(p_ids);
    alive := ARRAY(
      SELECT EXISTS (SELECT FROM ${s}.leases l WHERE l.claim = c.claim AND l.until + 0 > now OFFSET 0)
      FROM unnest(p_claims) WITH ORDINALITY c (claim, n) ORDER BY n);
    IF p_reports IS NULL THEN
      WITH gone AS (
        DELETE FROM ${s}.jobs j USING unnest(p_ids, p_turns, p_which) WITH ORDINALITY a (id, turn, which, n)
        WHERE ${finds('j.id', 'a.id')} AND j.turn = a.turn AND coalesce(
          (SELECT r.until > now FROM ${s}.renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]), alive[a.which])
        RETURNING a.n)
      SELECT CASE WHEN count(*) < cardinality(p_ids) THEN coalesce(array_agg(n), '{}') END INTO settled FROM gone;
    ELSE
      WITH gone AS (
        DELETE FROM ${s}.jobs j USING unnest(p_ids, p_turns, p_which, p_reports) WITH ORDINALITY a (id, turn, which, report, n)
        WHERE ${finds('j.id', 'a.id')} AND j.turn = a.turn AND coalesce(
          (SELECT r.until > now FROM ${s}.renewals r WHERE r.id = a.id AND r.claim = p_claims[a.which]), alive[a.which])
        RETURNING a.n, j.seq, j.id, j.queue, j.job, j.tenant_id, j.priority, j.created_at, j.ready_at, j.attempt + 1 AS attempt,
          j.reports || a.report AS reports, j.progress, j.idempotency_key, j.schedule, j.facts,
          CASE WHEN a.n = ANY (p_kept) THEN j.body END AS body),
      kept AS (
        INSERT INTO ${s}.history (${recordNames}, body, ended, finished_at) SELECT ${recordNames}, body, 2, now FROM gone)
      SELECT CASE WHEN count(*) < cardinality(p_ids) THEN coalesce(array_agg(n), '{}') END INTO settled FROM gone;
    END IF;
    IF cardinality(p_keys) > 0 THEN
      UPDATE ${s}.keys k SET owner = NULL, hold_until = 0, done = true, value = d.value, keep_until = now + d.keep
      FROM unnest(p_keys, p_owners, p_vals, p_keeps, p_places) d (key, owner, value, keep, n)
      WHERE ${finds('k.key', 'd.key')} AND k.owner = d.owner AND (settled IS NULL OR d.n = ANY (settled));
    END IF;
    IF cardinality(p_renewed) > 0 THEN
      -- An expired renewal must stay: without it the end of the claim, which may be later, would count again.
      DELETE FROM ${s}.renewals r WHERE r.id = ANY (p_renewed) AND r.claim = ANY (p_claims)
        AND NOT EXISTS (SELECT FROM ${s}.jobs j WHERE j.id = r.id AND j.turn = r.turn OFFSET 0);
    END IF;
    IF EXISTS (SELECT FROM ${s}.waits) THEN
      PERFORM ${s}.tell_ends(CASE WHEN settled IS NULL THEN p_ids ELSE ARRAY(SELECT p_ids[n] FROM unnest(settled) n) END);
    END IF;
    IF grouped_too THEN
      PERFORM ${s}.end_groups(now, CASE WHEN settled IS NULL THEN p_ids ELSE ARRAY(SELECT p_ids[n] FROM unnest(settled) n) END);
    END IF;
  END IF;
  -- Not if any lease was not settled: an expired lease must be left for the reaper.
  IF cardinality(p_finished) > 0 AND settled IS NULL THEN
    DELETE FROM ${s}.leases l WHERE l.claim = ANY (p_finished);
  END IF;`;

const settleArguments = `
  at bigint, p_ids text[], p_turns bigint[], p_which int[], p_claims text[], p_reports text[], p_renewed text[], p_finished text[],
  p_keys text[], p_owners text[], p_vals text[], p_keeps bigint[], p_places int[], p_kept int[]`;

/** The most delayed jobs that one fetch makes ready. */
const mostPromoted = 1_000;

/** Leases the jobs of these narrow rows and deletes the rows. @param spots ctids @param behind ids of jobs without a narrow row, leased last */
const take = (s: string, spots: string, behind = ''): string => `
  RETURN QUERY WITH picked AS (
    DELETE FROM ${s}.ready WHERE ctid = ANY (${spots}) RETURNING ${behind && '0::bigint AS n, '}id),
  taken AS MATERIALIZED (
    SELECT j.queue, j.rank, j.seq, j.id, j.turn, j.attempt + 1 AS attempt, j.interrupted, j.body
    FROM ${behind ? `(SELECT * FROM picked UNION ALL SELECT b.n, b.id FROM unnest(${behind}) WITH ORDINALITY b (id, n))` : 'picked'} p
    JOIN ${s}.jobs j ON ${finds('j.id', 'p.id')} ORDER BY ${behind && 'p.n, '}j.rank, j.seq),
  lease AS (
    INSERT INTO ${s}.leases (claim, queue, claimed_at, until, ids, turns)
    SELECT nonce, t.queue, now, now + lease_ms, array_agg(t.id), array_agg(t.turn) FROM taken t GROUP BY t.queue)
  SELECT t.id, t.turn, t.attempt, t.interrupted, t.queue, t.body FROM taken t;`;

/**
 * Settles the acks and leases the next jobs, in one step. The last row is no job: `turn` is the ms until the next delayed job is
 * ready, `body` the settled positions as text (NULL = all), `queue` the queues in which a job of a group became ready. `attempt` is the
 * number of pages of the scan, or of the look below the floor, and `id` the next floor.
 */
const work = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.work(${settleArguments}, wanted text[], most int, lease_ms bigint, nonce text, ageing bigint,
    floor bigint[])
  RETURNS TABLE (id text, turn bigint, attempt int, interrupted boolean, queue text, body text)
  LANGUAGE plpgsql ${hot} AS $$
  #variable_conflict use_column
  DECLARE
    now bigint := ${clock};
    alive boolean[];
    grouped_too boolean;
    settled int[];
    open text[];
    has_groups boolean;
    spots tid[];
    heads text[];
    is_blocked boolean := false;
    behind text[];
    before bigint := ${pagesRead(s)};
    pages bigint;
    seen int := 0;
    last bigint;
    promoted int := 0;
    next_floor bigint[];
  BEGIN
    ${settle(s)}
    IF cardinality(p_ids) = 0 THEN
      -- A lease may be lost in a crash of the server: its jobs are just ready again. Settlements are durable.
      PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    open := ARRAY(SELECT q FROM unnest(wanted) q
      WHERE NOT EXISTS (SELECT FROM ${s}.queues n WHERE n.name = q AND n.paused));
    IF floor[3] <> cardinality(open) THEN
      floor := NULL; -- a queue was paused or resumed
    ELSIF floor[4] IS NOT NULL THEN
      IF ${s}.waits_below(open, now, ageing, floor) THEN
        floor := NULL;
        before := ${pagesRead(s)};
      ELSE
        floor := floor[1:3];
        pages := ${pagesRead(s)} - before;
      END IF;
    END IF;
    IF EXISTS (SELECT FROM ${s}.delayed d WHERE d.queue = ANY (wanted) AND d.ready_at BETWEEN ${since} AND now) THEN
      PERFORM ${s}.promote_groups(now, wanted);
      WITH due AS (
        DELETE FROM ${s}.delayed WHERE ctid = ANY (ARRAY(
          SELECT d.ctid FROM ${s}.delayed d WHERE d.queue = ANY (wanted) AND d.ready_at BETWEEN ${since} AND now
            AND NOT EXISTS (SELECT FROM ${s}.grouped g WHERE g.id = d.id AND g.apart_until IS NOT NULL OFFSET 0)
          ORDER BY d.ready_at, d.seq LIMIT ${mostPromoted} FOR UPDATE SKIP LOCKED))
        RETURNING queue, rank, seq, ready_at, id)
      INSERT INTO ${s}.ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM due;
      GET DIAGNOSTICS promoted = ROW_COUNT;
    END IF;
    has_groups := EXISTS (SELECT FROM ${s}.queues n WHERE n.name = ANY (open) AND n.grouped);
    IF has_groups THEN
      SELECT p.spots, p.heads, p.blocked, p.seen, p.last INTO spots, heads, is_blocked, seen, last
      FROM ${s}.pick(open, most, now, ageing, floor) p;
      IF heads IS NOT NULL THEN
        behind := ${s}.lease_heads(now, heads, most - cardinality(spots));
      END IF;
      ${take(s, 'spots', 'behind')}
    ELSIF cardinality(open) = 1 AND floor IS NULL THEN
      ${take(
        s,
        `ARRAY(SELECT r.ctid FROM ${s}.ready r WHERE r.queue = open[1] ORDER BY r.queue, r.rank, r.seq LIMIT most
          FOR UPDATE SKIP LOCKED)`,
      )}
      GET DIAGNOSTICS seen = ROW_COUNT;
    ELSIF cardinality(open) > 0 THEN
      SELECT p.spots, cardinality(p.spots), p.last INTO spots, seen, last FROM ${s}.front(open, most, now, ageing, floor) p;
      IF seen > 0 THEN
        ${take(s, 'spots')}
      END IF;
    END IF;
    pages := coalesce(pages, ${pagesRead(s)} - before);
    IF is_blocked OR promoted = ${mostPromoted} THEN
      next_floor := floor; -- some jobs were left behind
    ELSIF floor IS NOT NULL OR pages > ${fewPages} THEN
      next_floor := ${s}.next_floor(now, cardinality(open), floor, seen, most, CASE
        WHEN has_groups OR floor IS NOT NULL OR cardinality(open) <> 1 THEN last
        WHEN seen = most THEN (SELECT max(j.rank) FROM ${s}.leases l CROSS JOIN LATERAL unnest(l.ids) m (id)
          JOIN ${s}.jobs j ON ${finds('j.id', 'm.id')} WHERE l.claim = nonce) END);
    END IF;
    RETURN QUERY SELECT next_floor::text, (
      SELECT CASE WHEN is_blocked THEN 1 ELSE min(d.ready_at) - now END FROM unnest(open) q (queue) CROSS JOIN LATERAL (
        SELECT d.ready_at FROM ${s}.delayed d WHERE d.queue = q.queue AND d.ready_at >= ${since}
        ORDER BY d.queue, d.ready_at LIMIT 1) d),
      pages::int, NULL::boolean, ${cameForward}, settled::text;
  END $$;
  CREATE OR REPLACE FUNCTION ${s}.settle(${settleArguments}) RETURNS int[] LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint := ${clock};
    alive boolean[];
    grouped_too boolean;
    settled int[];
  BEGIN
    ${settle(s)}
    RETURN settled;
  END $$;`;

/** `line` requeues a job whose lease has ended, or ends it if it was cancelled during its run. */
const again = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.line(now bigint, keep boolean, the_id text) RETURNS void LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    j ${s}.jobs;
  BEGIN
    SELECT * INTO j FROM ${s}.jobs WHERE id = the_id;
    IF j.cancel_requested THEN
      DELETE FROM ${s}.jobs WHERE id = the_id;
      IF keep THEN
        INSERT INTO ${s}.history (${recordNames}, ${endNames})
        VALUES (${recordNamesOf('j')}, 4, now, 'cancelled', NULL);
      END IF;
      PERFORM ${s}.end_groups(now, ARRAY[the_id]);
      PERFORM ${s}.tell_ends(ARRAY[the_id]);
    ELSIF ${s}.wait_in_group(now, j) THEN
      RETURN;
    ELSIF j.ready_at <= now THEN
      INSERT INTO ${s}.ready (queue, rank, seq, ready_at, id) VALUES (j.queue, j.rank, j.seq, j.ready_at, j.id);
    ELSE
      INSERT INTO ${s}.delayed (queue, ready_at, seq, rank, id) VALUES (j.queue, j.ready_at, j.seq, j.rank, j.id);
    END IF;
  END $$;
  CREATE OR REPLACE FUNCTION ${s}.nack(
    at bigint, ageing bigint, keep boolean, the_id text, the_turn bigint, the_claim text, delay bigint, counted boolean,
    report text, channel text, finished text[]
  ) RETURNS boolean LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint := ${clock};
    the_queue text;
  BEGIN
    PERFORM ${s}.lock_groups(ARRAY[the_id]);
    UPDATE ${s}.jobs SET turn = nextval('${s}.turns'), attempt = attempt + counted::int, interrupted = interrupted AND NOT counted,
      ready_at = now + delay, rank = now + delay + priority * ageing, reports = ${room('reports')} || report
    WHERE id = the_id AND turn = the_turn AND ${alive(s, 'the_claim', 'the_id')}
    RETURNING queue INTO the_queue;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    DELETE FROM ${s}.renewals r WHERE r.id = the_id AND r.claim = the_claim;
    DELETE FROM ${s}.leases l WHERE l.claim = ANY (finished);
    PERFORM ${s}.line(now, keep, the_id);
    IF channel IS NOT NULL THEN
      PERFORM pg_notify(channel, the_queue);
    END IF;
    RETURN true;
  END $$;
  CREATE OR REPLACE FUNCTION ${s}.abandon(
    at bigint, keep boolean, the_id text, the_turn bigint, the_claim text, the_end int, why text, message text, report text,
    finished text[]
  ) RETURNS boolean LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint := ${clock};
    j ${s}.jobs;
  BEGIN
    PERFORM ${s}.lock_groups(ARRAY[the_id]);
    DELETE FROM ${s}.jobs WHERE id = the_id AND turn = the_turn AND ${alive(s, 'the_claim', 'the_id')} RETURNING * INTO j;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    DELETE FROM ${s}.renewals r WHERE r.id = the_id AND r.claim = the_claim;
    DELETE FROM ${s}.leases l WHERE l.claim = ANY (finished);
    j.attempt := j.attempt + 1;
    j.reports := j.reports || report;
    IF the_end <> 4 THEN
      INSERT INTO ${s}.dead (${recordNames}, ${endNames}, body, grouping)
      VALUES (${recordNamesOf('j')}, the_end, now, why, message, j.body, ${groupingOf(s, 'the_id')});
    ELSIF keep THEN
      INSERT INTO ${s}.history (${recordNames}, ${endNames})
      VALUES (${recordNamesOf('j')}, the_end, now, why, message);
    END IF;
    PERFORM ${s}.end_groups(now, ARRAY[the_id]);
    PERFORM ${s}.tell_ends(ARRAY[the_id]);
    RETURN true;
  END $$;`;

/** Returns the positions of the renewed leases. Their rows are locked against the reaper. `|| ''` keeps the planner from the index by queue. */
const renew = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.renew(at bigint, p_ids text[], p_turns bigint[], p_which int[], p_claims text[], lease_ms bigint)
  RETURNS int[] LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint := ${clock};
    renewed int[];
  BEGIN
    WITH owned AS (
      SELECT a.n, j.id, j.turn, j.queue, p_claims[a.which] AS claim
      FROM unnest(p_ids, p_turns, p_which) WITH ORDINALITY a (id, turn, which, n)
      JOIN ${s}.jobs j ON ${finds('j.id', 'a.id')} AND j.turn = a.turn
      WHERE ${alive(s, 'p_claims[a.which]', 'a.id')} FOR UPDATE OF j),
    written AS (
      INSERT INTO ${s}.renewals AS r (id, turn, claim, queue, claimed_at, until)
      SELECT DISTINCT ON (o.id) o.id, o.turn, o.claim, o.queue, coalesce(
        (SELECT l.claimed_at FROM ${s}.leases l WHERE l.claim = o.claim AND l.queue || '' = o.queue), now), now + lease_ms FROM owned o
      ON CONFLICT (id) DO UPDATE SET turn = excluded.turn, claim = excluded.claim, until = excluded.until,
        claimed_at = CASE WHEN r.claim = excluded.claim THEN r.claimed_at ELSE excluded.claimed_at END)
    SELECT coalesce(array_agg(n), '{}') INTO renewed FROM owned;
    RETURN renewed;
  END $$;`;

/**
 * One round: requeues jobs whose lease has expired, and returns how many. NULL = no expired lease is left, or other processes have
 * locked the rest. `lost` is the JSON of the report, as a format for numbers of the row.
 */
const reap = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.reap(at bigint, ageing bigint, keep boolean, the_queue text, lost text)
  RETURNS int LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint := ${clock};
    over_ids text[];
    over_turns bigint[];
    over_times bigint[];
    back text[];
    gone bigint;
  BEGIN
    IF NOT EXISTS (SELECT FROM ${s}.leases l WHERE l.queue = the_queue AND l.until <= now)
      AND NOT EXISTS (SELECT FROM ${s}.renewals r WHERE r.queue = the_queue AND r.until <= now) THEN
      RETURN NULL;
    END IF;
    WITH ended AS (
      DELETE FROM ${s}.leases WHERE ctid = ANY (ARRAY(
        SELECT l.ctid FROM ${s}.leases l WHERE l.queue = the_queue AND l.until <= now
        ORDER BY l.queue, l.until LIMIT 20 FOR UPDATE SKIP LOCKED))
      RETURNING claim, claimed_at, ids, turns),
    unrenewed AS (
      DELETE FROM ${s}.renewals WHERE ctid = ANY (ARRAY(
        SELECT r.ctid FROM ${s}.renewals r WHERE r.queue = the_queue AND r.until <= now
        ORDER BY r.queue, r.until LIMIT 1000 FOR UPDATE SKIP LOCKED))
      RETURNING id, turn, claimed_at),
    over AS (
      SELECT m.id, m.turn, e.claimed_at FROM ended e CROSS JOIN LATERAL unnest(e.ids, e.turns) m (id, turn)
      WHERE NOT EXISTS (SELECT FROM ${s}.renewals r WHERE r.id = m.id AND r.turn = m.turn OFFSET 0)
      UNION ALL SELECT id, turn, claimed_at FROM unrenewed)
    SELECT array_agg(id), array_agg(turn), array_agg(claimed_at), (SELECT count(*) FROM ended) + (SELECT count(*) FROM unrenewed)
    INTO over_ids, over_turns, over_times, gone FROM over;
    PERFORM ${s}.lock_groups(over_ids);
    WITH freed AS (
      UPDATE ${s}.jobs j SET turn = nextval('${s}.turns'), attempt = j.attempt + 1, interrupted = true, ready_at = now,
        rank = now + j.priority * ageing, reports = ${room('j.reports')} || format(lost, j.attempt + 1, o.claimed_at, now) || E'\\n'
      FROM unnest(over_ids, over_turns, over_times) o (id, turn, claimed_at)
      WHERE ${finds('j.id', 'o.id')} AND j.turn = o.turn RETURNING j.id)
    SELECT array_agg(id) INTO back FROM freed;
    PERFORM ${s}.line(now, keep, id) FROM unnest(back) id;
    RETURN CASE WHEN gone > 0 THEN coalesce(cardinality(back), 0) END;
  END $$;`;

/**
 * Creates or replaces the functions that lease, renew and settle.
 *
 * @param s the schema's name, quoted
 */
export const leaseFunctions = (s: string): string =>
  [frontFunctions, work, again, renew, reap].map((define) => define(s)).join('\n');
