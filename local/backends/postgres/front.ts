/**
 * The front of the queues: the ready jobs with the lowest ranks. While any transaction is open for long, such as a backup, Postgres keeps
 * the index entries of all jobs that were fetched since, and a scan from the start steps over every one. So the scan begins at a floor.
 *
 * A floor is `{rank, time, queues}`. Jobs below `rank` were gone when it was made. A job that came since has a rank of at least `time`
 * plus its priority's share, so the scan looks at one short stretch for each priority, and at all from `rank` on. A job may still land
 * elsewhere: its transaction was open for long, or its old rank counts again after a change. So the database looks there from time to time,
 * and scans from the start if any job is there.
 */

import { mostAheadMs } from '../shared/groups.ts';

/** A transaction that enqueues jobs is expected to commit within this time. */
const slackMs = 250;
const lowest = '(-9000000000000000000)';
const highest = '9000000000000000000';
const priorities = 10;

/** After a scan of fewer index pages the next one is whole, too. */
export const fewPages = 16;
/** A look below the floor comes after this time at the latest. */
const longestMs = 1_000;
/** Per index page of a look: a page costs some 25 µs with the rows that it leads to, so looks take a twentieth of the time. */
const msPerPage = 0.5;

/** After this many waiting jobs a look below the floor ends. */
const mostLooked = 1_000;

/** Pages of indexes that this connection has read so far. */
export const pagesRead = (s: string): string =>
  ['ready_rank', 'delayed_ready_at']
    .map((index) => `pg_stat_get_xact_blocks_fetched('${s}.${index}'::regclass)`)
    .join(' + ');

/** The time from which delayed jobs are looked at. */
export const since = `coalesce(floor[2], ${lowest})`;

export const frontFunctions = (s: string): string => `
  -- Locks the first ready jobs of these queues. last: the rank of the last one.
  CREATE OR REPLACE FUNCTION ${s}.front(
    open text[], most int, now bigint, ageing bigint, floor bigint[], OUT spots tid[], OUT ids text[], OUT last bigint
  ) LANGUAGE plpgsql AS $$
  DECLARE
    lows bigint[] := ARRAY[${lowest}];
    highs bigint[] := ARRAY[${highest}];
    room int := most;
    more record;
  BEGIN
    spots := '{}';
    ids := '{}';
    IF floor IS NOT NULL AND ageing > now + ${mostAheadMs} - floor[2] THEN
      SELECT array_agg(p.low ORDER BY p.low), array_agg(least(floor[1] - 1, p.high) ORDER BY p.low) INTO lows, highs FROM (
        SELECT floor[2] + n * ageing AS low, now + ${mostAheadMs} + n * ageing AS high FROM generate_series(0, ${priorities - 1}) n) p
      WHERE p.low < floor[1];
      IF lows IS NULL OR floor[1] < ${highest} THEN
        lows := lows || floor[1];
        highs := highs || ${highest};
      END IF;
    ELSIF floor IS NOT NULL THEN -- the stretches overlap
      lows := ARRAY[least(floor[1], floor[2])];
    END IF;
    FOR i IN 1 .. cardinality(lows) LOOP
      IF cardinality(open) = 1 THEN
        SELECT array_agg(f.ctid) AS spots, array_agg(f.id) AS ids, max(f.rank) AS last INTO more FROM (
          SELECT r.ctid, r.id, r.rank FROM ${s}.ready r WHERE r.queue = open[1] AND r.rank BETWEEN lows[i] AND highs[i]
          ORDER BY r.queue, r.rank, r.seq LIMIT room FOR UPDATE SKIP LOCKED) f;
      ELSE
        -- Counts the jobs that each queue gives when the first of all queues are leased, and locks them.
        SELECT array_agg(f.ctid) AS spots, array_agg(f.id) AS ids, max(f.rank) AS last INTO more FROM (
          SELECT spot.* FROM (
            SELECT q.queue, count(*) AS n FROM (
              SELECT q.queue FROM unnest(open) q (queue) CROSS JOIN LATERAL (
                SELECT r.rank, r.seq FROM ${s}.ready r WHERE r.queue = q.queue AND r.rank BETWEEN lows[i] AND highs[i]
                ORDER BY r.queue, r.rank, r.seq LIMIT room) r
              ORDER BY r.rank, r.seq LIMIT room) q
            GROUP BY q.queue) share
          CROSS JOIN LATERAL (
            SELECT r.ctid, r.id, r.rank FROM ${s}.ready r WHERE r.queue = share.queue AND r.rank BETWEEN lows[i] AND highs[i]
            ORDER BY r.queue, r.rank, r.seq LIMIT share.n FOR UPDATE SKIP LOCKED) spot) f;
      END IF;
      IF more.spots IS NOT NULL THEN
        spots := spots || more.spots;
        ids := ids || more.ids;
        last := more.last;
        room := most - cardinality(spots);
        EXIT WHEN room <= 0;
      END IF;
    END LOOP;
  END $$;
  -- Whether any job waits below the floor where the scan does not look, or very many wait below it. With a bitmap each page of the table is
  -- read once. In the order of the index it would be read again and again, for nearly every job that is gone.
  CREATE OR REPLACE FUNCTION ${s}.waits_below(open text[], now bigint, ageing bigint, floor bigint[]) RETURNS boolean LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_indexscan = off SET enable_bitmapscan = on SET jit = off AS $$
  DECLARE
    width bigint := now + ${mostAheadMs} - floor[2];
  BEGIN
    RETURN EXISTS (SELECT FROM ${s}.delayed d WHERE d.queue = ANY (open) AND d.ready_at < floor[2]) OR (
      SELECT count(*) = ${mostLooked} OR coalesce(bool_or(b.above < 0 OR ageing > width
          AND (b.above >= ${priorities} * ageing OR b.above % nullif(ageing, 0) > width)), false)
      FROM (SELECT r.rank - floor[2] AS above FROM ${s}.ready r WHERE r.queue = ANY (open) AND r.rank < floor[1] LIMIT ${mostLooked}) b);
  END $$;
  -- The floor after a fetch that locked this many jobs. NULL = the next scan has to be whole.
  CREATE OR REPLACE FUNCTION ${s}.next_floor(now bigint, queues int, floor bigint[], seen int, most int, last bigint) RETURNS bigint[]
  LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
      WHEN seen < most THEN ARRAY[${highest}, now - ${slackMs}, queues]
      WHEN last < floor[1] THEN floor
      ELSE ARRAY[last, now - ${slackMs}, queues] END
  $$;`;

