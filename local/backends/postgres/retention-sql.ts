/**
 * Records that are kept longer or shorter than the others. Days of the history are dropped whole, so those of completed jobs are moved to a
 * part of their own: it holds what has ended an age after any day.
 */

import { clock } from './sql.ts';

/** Added to `finished_at` of a row in that part: 2^52, of which no real time has a bit. */
const apart = 2 ** 52;

/** The real one. */
export const finishedAt = `(finished_at & ${apart - 1})`;

/** An id may come again, so only what has just ended is looked at, which is in one day. */
const justNowMs = 60_000;

/** NULL = it has an end of its own. One column, because Postgres takes IS NULL to be rare: it would read all others and sort them. */
export const usualEnd = '(CASE WHEN keep_until IS NULL THEN finished_at END)';

/** @param s the schema's name, quoted */
export const ownRetention = (s: string): string => `
  ALTER TABLE ${s}.history ADD COLUMN keep_until bigint;
  ALTER TABLE ${s}.dead ADD COLUMN keep_until bigint;
  CREATE TABLE ${s}.history_kept PARTITION OF ${s}.history FOR VALUES FROM (${apart}) TO (MAXVALUE);
  CREATE INDEX history_kept_until ON ${s}.history_kept (keep_until);
  CREATE INDEX dead_kept_until ON ${s}.dead (keep_until) WHERE keep_until IS NOT NULL;
  CREATE INDEX dead_usual ON ${s}.dead (${usualEnd}, seq);
  -- Called around a settlement, in its statement: positions in p_ids that were settled, NULL = all, which it answers too. Of some of them
  -- p_which says the position, and p_keeps how long the record is kept.
  CREATE FUNCTION ${s}.keep_ended(settled int[], at bigint, p_ids text[], p_which int[], p_keeps bigint[])
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
        UPDATE ${s}.history SET finished_at = finished_at + ${apart}, keep_until = finished_at + k.keep
        WHERE id = k.id AND finished_at BETWEEN now - ${justNowMs} AND now + ${justNowMs};
        UPDATE ${s}.dead SET keep_until = finished_at + k.keep WHERE id = k.id;
      END IF;
    END LOOP;
    RETURN settled;
  END $$;`;
