/** Tables and their versions. */

import { batches } from './batches-sql.ts';
import { ends } from './ends-sql.ts';
import { enqueueFunctions } from './enqueue-sql.ts';
import { leaseFunctions } from './functions.ts';
import { groupedQueues, groupFunctions, groupTables } from './group-sql.ts';
import { limits, takeSlots } from './limits-sql.ts';
import { daysOfHistory, keyFunctions, rareFunctions, replicaIdentities } from './maintenance.ts';
import { ownRetention } from './retention-sql.ts';
import { busy } from './sql.ts';
import { statsFunctions } from './stats-sql.ts';
import { stepTable, textTable } from './texts-sql.ts';
import { waitingFunction } from './waiting-sql.ts';

/** What a record needs to know of a job, whatever became of it. */
const record = `
  seq bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  job text NOT NULL,
  tenant_id text,
  priority smallint NOT NULL,
  created_at bigint NOT NULL,
  ready_at bigint NOT NULL,
  attempt int NOT NULL,
  reports text NOT NULL,
  progress text`;
const end = `
  ended smallint NOT NULL,
  finished_at bigint NOT NULL,
  reason text,
  error text`;

/**
 * A job is one wide row of `jobs`, which a fetch does not touch: copying it would be the most expensive part. A narrow row in `ready` or
 * `delayed` says where the job waits. A fetch deletes narrow rows and writes ONE row of `leases` for all jobs that it leases. A job's
 * `turn` is its version: a new number each time it is queued, so that an owner of an earlier lease finds nothing.
 */
const tables = (s: string): string => `
  CREATE SEQUENCE ${s}.turns;
  CREATE TABLE ${s}.jobs (${record},
    turn bigint NOT NULL,
    rank bigint NOT NULL,
    interrupted boolean NOT NULL,
    cancel_requested boolean NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (id)
  ) ${busy};
  CREATE TABLE ${s}.ready (
    queue text COLLATE "C" NOT NULL, rank bigint NOT NULL, seq bigint NOT NULL, ready_at bigint NOT NULL, id text COLLATE "C" NOT NULL
  ) ${busy};
  CREATE INDEX ready_rank ON ${s}.ready (queue, rank, seq);
  -- Kept apart: delayed jobs in front of the ready ones would be stepped over at every claim.
  CREATE TABLE ${s}.delayed (
    queue text COLLATE "C" NOT NULL, ready_at bigint NOT NULL, seq bigint NOT NULL, rank bigint NOT NULL, id text COLLATE "C" NOT NULL
  ) ${busy};
  CREATE INDEX delayed_ready_at ON ${s}.delayed (queue, ready_at, seq);
  -- One row per claim and queue. Its members have their end here, unless they were renewed.
  CREATE TABLE ${s}.leases (
    claim text COLLATE "C" NOT NULL, queue text COLLATE "C" NOT NULL, claimed_at bigint NOT NULL, until bigint NOT NULL,
    ids text[] NOT NULL, turns bigint[] NOT NULL,
    PRIMARY KEY (claim, queue)
  ) ${busy};
  CREATE INDEX leases_until ON ${s}.leases (queue, until);
  ALTER TABLE ${s}.leases ALTER ids SET STORAGE EXTERNAL, ALTER turns SET STORAGE EXTERNAL;
  CREATE TABLE ${s}.renewals (
    id text COLLATE "C" PRIMARY KEY, turn bigint NOT NULL, claim text COLLATE "C" NOT NULL, queue text COLLATE "C" NOT NULL,
    claimed_at bigint NOT NULL, until bigint NOT NULL
  ) ${busy};
  CREATE INDEX renewals_until ON ${s}.renewals (queue, until);

  CREATE TABLE ${s}.dead (${record}, ${end}, body text NOT NULL, PRIMARY KEY (id));
  CREATE INDEX dead_finished_at ON ${s}.dead (finished_at, seq);
  -- By day, so that the old ones are dropped as a whole: deleting them row by row would leave bloat.
  CREATE TABLE ${s}.history (${record}, ${end}) PARTITION BY RANGE (finished_at);
  CREATE INDEX history_id ON ${s}.history (id);
  CREATE INDEX history_seq ON ${s}.history (seq);
  CREATE TABLE ${s}.history_other PARTITION OF ${s}.history DEFAULT;

  CREATE TABLE ${s}.queues (name text COLLATE "C" PRIMARY KEY, paused boolean NOT NULL DEFAULT false);
  CREATE TABLE ${s}.keys (
    key text COLLATE "C" PRIMARY KEY,
    owner text,
    hold_until bigint NOT NULL,
    done boolean NOT NULL,
    value text,
    -- Of the value and of done. Apart from the hold, so that an owner that dies does not take the value with it.
    keep_until bigint NOT NULL
  ) ${busy};
  CREATE INDEX keys_ended ON ${s}.keys ((greatest(hold_until, keep_until)));
  CREATE TABLE ${s}.workers (id text COLLATE "C" PRIMARY KEY, seen_at bigint NOT NULL, beat text NOT NULL);
  CREATE TABLE ${s}.outbox (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    target text COLLATE "C" NOT NULL,
    written_at bigint NOT NULL,
    message text NOT NULL,
    PRIMARY KEY (target, seq)
  ) ${busy};
  -- What a target will not take. Kept apart, so that a relay never steps over it.
  CREATE TABLE ${s}.outbox_refused (
    seq bigint NOT NULL,
    target text COLLATE "C" NOT NULL,
    id text NOT NULL,
    queue text NOT NULL,
    written_at bigint NOT NULL,
    refused_at bigint NOT NULL,
    error text NOT NULL,
    message text NOT NULL,
    PRIMARY KEY (target, seq)
  );`;

