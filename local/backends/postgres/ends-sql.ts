/**
 * Who waits for the end of a job: a row while they do, with the channel of their process. A job that ends finds it there, so it tells only
 * those who wait. It reads the row and leaves it: two that deleted rows in different orders would wait for one another. Unlogged, because
 * those who wait ask again and poll besides.
 */
const tables = (s: string): string => `
  CREATE UNLOGGED TABLE ${s}.waits (
    id text COLLATE "C" NOT NULL, channel text COLLATE "C" NOT NULL, until bigint NOT NULL, PRIMARY KEY (id, channel)
  ) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
  CREATE INDEX waits_until ON ${s}.waits (until);`;

/** Tells of jobs that end with this transaction, and answers how many it has told. */
const tell = (s: string): string => `
  CREATE FUNCTION ${s}.tell_ends(ids text[]) RETURNS int LANGUAGE plpgsql AS $$
  DECLARE
    told int := 0;
  BEGIN
    IF EXISTS (SELECT FROM ${s}.waits) THEN
      PERFORM pg_notify(w.channel, w.id) FROM ${s}.waits w WHERE w.id = ANY (ids);
      GET DIAGNOSTICS told = ROW_COUNT;
    END IF;
    RETURN told;
  END $$;`;

export const ends = (s: string): string => `${tables(s)} ${tell(s)}`;
