/** How jobs that have a group are written. */

import { addQueues, findCopies, notify, stored } from './enqueue-sql.ts';
import { GroupState, lockOf } from './group-pieces.ts';
import { clock, hot } from './sql.ts';

const { inLine, apart, leased } = GroupState;

/** @param s the schema's name, quoted */
export const enqueueGroups = (s: string): string => `
  -- As enqueue, for jobs of which some have a group. apart: no group is locked; they join their lines when the next fetch finds them,
  -- so that nobody waits for the end of the caller's transaction.
  CREATE OR REPLACE FUNCTION ${s}.enqueue_grouped(
    at bigint, ageing bigint, since bigint, fresh text[], ids text[], queues text[], names text[], tenants text[], priorities int[],
    delays bigint[], bodies text[], keys text[], schedules text[], fact_texts text[], channel text, rings text[],
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
      ended := ${s}.ended_ids(since, ids);
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
  -- Jobs with a group that are in no narrow table wait again, as new ones of it.
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