interface Known {
  /** As the database wrote it. */
  floor: string;
  readonly lookedAt: number;
  readonly forMs: number;
  until: number;
}

export type Floors = ReturnType<typeof createFloors>;

/** Lists of queues that a process fetches from are few. */
const mostLists = 100;

/** The floors of this process, by the queues of the fetch. @param steady for tests */
export function createFloors(steady: () => number = () => performance.now()) {
  const known = new Map<string, Known>();
  let looks = 0;
  const keyOf = (queues: readonly string[]): string => queues.join('\0');

  return {
    /** For a fetch that begins now. Pass the result to `learn` with the answer. */
    use(queues: readonly string[]) {
      const found = known.get(keyOf(queues)) ?? null;
      const isDue = !found || steady() >= found.until;
      return {
        /** With a fourth number: the fetch looks below the floor first. */
        floor: found && (isDue ? found.floor.replace('}', ',1}') : found.floor),
        /** How long the floor counts, ms; `null` = the fetch looks at the whole queues. */
        leftMs: () => (isDue ? null : Math.max(1, Math.ceil(found.until - steady()))),
        isDue,
        looks,
      };
    },
    /**
     * @param floor `null` = the next scan has to be whole
     * @param pages of the look below the floor, or of the whole scan
     */
    learn(
      queues: readonly string[],
      used: { readonly floor: string | null; readonly isDue: boolean; readonly looks: number },
      floor: string | null,
      pages: number,
    ): void {
      const key = keyOf(queues);
      const before = known.get(key);
      if (!used.isDue) {
        if (before?.floor !== used.floor) return; // another fetch has learned meanwhile
        if (floor === null) known.delete(key);
        else before.floor = floor;
      } else if (floor === null || pages <= fewPages || used.looks !== looks) {
        known.delete(key);
      } else {
        if (known.size >= mostLists) known.clear();
        const lookedAt = steady();
        const forMs = Math.min(longestMs, pages * msPerPage);
        known.set(key, { floor, lookedAt, forMs, until: lookedAt + forMs });
      }
    },
    /** A job may have landed below a floor. Brings looks forward, but they may take at most half of the time. */
    lookBack(): void {
      looks++;
      for (const one of known.values()) one.until = Math.min(one.until, one.lookedAt + one.forMs / 10);
    },
  };
}
