/**
 * The tables. A job has one wide row in `jobs`, which a fetch does not change: copying it would be the most expensive part. A waiting job
 * has a narrow row in `ready` or `delayed`. A fetch deletes narrow rows and writes ONE row of `leases` for all jobs that it leases. The
 * `turn` of a job is its version: a new number each time it is queued, so that the owner of an earlier lease finds nothing.
 */

import { GroupState } from '../shared/groups.ts';
import { blockSize } from './batches-sql.ts';
import { locks } from './group-pieces.ts';
import { apartFrom, usualEnd } from './sql.ts';

/** For tables that are filled and emptied all the time: vacuum starts after a number of changes, not after a share of the rows. */
const busy = (
  fillfactor = 100,
): string => `WITH (fillfactor = ${fillfactor}, autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0)`;

/** For tables whose rows are overwritten many times: with room in the page the new version stays there and changes no index. */
export const rewritten = `(fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000)`;

/** The columns of a job's record in every table. The facts are JSON; searched facts have their own columns. */
const record = `
    seq bigint NOT NULL, id text COLLATE "C" NOT NULL, queue text COLLATE "C" NOT NULL, job text NOT NULL, tenant_id text,
    priority smallint NOT NULL, created_at bigint NOT NULL, ready_at bigint NOT NULL, attempt int NOT NULL, reports text NOT NULL,
    progress text, idempotency_key text COLLATE "C", schedule text COLLATE "C", facts text`;
const end = `
    ended smallint NOT NULL, finished_at bigint NOT NULL, reason text, error text, keep_until bigint`;

/** @param s the schema's name, quoted */
const jobTables = (s: string): string => `
  CREATE SEQUENCE ${s}.turns;
  CREATE TABLE ${s}.jobs (${record},
    turn bigint NOT NULL, rank bigint NOT NULL, interrupted boolean NOT NULL, cancel_requested boolean NOT NULL, body text NOT NULL,
    PRIMARY KEY (id)
  ) ${busy()};
  -- For lists of a long backlog; every enqueue pays for this index. The other indexes only have jobs with such a value.
  CREATE INDEX jobs_seq ON ${s}.jobs (seq) WITH (deduplicate_items = off);
  CREATE INDEX jobs_tenant ON ${s}.jobs ((tenant_id COLLATE "C"), seq) WHERE tenant_id IS NOT NULL;
  CREATE INDEX jobs_retried ON ${s}.jobs (seq) WHERE attempt > 0;
  CREATE TABLE ${s}.ready (
    queue text COLLATE "C" NOT NULL, rank bigint NOT NULL, seq bigint NOT NULL, ready_at bigint NOT NULL, id text COLLATE "C" NOT NULL
  ) ${busy()};
  CREATE INDEX ready_rank ON ${s}.ready (queue, rank, seq);
  -- Delayed jobs have their own table: in ready, every fetch would step over them.
  CREATE TABLE ${s}.delayed (
    queue text COLLATE "C" NOT NULL, ready_at bigint NOT NULL, seq bigint NOT NULL, rank bigint NOT NULL, id text COLLATE "C" NOT NULL
  ) ${busy()};
  CREATE INDEX delayed_ready_at ON ${s}.delayed (queue, ready_at, seq);
  -- One row per claim and queue. until is the end of all its leases, except renewed ones.
  CREATE TABLE ${s}.leases (
    claim text COLLATE "C" NOT NULL, queue text COLLATE "C" NOT NULL, claimed_at bigint NOT NULL, until bigint NOT NULL,
    ids text[] NOT NULL, turns bigint[] NOT NULL,
    PRIMARY KEY (claim, queue)
  ) ${busy()};
  CREATE INDEX leases_until ON ${s}.leases (queue, until);
  ALTER TABLE ${s}.leases ALTER ids SET STORAGE EXTERNAL, ALTER turns SET STORAGE EXTERNAL;
  CREATE TABLE ${s}.renewals (
    id text COLLATE "C" PRIMARY KEY, turn bigint NOT NULL, claim text COLLATE "C" NOT NULL, queue text COLLATE "C" NOT NULL,
    claimed_at bigint NOT NULL, until bigint NOT NULL
  ) ${busy()};
  CREATE INDEX renewals_until ON ${s}.renewals (queue, until);

  CREATE TABLE ${s}.dead (${record}, ${end},
    body text NOT NULL,
    grouping text, -- as JSON
    PRIMARY KEY (id)
  );
  CREATE INDEX dead_finished_at ON ${s}.dead (finished_at, seq);
  CREATE INDEX dead_seq ON ${s}.dead (seq);
  CREATE INDEX dead_queue ON ${s}.dead (queue, finished_at, seq);
  CREATE INDEX dead_kept_until ON ${s}.dead (keep_until) WHERE keep_until IS NOT NULL;
  CREATE INDEX dead_usual ON ${s}.dead (${usualEnd}, seq);
  -- Partitioned by day, so that old days are dropped as a whole: deleting row by row would leave bloat.
  CREATE TABLE ${s}.history (${record}, ${end}, body text) PARTITION BY RANGE (finished_at);
  CREATE INDEX history_id ON ${s}.history (id);
  CREATE INDEX history_seq ON ${s}.history (seq);
  CREATE TABLE ${s}.history_other PARTITION OF ${s}.history DEFAULT;
  CREATE TABLE ${s}.history_kept PARTITION OF ${s}.history FOR VALUES FROM (${apartFrom}) TO (MAXVALUE);
  CREATE INDEX history_kept_until ON ${s}.history_kept (keep_until);
  ${['jobs', 'dead', 'history'].map((table) => factIndexes(s, table)).join('')}
  -- grouped: the queue has had a group. Without one, no function looks for groups. Asking the table of groups itself would be slow:
  -- the index entries of deleted rows are read each time until they are vacuumed.
  CREATE TABLE ${s}.queues (
    name text COLLATE "C" PRIMARY KEY, paused boolean NOT NULL DEFAULT false, grouped boolean NOT NULL DEFAULT false
  );
  CREATE INDEX queues_grouped ON ${s}.queues (name) WHERE grouped;`;

