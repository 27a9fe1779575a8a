/** Batches inside the database: two bits for each child, 1,024 children per row. The row of the batch is locked before its marks are read. */

import { callWithinMs, keepCalledMs, keepSilentMs } from '../../../core/kit/records/batch-rules.ts';
import { clock, hot, stepSize } from './sql.ts';

export const blockSize = 1_024;
const bits = `bit(${blockSize})`;

const countMarks = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.count_marks(marks ${bits}) RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT length(replace(marks::text, '0', ''))
  $$;`;

/**
 * Returns the batches that are now complete. It does not wait for the disk: the settlements of these children are written after it, so
 * once they are on the disk, it is too.
 */
const endChildren = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.end_children(at bigint, p_batches text[], p_blocks int[], p_ok text[], p_bad text[])
  RETURNS SETOF text LANGUAGE plpgsql ${hot} AS $$
  DECLARE
    now bigint := ${clock};
    nothing CONSTANT ${bits} := repeat('0', ${blockSize})::${bits};
    b record;
    r record;
    valid ${bits};
    ok ${bits};
    bad ${bits};
    is_ended ${bits};
    is_failed ${bits};
    more_ended int;
    more_failed int;
    known int;
    is_over boolean;
  BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR b IN SELECT * FROM ${s}.batches WHERE id = ANY (p_batches) ORDER BY id FOR UPDATE LOOP
      CONTINUE WHEN b.completed_at IS NOT NULL;
      more_ended := 0;
      more_failed := 0;
      FOR r IN
        SELECT u.block, u.ok::${bits} AS ok, u.bad::${bits} AS bad, coalesce(m.ended, nothing) AS ended, coalesce(m.failed, nothing) AS failed
        FROM unnest(p_batches, p_blocks, p_ok, p_bad) u (batch, block, ok, bad)
        LEFT JOIN ${s}.batch_marks m ON m.batch = u.batch AND m.block = u.block
        WHERE u.batch = b.id
      LOOP
        known := least(${blockSize}, greatest(0, b.planned - r.block::bigint * ${blockSize}));
        valid := (repeat('1', known) || repeat('0', ${blockSize} - known))::${bits};
        ok := r.ok & valid;
        bad := r.bad & valid & ~ok & ~r.ended;
        is_ended := r.ended | ok | bad;
        is_failed := (r.failed & ~ok) | bad;
        CONTINUE WHEN is_ended = r.ended AND is_failed = r.failed;
        INSERT INTO ${s}.batch_marks AS m (batch, block, ended, failed) VALUES (b.id, r.block, is_ended, is_failed)
        ON CONFLICT (batch, block) DO UPDATE SET ended = excluded.ended, failed = excluded.failed;
        more_ended := more_ended + ${s}.count_marks(is_ended) - ${s}.count_marks(r.ended);
        more_failed := more_failed + ${s}.count_marks(is_failed) - ${s}.count_marks(r.failed);
      END LOOP;
      CONTINUE WHEN more_ended = 0 AND more_failed = 0;
      is_over := b.sealed AND b.succeeded + b.failed + more_ended = b.sent;
      UPDATE ${s}.batches SET succeeded = succeeded + more_ended - more_failed, failed = batches.failed + more_failed, changed_at = now
      WHERE id = b.id;
      IF is_over THEN
        UPDATE ${s}.batches SET completed_at = now, look_at = now + ${callWithinMs} WHERE id = b.id;
        RETURN NEXT b.id;
      END IF;
    END LOOP;
  END $$;`;

const reopenChildren = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.reopen_children(at bigint, p_batch text, p_blocks int[], p_marks text[]) RETURNS int LANGUAGE plpgsql AS $$
  DECLARE
    now bigint := ${clock};
    r record;
    taken int := 0;
  BEGIN
    PERFORM FROM ${s}.batches WHERE id = p_batch FOR UPDATE;
    FOR r IN
      SELECT m.block, m.failed & u.marks::${bits} AS marks FROM unnest(p_blocks, p_marks) u (block, marks)
      JOIN ${s}.batch_marks m ON m.batch = p_batch AND m.block = u.block
    LOOP
      taken := taken + ${s}.count_marks(r.marks);
      UPDATE ${s}.batch_marks SET ended = ended & ~r.marks, failed = failed & ~r.marks WHERE batch = p_batch AND block = r.block;
    END LOOP;
    IF taken > 0 THEN
      UPDATE ${s}.batches SET failed = failed - taken, round = round + (completed_at IS NOT NULL)::int, completed_at = NULL,
        called = false, cancelled_at = NULL, changed_at = now, look_at = now
      WHERE id = p_batch;
    END IF;
    RETURN taken;
  END $$;`;

/** @param s the schema's name, quoted */
export const batchFunctions = (s: string): string =>
  [countMarks, endChildren, reopenChildren].map((define) => define(s)).join('\n');

/** One step of a purge: returns how many expired batches it removed. */
export const purgeBatches = (s: string, now: string): string => `
  WITH past AS (
    DELETE FROM ${s}.batches WHERE id = ANY (ARRAY(
      SELECT id FROM ${s}.batches
      WHERE CASE WHEN called AND completed_at IS NOT NULL THEN completed_at + ${keepCalledMs} ELSE changed_at + ${keepSilentMs} END
        <= (SELECT ${now}) LIMIT ${stepSize} FOR UPDATE SKIP LOCKED))
    RETURNING id),
  marks AS (DELETE FROM ${s}.batch_marks m USING past WHERE m.batch = past.id)
  SELECT count(*) FROM past`;
