/** How a queue is counted, however long it is. */

import { GroupState } from '../shared/groups.ts';
import { clock, hot } from './sql.ts';

/** Up to so many are counted one by one; of more a sample tells how many there are. */
const mostCounted = 10_000;
/** Rows of a page: `MaxHeapTuplesPerPage` of a page of 8 kB. */
const mostPerPage = 291;
/** Pages of a sample. The estimate is about 5 % off. */
const sampledPages = 500;
/** The oldest job is looked for among the first ones: later ones of the same priority are younger. */
const mostCompared = 1_000;

/** In the order of the queues. One sample serves all: the same pages each time, so that the number of a queue that stands still does too. */
const count = (s: string): string => `
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
      -- What is far above it is not counted as well.
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
 * A member of a batch counts as leased while its job has the same `turn` and no renewal of its own. STABLE, with what it calls: all is
 * counted in one snapshot. Otherwise a job that is leased meanwhile is neither ready nor leased.
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
export const statsFunctions = (s: string): string => `${count(s)} ${stats(s)}`;
