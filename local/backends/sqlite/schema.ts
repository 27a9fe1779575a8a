/** Tables and their versions. A file is stamped with both, so that no other program's file is taken for ours. */

import type { MessageFacts } from '../../../core/contract/facts.ts';
import { JobState } from '../shared/report-lines.ts';
import { groupTables } from './group-tables.ts';
import { oldTexts } from './old-texts.ts';

/** `PRAGMA application_id`: the letters LGSH. */
export const applicationId = 0x4c475348;

/** A write transaction of rare steps changes at most so many rows of a kind, so that others do not wait for long. */
export const stepSize = 1000;

/** A dead letter, as a condition. An index is used only where a query has these very words. */
export const isDead = `ended IN (${JobState.failed}, ${JobState.expired})`;

/** An ended job without a retention of its own, as a condition. As above. */
export const keptAsUsual = 'ended IS NOT NULL AND keep_until IS NULL';

/** One of a message's facts. An index is used only where a query has these very characters. */
export const factOf = (name: keyof MessageFacts, facts = 'facts'): string => `${facts} ->> '${name}'`;

/**
 * Version n is reached by running `migrations[n - 1]`. To change the format: append a migration, never edit one
 * that was released, and keep reading rows that the version before has written.
 *
 * A job is one row of `jobs`, and while it lives one narrow row that says where it is: in `ready`, `delayed` or `leases`.
 * A fetch moves narrow rows and leaves the wide ones alone, which makes it half as expensive.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    queue TEXT NOT NULL,
    job TEXT NOT NULL,
    tenant_id TEXT,
    priority INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ready_at INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    ended INTEGER,
    finished_at INTEGER,
    attempt INTEGER NOT NULL DEFAULT 0, -- of an ended job; a living one has it in its narrow row
    reason TEXT,
    error TEXT,
    progress TEXT,
    reports TEXT,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX jobs_ended ON jobs (ended, finished_at) WHERE ended IS NOT NULL;

  -- Delayed jobs are kept apart: 100,000 of them in front of the ready ones would be stepped over at every claim.
  CREATE TABLE ready (
    queue TEXT NOT NULL,
    rank INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    ready_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    PRIMARY KEY (queue, rank, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE delayed (
    queue TEXT NOT NULL,
    ready_at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    PRIMARY KEY (queue, ready_at, seq)
  ) STRICT, WITHOUT ROWID;
  -- As many rows as jobs run at this moment, so it needs no index by time.
  CREATE TABLE leases (
    seq INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    nonce TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    interrupted INTEGER NOT NULL
  ) STRICT;
  -- Triggers, because then a single enqueue is one statement, which is its own transaction.
  CREATE TRIGGER jobs_ready AFTER INSERT ON jobs WHEN new.ready_at <= new.created_at BEGIN
    INSERT INTO ready VALUES (new.queue, new.rank, new.seq, new.ready_at, 0, 0);
  END;
  CREATE TRIGGER jobs_delayed AFTER INSERT ON jobs WHEN new.ready_at > new.created_at BEGIN
    INSERT INTO delayed VALUES (new.queue, new.ready_at, new.seq, new.rank, 0, 0);
  END;
  CREATE VIEW job_states AS
    SELECT j.*,
      coalesce(j.ended, CASE WHEN l.seq IS NULL THEN ${JobState.waiting} ELSE ${JobState.leased} END) AS state,
      coalesce(l.attempt, r.attempt, d.attempt, j.attempt) AS attempts
    FROM jobs j
    LEFT JOIN leases l ON l.seq = j.seq
    LEFT JOIN ready r ON r.queue = j.queue AND r.rank = j.rank AND r.seq = j.seq
    LEFT JOIN delayed d ON d.queue = j.queue AND d.ready_at = j.ready_at AND d.seq = j.seq;

  CREATE TABLE queues (name TEXT PRIMARY KEY, paused INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
  CREATE TABLE keys (
    key TEXT PRIMARY KEY,
    owner TEXT,
    hold_until INTEGER NOT NULL,
    done INTEGER NOT NULL,
    value TEXT,
    -- Of the value and of done. Apart from the hold, so that an owner that dies does not take the value with it.
    keep_until INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX keys_ended ON keys (max(hold_until, keep_until));
  CREATE TABLE workers (id TEXT PRIMARY KEY, seen_at INTEGER NOT NULL, beat TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,
  // Records of jobs whose queue keeps none, for `sqliteStore()`. What is searched for stands beside the row, which is JSON.
  `
  CREATE TABLE records (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    version TEXT NOT NULL,
    queue TEXT NOT NULL,
    job TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    guarded_until INTEGER NOT NULL,
    row TEXT NOT NULL
  ) STRICT;
  CREATE INDEX records_created_at ON records (created_at, seq);
  CREATE INDEX records_status ON records (status, created_at, seq);
  CREATE INDEX records_finished_at ON records (finished_at) WHERE finished_at IS NOT NULL;
  `,
  // Numbers: one text per key. The primary key is the order in which they are read, and they stand in it.
  `
  CREATE TABLE metrics (
    step TEXT NOT NULL,
    at INTEGER NOT NULL,
    queue TEXT NOT NULL,
    job TEXT NOT NULL,
    source TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (step, at, queue, job, source)
  ) STRICT, WITHOUT ROWID;
  `,
  // What lists search for. Jobs without a tenant or facts are in none of these indexes. Of living jobs it stands in columns: JSON in an
  // index is read again when the job goes, and that made taking jobs a tenth slower.
  `
  ALTER TABLE jobs ADD COLUMN facts TEXT; -- a message's, as JSON
  ALTER TABLE jobs ADD COLUMN idempotency_key TEXT;
  ALTER TABLE jobs ADD COLUMN schedule TEXT;
  CREATE INDEX jobs_tenant ON jobs (tenant_id) WHERE tenant_id IS NOT NULL;
  CREATE INDEX jobs_key ON jobs (idempotency_key) WHERE idempotency_key IS NOT NULL;
  CREATE INDEX jobs_schedule ON jobs (schedule) WHERE schedule IS NOT NULL;

  ALTER TABLE records ADD COLUMN tenant_id TEXT;
  ALTER TABLE records ADD COLUMN facts TEXT;
  UPDATE records SET tenant_id = row ->> 'tenantId' WHERE json_valid(row);
  CREATE INDEX records_tenant ON records (tenant_id, created_at, seq) WHERE tenant_id IS NOT NULL;
  CREATE INDEX records_key ON records (${factOf('idempotencyKey')}) WHERE ${factOf('idempotencyKey')} IS NOT NULL;
  CREATE INDEX records_schedule ON records (${factOf('schedule')}, created_at, seq) WHERE ${factOf('schedule')} IS NOT NULL;
  `,
  // Dead letters of one queue. Only jobs that die are in this index: it costs the others nothing.
  `
  CREATE INDEX jobs_dead ON jobs (queue, finished_at) WHERE ${isDead};
  `,
  // What people did, a text per entry: nothing writes over it or removes it. And which workers they want to drain.
  `
  ALTER TABLE workers ADD COLUMN drain INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE audit (at INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, entry TEXT NOT NULL, PRIMARY KEY (at, id)) STRICT, WITHOUT ROWID;
  `,
  // Groups. Limits: slots in use, jobs that wait for one, and keys of which nobody gets one. `most` is the limit that was asked for.
  `
  ${groupTables}
  CREATE TABLE limit_slots (
    key TEXT NOT NULL,
    holder TEXT NOT NULL,
    owner TEXT NOT NULL,
    most INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (key, holder)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX limit_slots_until ON limit_slots (until);
  CREATE TABLE limit_waiters (
    holder TEXT NOT NULL,
    key TEXT NOT NULL,
    queue TEXT NOT NULL,
    rank REAL NOT NULL,
    most INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (holder, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX limit_waiters_rank ON limit_waiters (key, rank, holder, until);
  CREATE INDEX limit_waiters_until ON limit_waiters (until);
  CREATE TABLE limit_holds (key TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
  `
  -- What jobs remember of their steps, and which of them wait for an event.
  CREATE TABLE steps (name TEXT PRIMARY KEY, version TEXT NOT NULL, ends_at INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
  CREATE INDEX steps_ends_at ON steps (ends_at);

  -- Batches: what is known of one as JSON, and two bits for each of its children, 4,096 to a row.
  CREATE TABLE batches (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    look_at INTEGER, -- NULL = nobody needs to
    ends_at INTEGER NOT NULL,
    state TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX batches_seq ON batches (seq);
  CREATE INDEX batches_look_at ON batches (look_at) WHERE look_at IS NOT NULL;
  CREATE INDEX batches_ends_at ON batches (ends_at);
  CREATE TABLE batch_marks (
    batch TEXT NOT NULL,
    block INTEGER NOT NULL,
    ended BLOB NOT NULL,
    failed BLOB NOT NULL,
    PRIMARY KEY (batch, block)
  ) STRICT, WITHOUT ROWID;

  -- Records with a retention of their own: a purge by age must not step over them each time. They are in an index by the end of theirs.
  ALTER TABLE jobs ADD COLUMN keep_until INTEGER;
  DROP INDEX jobs_ended;
  CREATE INDEX jobs_ended ON jobs (ended, finished_at) WHERE ${keptAsUsual};
  CREATE INDEX jobs_died ON jobs (ended, finished_at) WHERE ${isDead};
  CREATE INDEX jobs_kept ON jobs (keep_until) WHERE keep_until IS NOT NULL;

  -- Schedules that were made at run time. A paused one has no next_at.
  CREATE TABLE schedules (name TEXT PRIMARY KEY, next_at INTEGER, version TEXT NOT NULL, text TEXT NOT NULL) STRICT;
  CREATE INDEX schedules_next_at ON schedules (next_at, name) WHERE next_at IS NOT NULL;
  `,
  // Texts by name, in the order of the names: what steps, schedules, numbers, the audit log and workers are made of (core/kit/texts).
  `
  CREATE TABLE texts (name TEXT PRIMARY KEY, version TEXT NOT NULL, ends_at INTEGER, text TEXT NOT NULL) STRICT;
  CREATE INDEX texts_ends_at ON texts (ends_at) WHERE ends_at IS NOT NULL;
  ${oldTexts}
  `,
];
