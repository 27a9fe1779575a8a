/** The table of `postgresStore()`: records of jobs whose queue keeps none. */

/**
 * What is searched for stands beside the row, which is JSON.
 *
 * @param s the schema's name, quoted
 */
export const recordsTable = (s: string): string => `
  CREATE TABLE ${s}.records (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    version text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    job text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    finished_at bigint,
    guarded_until bigint NOT NULL,
    "row" text NOT NULL
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
  CREATE INDEX records_created_at ON ${s}.records (created_at, seq);
  CREATE INDEX records_status ON ${s}.records (status, created_at, seq);
  CREATE INDEX records_finished_at ON ${s}.records (finished_at) WHERE finished_at IS NOT NULL;`;