const factIndexes = (s: string, table: string): string => `
  CREATE INDEX ${table}_key ON ${s}.${table} (idempotency_key, seq) WHERE idempotency_key IS NOT NULL;
  CREATE INDEX ${table}_schedule ON ${s}.${table} (schedule, seq) WHERE schedule IS NOT NULL;`;

const groupTables = (s: string): string => `
  CREATE TABLE ${s}.grouped (
    id text COLLATE "C" PRIMARY KEY,
    seq bigint NOT NULL,
    queue text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    ordering text, -- NULL: groups only take turns
    state smallint NOT NULL,
    place bigint, -- in the line, kept for life; NULL: not joined yet
    entered_at bigint NOT NULL DEFAULT 0, -- when it counted as ready, for a head
    apart_until bigint,
    lag bigint NOT NULL -- the part of the rank that comes from the priority
  ) ${busy(80)};
  CREATE INDEX grouped_line ON ${s}.grouped (queue, name, state, place, seq);
  CREATE INDEX grouped_busy ON ${s}.grouped (queue) WHERE state <> ${GroupState.inLine};
  CREATE INDEX grouped_apart ON ${s}.grouped (queue, apart_until) WHERE apart_until IS NOT NULL;
  CREATE TABLE ${s}.group_locks (n int PRIMARY KEY) WITH (fillfactor = 20);
  INSERT INTO ${s}.group_locks SELECT generate_series(0, ${locks - 1});`;

const storeTables = (s: string): string => `
  CREATE TABLE ${s}.keys (
    key text COLLATE "C" PRIMARY KEY,
    owner text,
    hold_until bigint NOT NULL,
    done boolean NOT NULL,
    value text,
    -- When value and done expire. Separate from the hold, so that the value survives an owner that dies.
    keep_until bigint NOT NULL
  ) ${busy()};
  CREATE INDEX keys_ended ON ${s}.keys ((greatest(hold_until, keep_until)));
  CREATE TABLE ${s}.texts (
    name text COLLATE "C" PRIMARY KEY, version text NOT NULL, ends_at bigint, text text NOT NULL, written_at bigint
  ) WITH ${rewritten};
  CREATE INDEX texts_ends_at ON ${s}.texts (ends_at);
  -- Metrics: one text per key, in the order of reads.
  CREATE TABLE ${s}.metrics (
    step text COLLATE "C" NOT NULL, at bigint NOT NULL, queue text COLLATE "C" NOT NULL, job text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL, body text NOT NULL, PRIMARY KEY (step, at, queue, job, source)
  ) WITH ${rewritten};
  -- Records of jobs whose queue keeps none, for postgresStore(). The row is JSON; searched members have their own columns.
  CREATE TABLE ${s}.records (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, version text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL, job text COLLATE "C" NOT NULL, status text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL, finished_at bigint, guarded_until bigint NOT NULL, "row" text NOT NULL
  ) WITH ${rewritten};
  CREATE INDEX records_created_at ON ${s}.records (created_at, seq);
  CREATE INDEX records_status ON ${s}.records (status, created_at, seq);
  CREATE INDEX records_finished_at ON ${s}.records (finished_at) WHERE finished_at IS NOT NULL;
  -- Processes that wait for the end of a job: one row per job and process, with the channel of the process. The end of a job notifies only
  -- these channels. It does not delete the rows: two transactions that delete rows in different orders could deadlock. Unlogged, because
  -- waiting processes register again and also poll.
  CREATE UNLOGGED TABLE ${s}.waits (
    id text COLLATE "C" NOT NULL, channel text COLLATE "C" NOT NULL, until bigint NOT NULL, PRIMARY KEY (id, channel)
  ) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
  CREATE INDEX waits_until ON ${s}.waits (until);`;

