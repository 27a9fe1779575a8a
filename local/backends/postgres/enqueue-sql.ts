/**
 * Writes jobs. Looking for a copy costs as much as writing the narrow row of a job, so jobs with a new id skip it. If there is a copy
 * nevertheless, the call fails with 23505 and is repeated with the look.
 */

import { GroupState } from '../shared/groups.ts';
import { lockOf } from './group-pieces.ts';
import { apartFrom, clock, databaseTime, hot } from './sql.ts';

const { inLine, apart, leased } = GroupState;

const jobNames = `seq, turn, id, queue, job, tenant_id, priority, created_at, ready_at, rank, attempt, interrupted,
  cancel_requested, reports, body`;
const factNames = 'idempotency_key, schedule, facts';
const readyNames = 'queue, rank, seq, ready_at, id';

/** The array parameter for each column. */
const arrays = {
  id: 'ids',
  queue: 'queues',
  job: 'names',
  tenant_id: 'tenants',
  priority: 'priorities',
  delay: 'delays',
  body: 'bodies',
  idempotency_key: 'keys',
  schedule: 'schedules',
  facts: 'fact_texts',
};

/** The arrays as rows. In FROM, each array would be stored before it is read, which takes as long as writing the indexes. */
const unnested = (columns: readonly (keyof typeof arrays)[]): string =>
  columns.map((name) => `unnest(${arrays[name]}) AS ${name}`).join(', ');
const allColumns = Object.keys(arrays) as (keyof typeof arrays)[];

/** Writes the jobs as `stored`. @param careful skips jobs that exist or have ended */
const stored = (s: string, careful: boolean): string => `
      WITH stored AS (
        INSERT INTO ${s}.jobs AS j (${jobNames}, ${factNames})
        SELECT seq, seq, id, queue, job, tenant_id, priority, now, now + delay, now + delay + priority * ageing, 0, false,
          false, '', body, ${factNames}
        FROM (SELECT nextval('${s}.turns') AS seq, ${unnested(allColumns)}) g ${careful ? 'WHERE ended IS NULL OR NOT (id = ANY (ended)) ON CONFLICT (id) DO NOTHING' : ''}
        RETURNING j.id, j.queue, j.rank, j.seq, j.ready_at)`;

const makeReady = (s: string, where: string): string =>
  `INSERT INTO ${s}.ready (${readyNames}) SELECT ${readyNames} FROM stored ${where}`;
const delay = (s: string): string =>
  `INSERT INTO ${s}.delayed (queue, ready_at, seq, rank, id)
        SELECT queue, ready_at, seq, rank, id FROM stored WHERE ready_at > now`;

const given = `fresh text[], ids text[], queues text[], names text[], tenants text[], priorities int[], delays bigint[],
    bodies text[], keys text[], schedules text[], fact_texts text[], channel text, rings text[]`;

const addQueues = (s: string): string => `
    IF cardinality(fresh) > 0 THEN
      INSERT INTO ${s}.queues (name) SELECT * FROM unnest(fresh) ON CONFLICT DO NOTHING;
    END IF;`;

const notify = `
    IF cardinality(rings) > 0 THEN
      PERFORM pg_notify(channel, ring) FROM unnest(rings) ring;
    END IF;`;

/** Makes both rows of each job from the parameters, which is faster than from RETURNING. */
const insertReady = (s: string): string => `
      seqs := ARRAY(SELECT nextval('${s}.turns') FROM generate_series(1, cardinality(ids)));
      INSERT INTO ${s}.jobs (${jobNames}, ${factNames})
      SELECT seq, seq, id, queue, job, tenant_id, priority, now, now, now + priority * ageing, 0, false, false, '', body, ${factNames}
      FROM (SELECT unnest(seqs) AS seq, ${unnested(allColumns.filter((name) => name !== 'delay'))}) g;
      INSERT INTO ${s}.ready (queue, rank, seq, ready_at, id)
      SELECT queue, now + priority * ageing, seq, now, id
      FROM (SELECT unnest(seqs) AS seq, ${unnested(['id', 'queue', 'priority'])}) g;`;