/** Records of jobs whose queue keeps none, for `postgresStore()`. What is searched for stands beside the row, which is JSON. */
const recordsTable = (s: string): string => `
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

/**
 * Numbers: one text per key, in the order in which they are read. A row is written over many times while its step lasts, and no index has
 * its text: with room in the page the new version stays there and touches no index.
 */
const metricsTable = (s: string): string => `
  CREATE TABLE ${s}.metrics (
    step text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    queue text COLLATE "C" NOT NULL,
    job text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (step, at, queue, job, source)
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);`;

/** What people did, a text per entry: nothing writes over it. And which workers they want to drain. */
const operatorTables = (s: string): string => `
  ALTER TABLE ${s}.workers ADD COLUMN drain boolean NOT NULL DEFAULT false;
  CREATE TABLE ${s}.audit (
    at bigint NOT NULL, id text COLLATE "C" NOT NULL UNIQUE, entry text NOT NULL, PRIMARY KEY (at, id)
  );`;

/** Schedules that were made at run time. A paused one has no `next_at`. */
const schedulesTable = (s: string): string => `
  CREATE TABLE ${s}.schedules (
    name text COLLATE "C" PRIMARY KEY,
    next_at bigint,
    version text COLLATE "C" NOT NULL,
    body text NOT NULL
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
  CREATE INDEX schedules_next_at ON ${s}.schedules (next_at, name) WHERE next_at IS NOT NULL;`;

/** So that a message in the outbox is found. Rows from before have no id. */
const outboxIds = (s: string): string => `
  ALTER TABLE ${s}.outbox ADD COLUMN id text COLLATE "C";
  CREATE INDEX outbox_id ON ${s}.outbox (target, id);
  CREATE INDEX outbox_refused_id ON ${s}.outbox_refused (target, id);
  ${outboxFunctions(s, { id: true })}`;

/** Writes rows of the outbox, with one parameter of text, so that it may be called in the transaction of any driver. */
const outboxFunctions = (s: string, { id = false } = {}): string => `
  CREATE OR REPLACE FUNCTION ${s}.write_outbox(request text) RETURNS int LANGUAGE plpgsql AS $$
  DECLARE
    r record;
    written int;
  BEGIN
    SELECT * INTO r FROM json_to_record(request::json) AS x (at bigint, target text, channel text, messages json, ids json);
    INSERT INTO ${s}.outbox (${id ? 'id, ' : ''}target, written_at, message)
    SELECT ${id ? 'm.id, ' : ''}r.target, coalesce(r.at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), m.text
    FROM ROWS FROM (json_array_elements_text(r.messages), json_array_elements_text(coalesce(r.ids, '[]')))
      WITH ORDINALITY m (text, id, n) ORDER BY m.n;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF r.channel IS NOT NULL THEN
      PERFORM pg_notify(r.channel, r.target);
    END IF;
    RETURN written;
  END $$;`;

/**
 * What lists show of a job beside what routes it, and the order in which they show it. Most indexes are only of the jobs that have
 * such a fact: the others do not pay for them. `jobs_seq` is what every enqueue pays for a list of a long backlog.
 */
const recordFacts = (s: string): string => {
  const tables = ['jobs', 'dead', 'history'];
  const adding = tables.map(
    (table) => `
  ALTER TABLE ${s}.${table} ADD COLUMN idempotency_key text COLLATE "C", ADD COLUMN schedule text COLLATE "C", ADD COLUMN facts text;
  CREATE INDEX ${table}_key ON ${s}.${table} (idempotency_key, seq) WHERE idempotency_key IS NOT NULL;
  CREATE INDEX ${table}_schedule ON ${s}.${table} (schedule, seq) WHERE schedule IS NOT NULL;`,
  );
  return `${adding.join('')}
  ALTER TABLE ${s}.history ADD COLUMN body text;
  CREATE INDEX jobs_seq ON ${s}.jobs (seq) WITH (deduplicate_items = off);
  CREATE INDEX jobs_tenant ON ${s}.jobs ((tenant_id COLLATE "C"), seq) WHERE tenant_id IS NOT NULL;
  CREATE INDEX jobs_retried ON ${s}.jobs (seq) WHERE attempt > 0;
  CREATE INDEX dead_seq ON ${s}.dead (seq);
  CREATE INDEX dead_queue ON ${s}.dead (queue, finished_at, seq);`;
};

/**
 * Version n is reached by running `migrations[n - 1]`. To change the format: append a migration, never edit one that was
 * released, and keep what the version before calls: during a roll-out both run.
 *
 * @param s the schema's name, quoted
 */
export const migrations: readonly ((s: string) => string)[] = [
  (s) => `${tables(s)} ${keyFunctions(s)} ${daysOfHistory(s)} ${outboxFunctions(s)} ${recordsTable(s)}`,
  // Versions 1 to 3 were also made with functions that know nothing of `recordFacts`, and with `enqueue_alike`. Processes of these
  // versions still call them during a roll-out, so those that have other parameters now are left for a later migration to drop.
  () => '',
  metricsTable,
  (s) => `${recordFacts(s)} ${enqueueFunctions(s)} ${leaseFunctions(s)} ${rareFunctions(s)}`,
  // One sample for all queues: one for each took too long where many are long.
  statsFunctions,
  operatorTables,
  (s) =>
    [waitingFunction, limits, groupTables, leaseFunctions, rareFunctions].map((part) => part(s)).join('\n'),
  (s) =>
    [ends, ownRetention, leaseFunctions, rareFunctions, waitingFunction, stepTable, batches, schedulesTable]
      .map((part) => part(s))
      .join('\n'),
  (s) => [groupedQueues, leaseFunctions, takeSlots].map((part) => part(s)).join('\n'),
  // With the names of those that wait. Version 9 calls the function without them, which stays for a later migration to drop.
  (s) => `${takeSlots(s)} ${statsFunctions(s)}`,
  outboxIds,
  // Groups tell when a job comes forward, and know whom they wait for when one is put off.
  (s) => `${groupFunctions(s)} ${leaseFunctions(s)} ${waitingFunction(s)}`,
  (s) => `${daysOfHistory(s)} ${replicaIdentities(s)}`,
  textTable,
];