/** In the tables of limits, `most` is the limit that the job asked for. Batches have two bits for each child. */
const limitAndBatchTables = (s: string): string => `
  CREATE TABLE ${s}.limit_slots (
    key text COLLATE "C" NOT NULL, holder text COLLATE "C" NOT NULL, owner text NOT NULL, most int NOT NULL, until bigint NOT NULL,
    PRIMARY KEY (key, holder)
  ) ${busy()};
  CREATE INDEX limit_slots_until ON ${s}.limit_slots (until);
  CREATE TABLE ${s}.limit_waiters (
    holder text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, queue text NOT NULL, rank float8 NOT NULL, most int NOT NULL,
    until bigint NOT NULL,
    PRIMARY KEY (holder, key)
  ) ${busy()};
  CREATE INDEX limit_waiters_rank ON ${s}.limit_waiters (key, rank, holder);
  CREATE INDEX limit_waiters_until ON ${s}.limit_waiters (until);
  CREATE TABLE ${s}.limit_holds (key text COLLATE "C" PRIMARY KEY, until bigint NOT NULL);
  CREATE TABLE ${s}.batches (
    id text COLLATE "C" PRIMARY KEY, seq bigint GENERATED ALWAYS AS IDENTITY, plan text NOT NULL, sender text NOT NULL,
    created_at bigint NOT NULL, sent bigint NOT NULL, planned bigint NOT NULL, sealed boolean NOT NULL, cancelled_at bigint,
    succeeded bigint NOT NULL, failed bigint NOT NULL, round int NOT NULL, changed_at bigint NOT NULL, completed_at bigint,
    called boolean NOT NULL, look_at bigint
  ) ${busy(50)};
  CREATE INDEX batches_seq ON ${s}.batches (seq);
  CREATE INDEX batches_look_at ON ${s}.batches (look_at) WHERE look_at IS NOT NULL;
  CREATE TABLE ${s}.batch_marks (
    batch text COLLATE "C" NOT NULL, block int NOT NULL, ended bit(${blockSize}) NOT NULL, failed bit(${blockSize}) NOT NULL,
    PRIMARY KEY (batch, block)
  ) ${busy(50)};`;

const outboxTables = (s: string): string => `
  CREATE TABLE ${s}.outbox (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    target text COLLATE "C" NOT NULL,
    written_at bigint NOT NULL,
    message text NOT NULL,
    id text COLLATE "C", -- NULL: written by version 0.1.0
    PRIMARY KEY (target, seq)
  ) ${busy()};
  CREATE INDEX outbox_id ON ${s}.outbox (target, id);
  -- Messages that their target has refused. They have their own table, so that a relay never steps over them.
  CREATE TABLE ${s}.outbox_refused (
    seq bigint NOT NULL, target text COLLATE "C" NOT NULL, id text NOT NULL, queue text NOT NULL, written_at bigint NOT NULL,
    refused_at bigint NOT NULL, error text NOT NULL, message text NOT NULL, PRIMARY KEY (target, seq)
  );
  CREATE INDEX outbox_refused_id ON ${s}.outbox_refused (target, id);`;

/** @param s the schema's name, quoted */
export const tables = (s: string): string =>
  [jobTables, groupTables, storeTables, limitAndBatchTables, outboxTables].map((part) => part(s)).join('');