/** Enqueues jobs with new ids. */
const enqueueNew = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.enqueue_new(at bigint, ageing bigint, ${given}) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    now bigint := ${clock};
    seqs bigint[];
  BEGIN
    ${addQueues(s)}
    IF 0 = ALL (delays) THEN
      ${insertReady(s)}
    ELSE
      ${stored(s, false)}, lined AS (${makeReady(s, 'WHERE ready_at <= now')}) ${delay(s)};
    END IF;
    ${notify}
  END $$;`;

/** The positions of copies, which are not among `stored_ids`; NULL = none. The first of several equal ids in one call is no copy. */
const findCopies = (into: 'RETURN' | 'copies :='): string => `
    ${into} CASE WHEN cardinality(stored_ids) = cardinality(ids) THEN NULL ELSE ARRAY(
      SELECT n FROM (
        SELECT id, n, row_number() OVER (PARTITION BY id ORDER BY n) AS copy FROM unnest(ids) WITH ORDINALITY g (id, n)) g
      WHERE g.copy > 1 OR NOT (g.id = ANY (coalesce(stored_ids, '{}')))) END;`;

/**
 * For jobs that may exist, or may have ended since `since` (NULL = none has ended). `ended_ids` makes the plans for that, so that this
 * function needs no settings: they would slow a single job down. Returns the positions of copies; NULL = there was none.
 *
 * `latest` is for the planner: no job has ended after it, so the tables of days to come are not read. An hour is for a clock that is set
 * back. Version 0.1.0 does not pass it.
 */
const enqueue = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.ended_ids(since bigint, ids text[], latest bigint DEFAULT ${apartFrom}) RETURNS text[] LANGUAGE plpgsql ${hot} AS $$
  BEGIN
    RETURN nullif(ARRAY(
      SELECT h.id FROM ${s}.history h WHERE h.id = ANY (ids) AND h.finished_at >= since
        AND (h.finished_at <= latest OR h.finished_at >= ${apartFrom})
      UNION ALL SELECT d.id FROM ${s}.dead d WHERE d.id = ANY (ids)), '{}');
  END $$;
  CREATE OR REPLACE FUNCTION ${s}.enqueue(at bigint, ageing bigint, since bigint, ${given}) RETURNS int[] LANGUAGE plpgsql AS $$
  DECLARE
    now bigint := ${clock};
    ended text[];
    stored_ids text[];
  BEGIN
    ${addQueues(s)}
    IF since IS NOT NULL THEN
      ended := ${s}.ended_ids(since, ids, now + 3600000);
    END IF;
    ${stored(s, true)},
      lined AS (${makeReady(s, 'WHERE ready_at <= now')}),
      put_off AS (${delay(s)})
      SELECT array_agg(id) INTO stored_ids FROM stored;
    ${notify}
    ${findCopies('RETURN')}
  END $$;`;

