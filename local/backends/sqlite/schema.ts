/** The tables. A file is stamped with our id and the version, so that the file of another program is not mistaken for ours. */

import type { MessageFacts } from '../../../core/contract/outcome.ts';
import { auditKeepMs } from '../../../core/kit/records/audit-log.ts';
import { JobState } from '../shared/report-lines.ts';

/** `PRAGMA application_id`: the letters LGSH. */
export const applicationId = 0x4c475348;

/** The most rows per table that maintenance changes in one transaction, so that other writers do not wait for long. */
export const stepSize = 1000;

/** A dead letter, as a condition. SQLite uses the index only for queries with exactly this text. */
export const isDead = `ended IN (${JobState.failed}, ${JobState.expired})`;

/** An ended job without its own retention, as a condition. SQLite uses the index only for queries with exactly this text. */
export const keptAsUsual = 'ended IS NOT NULL AND keep_until IS NULL';

/** One of the facts of a message. SQLite uses the index only for queries with exactly this text. */
export const factOf = (name: keyof MessageFacts, facts = 'facts'): string => `${facts} ->> '${name}'`;

/** Increased with every change of the tables. */
export const schemaVersion = 9;

/**
 * Creates the tables of a new file. A job has one row in `jobs` and, while it lives, one narrow row in `ready`, `delayed` or `leases`.
 * A fetch moves only narrow rows, which makes it half as expensive.
 */
export const create = `
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
    attempt INTEGER NOT NULL DEFAULT 0, -- for ended jobs; a living job has it in its narrow row
    reason TEXT,
    error TEXT,
    progress TEXT,
    reports TEXT,
    body TEXT NOT NULL,
    facts TEXT, -- JSON; searched facts have their own columns: an index on JSON would read it again when the job is deleted
    idempotency_key TEXT,
    schedule TEXT,
    grouping TEXT, -- for dead letters, as JSON
    keep_until INTEGER
  ) STRICT;
  CREATE INDEX jobs_tenant ON jobs (tenant_id) WHERE tenant_id IS NOT NULL;
  CREATE INDEX jobs_key ON jobs (idempotency_key) WHERE idempotency_key IS NOT NULL;
  CREATE INDEX jobs_schedule ON jobs (schedule) WHERE schedule IS NOT NULL;
  CREATE INDEX jobs_dead ON jobs (queue, finished_at) WHERE ${isDead};
  -- Records with their own retention are in another index, so that a purge by age does not step over them each time.
  CREATE INDEX jobs_ended ON jobs (ended, finished_at) WHERE ${keptAsUsual};
  CREATE INDEX jobs_died ON jobs (ended, finished_at) WHERE ${isDead};
  CREATE INDEX jobs_kept ON jobs (keep_until) WHERE keep_until IS NOT NULL;

  -- Delayed jobs have their own table: in ready, every fetch would step over up to 100,000 of them.
  CREATE TABLE ready (
    queue TEXT NOT NULL, rank INTEGER NOT NULL, seq INTEGER NOT NULL, ready_at INTEGER NOT NULL, attempt INTEGER NOT NULL,
    interrupted INTEGER NOT NULL, PRIMARY KEY (queue, rank, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE delayed (
    queue TEXT NOT NULL, ready_at INTEGER NOT NULL, seq INTEGER NOT NULL, rank INTEGER NOT NULL, attempt INTEGER NOT NULL,
    interrupted INTEGER NOT NULL, PRIMARY KEY (queue, ready_at, seq)
  ) STRICT, WITHOUT ROWID;
  -- Has one row per running job, so it needs no index by time.
  CREATE TABLE leases (
    seq INTEGER PRIMARY KEY, queue TEXT NOT NULL, nonce TEXT NOT NULL, claimed_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL, attempt INTEGER NOT NULL, interrupted INTEGER NOT NULL
  ) STRICT;
  -- With triggers a single enqueue is one statement, which is its own transaction.
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
    -- When value and done expire. Separate from the hold, so that the value survives an owner that dies.
    keep_until INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX keys_ended ON keys (max(hold_until, keep_until));

  -- A job with a group has one row here while it may run. Only the first job of each group, the head, is in ready, so a fetch needs no
  -- other query; the others are in line. A dead letter keeps its group in jobs.grouping.
  CREATE TABLE grouped (
    seq INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    name TEXT NOT NULL,
    ordering TEXT, -- NULL: groups only take turns
    state INTEGER NOT NULL,
    place INTEGER, -- in the line, kept for life; NULL: not joined yet
    entered_at INTEGER NOT NULL DEFAULT 0, -- when it counted as ready, for a head
    apart_until INTEGER,
    attempt INTEGER NOT NULL DEFAULT 0,
    interrupted INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX grouped_line ON grouped (queue, name, state, place, seq);
  CREATE INDEX grouped_apart ON grouped (queue, apart_until) WHERE apart_until IS NOT NULL;

  -- Limits: slots in use, jobs that wait for a slot, and keys on hold. most is the limit that the job asked for.
  CREATE TABLE limit_slots (
    key TEXT NOT NULL, holder TEXT NOT NULL, owner TEXT NOT NULL, most INTEGER NOT NULL, until INTEGER NOT NULL,
    PRIMARY KEY (key, holder)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX limit_slots_until ON limit_slots (until);
  CREATE TABLE limit_waiters (
    holder TEXT NOT NULL, key TEXT NOT NULL, queue TEXT NOT NULL, rank REAL NOT NULL, most INTEGER NOT NULL,
    until INTEGER NOT NULL, PRIMARY KEY (holder, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX limit_waiters_rank ON limit_waiters (key, rank, holder, until);
  CREATE INDEX limit_waiters_until ON limit_waiters (until);
  CREATE TABLE limit_holds (key TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  -- Batches: the state as JSON, and two bits for each child, 4,096 children per row.
  CREATE TABLE batches (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    look_at INTEGER, -- NULL = no look is needed
    ends_at INTEGER NOT NULL,
    state TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX batches_seq ON batches (seq);
  CREATE INDEX batches_look_at ON batches (look_at) WHERE look_at IS NOT NULL;
  CREATE INDEX batches_ends_at ON batches (ends_at);
  CREATE TABLE batch_marks (
    batch TEXT NOT NULL, block INTEGER NOT NULL, ended BLOB NOT NULL, failed BLOB NOT NULL, PRIMARY KEY (batch, block)
  ) STRICT, WITHOUT ROWID;

  -- Texts by name, sorted by name. Steps, schedules, metrics, the audit log and workers are stored as texts (core/kit/texts).
  CREATE TABLE texts (name TEXT PRIMARY KEY, version TEXT NOT NULL, ends_at INTEGER, text TEXT NOT NULL) STRICT;
  CREATE INDEX texts_ends_at ON texts (ends_at) WHERE ends_at IS NOT NULL;

  -- Records of jobs whose queue keeps none, for sqliteStore(). The row is JSON; searched members have their own columns.
  CREATE TABLE records (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version TEXT NOT NULL, queue TEXT NOT NULL, job TEXT NOT NULL,
    status TEXT NOT NULL, created_at INTEGER NOT NULL, finished_at INTEGER, guarded_until INTEGER NOT NULL, row TEXT NOT NULL,
    tenant_id TEXT, facts TEXT
  ) STRICT;
  CREATE INDEX records_created_at ON records (created_at, seq);
  CREATE INDEX records_status ON records (status, created_at, seq);
  CREATE INDEX records_finished_at ON records (finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX records_tenant ON records (tenant_id, created_at, seq) WHERE tenant_id IS NOT NULL;
  CREATE INDEX records_key ON records (${factOf('idempotencyKey')}) WHERE ${factOf('idempotencyKey')} IS NOT NULL;
  CREATE INDEX records_schedule ON records (${factOf('schedule')}, created_at, seq) WHERE ${factOf('schedule')} IS NOT NULL;
`;

