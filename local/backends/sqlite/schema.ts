/** Tables and their versions. A file is stamped with both, so that no other program's file is taken for ours. */

/** `PRAGMA application_id`: the letters LGSH. */
export const applicationId = 0x4c475348;

/** `jobs.state`. Numbers, because the partial indexes and every claim compare them. */
export const State = {
  ready: 0,
  delayed: 1,
  leased: 2,
  completed: 3,
  failed: 4,
  cancelled: 5,
  expired: 6,
} as const;

/**
 * Version n is reached by running `migrations[n - 1]`. To change the format: append a migration, never edit one
 * that was released, and keep reading rows that the version before has written.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    queue TEXT NOT NULL,
    job TEXT NOT NULL,
    state INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ready_at INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    nonce TEXT,
    claimed_at INTEGER,
    lease_until INTEGER,
    interrupted INTEGER NOT NULL DEFAULT 0,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    finished_at INTEGER,
    reason TEXT,
    error TEXT,
    progress TEXT,
    reports TEXT,
    body TEXT NOT NULL
  ) STRICT;
  -- One partial index per question. Delayed jobs are kept out of the ready index: 100k of them in front of the
  -- ready ones would otherwise be stepped over at every claim.
  CREATE INDEX jobs_ready ON jobs (queue, rank) WHERE state = ${State.ready};
  CREATE INDEX jobs_delayed ON jobs (queue, ready_at) WHERE state = ${State.delayed};
  CREATE INDEX jobs_leased ON jobs (queue, lease_until) WHERE state = ${State.leased};
  CREATE INDEX jobs_finished ON jobs (state, finished_at) WHERE state >= ${State.completed};
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
];
