import { GroupState } from './group-pieces.ts';
import { clock, hot } from './sql.ts';

/**
 * Changes or removes jobs that wait, and answers for each. A narrow row is owned by who deletes it, as in a fetch: so a job is given out
 * before the change or after it. It is deleted also where only the text changes, because a fetch that began before would read the old one.
 *
 * @param s the schema's name, quoted. In the function `delay` NULL = the time stays, `old_body` NULL = whatever its text is, `new_body` NULL = text
 * and facts stay.
 */
export const waitingFunction = (s: string): string => `
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
        -- Another transaction may have moved it between the two statements: then it is looked for again.
        CONTINUE WHEN NOT FOUND;
        -- Nobody else changes it from here on.
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