const dayMs = 86_400_000;
/** Versions are opaque, so any word that was never a version will do. */
const moved = `'moved'`;
/** As core/kit/records/metric-rows.ts does. */
const withoutSpaces = (name: string): string => `replace(replace(${name}, '%', '%25'), ' ', '%20')`;
const moment = (at: string): string => `printf('%016d', ${at})`;

/** As core/kit/texts/audit.ts does: the inverted moment, then the id with each letter inverted. */
const places = `
  WITH RECURSIVE flipped (at, id, entry, rest, place) AS (
    SELECT at, id, entry, id, printf('%016d', 9999999999999999 - at) FROM audit
    UNION ALL
    SELECT at, id, entry, substr(rest, 2), place || char(159 - unicode(rest)) FROM flipped WHERE rest <> ''
  )`;
const auditEnd = `at + ${auditKeepMs + dayMs}`;

export const upgrades: ReadonlyMap<number, string> = new Map([
  [
    8, // version 0.1.0, which kept today's texts in separate tables
    `
  CREATE TABLE texts (name TEXT PRIMARY KEY, version TEXT NOT NULL, ends_at INTEGER, text TEXT NOT NULL) STRICT;
  CREATE INDEX texts_ends_at ON texts (ends_at) WHERE ends_at IS NOT NULL;
  INSERT INTO texts (name, version, ends_at, text) SELECT name, version, ends_at, text FROM steps;
  INSERT INTO texts (name, version, text)
    SELECT 'schedule/' || name, version, coalesce(next_at, '') || char(10) || text FROM schedules;
  INSERT INTO texts (name, version, text)
    SELECT 'due/' || ${moment('next_at')} || '.' || name, ${moved}, '0' FROM schedules WHERE next_at IS NOT NULL;
  INSERT INTO texts (name, version, ends_at, text)
    SELECT 'metric/' || step || ' ' || ${moment('at')} || ' ' || ${withoutSpaces('queue')} || ' ' || ${withoutSpaces('job')} || ' ' || source, ${moved},
      at + CASE step WHEN 'minute' THEN ${4 * dayMs} WHEN 'hour' THEN ${41 * dayMs} ELSE ${401 * dayMs} END, body
    FROM metrics;
  INSERT INTO texts (name, version, ends_at, text)
    ${places} SELECT 'audit/' || place || char(127), ${moved}, ${auditEnd}, entry FROM flipped WHERE rest = '';
  INSERT INTO texts (name, version, ends_at, text)
    ${places} SELECT 'audit-id/' || id, ${moved}, ${auditEnd}, place || char(127) FROM flipped WHERE rest = '';
  INSERT INTO texts (name, version, ends_at, text)
    SELECT 'worker/' || id, ${moved}, seen_at + 3600000, '{"beat":' || beat || ',"lagMs":0' || iif(drain, ',"drain":true', '') || '}'
    FROM workers;
  DROP TABLE steps; DROP TABLE schedules; DROP TABLE metrics; DROP TABLE audit; DROP TABLE workers;`,
  ],
]);