/** As `enqueue`, if some jobs have a group. */
const enqueueGrouped = (s: string): string => `
  -- apart: no group is locked, so that no other process waits for the end of the caller's transaction.
  -- The jobs join their lines when the next fetch finds them.
  CREATE OR REPLACE FUNCTION ${s}.enqueue_grouped(
    at bigint, ageing bigint, since bigint, ${given},
    groups text[], orders text[], apart boolean
  ) RETURNS int[] LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint;
    ended text[];
    stored_ids text[];
    copies int[];
    group_queues text[];
    group_names text[];
  BEGIN
    ${addQueues(s)}
    SELECT array_agg(g.queue), array_agg(g.name) INTO group_queues, group_names FROM (
      SELECT DISTINCT n.queue, n.name FROM unnest(queues, groups) n (queue, name) WHERE n.name IS NOT NULL) g;
    PERFORM ${s}.mark_grouped(group_queues);
    IF NOT apart THEN
      PERFORM ${s}.lock_some(ARRAY(SELECT ${lockOf('n.queue', 'n.name')} FROM unnest(group_queues, group_names) n (queue, name)));
    END IF;
    now := ${clock};
    IF since IS NOT NULL THEN
      ended := ${s}.ended_ids(since, ids, now + 3600000);
    END IF;
    ${stored(s, true)}
      SELECT array_agg(id) INTO stored_ids FROM stored;
    ${findCopies('copies :=')}
    WITH new AS (
      SELECT j.id, j.seq, j.queue, n.name, n.ordering, j.ready_at, j.rank, j.rank - j.ready_at AS lag, j.ready_at <= now AS is_due,
        NOT apart AND j.ready_at <= now AS joins
      FROM unnest(ids, groups, orders) WITH ORDINALITY n (id, name, ordering, n) JOIN ${s}.jobs j ON j.id BETWEEN n.id AND n.id
      WHERE NOT (n.n = ANY (coalesce(copies, '{}')))),
    lined AS (
      INSERT INTO ${s}.ready (queue, rank, seq, ready_at, id)
      SELECT queue, rank, seq, ready_at, id FROM new WHERE is_due AND name IS NULL),
    put_off AS (
      INSERT INTO ${s}.delayed (queue, ready_at, seq, rank, id)
      SELECT queue, ready_at, seq, rank, id FROM new WHERE NOT is_due OR apart AND name IS NOT NULL),
    ends AS (
      SELECT queue, name, ${s}.last_place(queue, name) AS place FROM new WHERE joins AND ordering IS NOT NULL GROUP BY queue, name)
    INSERT INTO ${s}.grouped (id, seq, queue, name, ordering, state, place, apart_until, lag)
    SELECT i.id, i.seq, i.queue, i.name, i.ordering, CASE WHEN i.joins THEN ${inLine} ELSE ${apart} END,
      CASE WHEN NOT i.joins THEN NULL WHEN i.ordering IS NULL THEN i.rank
        ELSE greatest(i.ready_at, e.place + 1) + row_number() OVER (PARTITION BY i.queue, i.name, i.joins ORDER BY i.seq) - 1 END,
      CASE WHEN NOT i.joins THEN i.ready_at END, i.lag
    FROM new i LEFT JOIN ends e ON e.queue = i.queue AND e.name = i.name WHERE i.name IS NOT NULL;
    IF NOT apart THEN
      PERFORM ${s}.advance_groups(now, group_queues, group_names, array_fill(0::bigint, ARRAY[cardinality(group_names)]));
    END IF;
    ${notify}
    RETURN copies;
  END $$;
  -- Jobs with a group that are in no narrow table wait again, as new jobs of the group.
  CREATE OR REPLACE FUNCTION ${s}.revive_groups(now bigint, ids text[], groupings text[]) RETURNS int LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    j ${s}.jobs;
  BEGIN
    INSERT INTO ${s}.grouped (id, seq, queue, name, ordering, state, lag)
    SELECT t.id, t.seq, t.queue, n.grouping::json ->> 'group', n.grouping::json ->> 'order', ${leased}, t.rank - t.ready_at
    FROM unnest(ids, groupings) n (id, grouping) JOIN ${s}.jobs t ON t.id = n.id;
    PERFORM ${s}.mark_grouped(ARRAY(SELECT DISTINCT t.queue FROM ${s}.jobs t WHERE t.id = ANY (ids)));
    PERFORM ${s}.lock_groups(ids);
    FOR j IN SELECT t.* FROM ${s}.jobs t WHERE t.id = ANY (ids) ORDER BY t.seq LOOP
      PERFORM ${s}.wait_in_group(now, j);
    END LOOP;
    RETURN cardinality(ids);
  END $$;`;

/** @param s the schema's name, quoted */
export const enqueueFunctions = (s: string): string => `${enqueueNew(s)} ${enqueue(s)} ${enqueueGrouped(s)}`;

/**
 * One new job without a delay, for a known queue: without a function call, arrays or an answer. Use it only for prepared statements,
 * because planning it takes longer than running it. Constants are in the text: reading them from parameters, and a NOTIFY that is not
 * sent, would take a fifth of the server's time.
 *
 * Parameters: id, queue, job, tenant, priority, body; with `hasTime` the time; with `notifies` the channel; with `hasFacts` key,
 * schedule and facts.
 */
export function insertOne(
  s: string,
  ageingMs: number,
  { hasTime, notifies, hasFacts }: Record<'hasTime' | 'notifies' | 'hasFacts', boolean>,
): string {
  let given = 6;
  const now = hasTime ? `$${++given}::bigint` : databaseTime;
  const notified = notifies ? `, notified AS MATERIALIZED (SELECT pg_notify($${++given}, $2))` : '';
  const [names, facts] = hasFacts ? [`, ${factNames}`, `, $${++given}, $${++given}, $${++given}`] : ['', ''];
  return `
  WITH stored AS (
    INSERT INTO ${s}.jobs (${jobNames}${names})
    SELECT seq, seq, $1, $2, $3, $4, $5::smallint, now, now, now + $5::smallint * ${ageingMs}::bigint, 0, false, false, '', $6${facts}
    FROM (SELECT nextval('${s}.turns') AS seq, ${now} AS now) new
    RETURNING ${readyNames})${notified}
  INSERT INTO ${s}.ready (${readyNames})
  SELECT ${readyNames} FROM stored${notifies ? ', (SELECT count(*) FROM notified) calls' : ''}`;
}
