/** What `longshore doctor` looks at in a Postgres server and in the schema of a queue or a store. */

import { systemClock } from '../../../core/base/clock.ts';
import type { Check, DiagnosisRequest, Looked, Problem } from '../../../core/contract/diagnosis.ts';
import { checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { keptTooShort } from '../../../core/kit/diagnosis/kept-too-short.ts';
import { createWaiters } from '../shared/waiters.ts';
import { onClient } from './client.ts';
import { queryTimeoutMs } from './database.ts';
import type { DiagnosedDatabase, PostgresFacts } from './diagnosed-database.ts';
import { postgresError } from './errors.ts';
import { createListener } from './listen.ts';
import { versionOf } from './migrate.ts';
import { tableChecks } from './table-checks.ts';

export function postgresDiagnosis(of: DiagnosedDatabase, request: DiagnosisRequest): Check[] {
  const rows = (text: string, values: unknown[] = []) =>
    onClient(of.db.pool, (client) =>
      client.query({ text, values, rowMode: 'array', query_timeout: queryTimeoutMs }),
    ).then(
      (answer) => answer.rows,
      (error) => {
        throw postgresError('diagnosing', error);
      },
    );
  const setting = async (name: string) => String((await rows('SELECT current_setting($1)', [name]))[0]![0]);
  return checksOf([...serverChecks, ...tableChecks], { ...of, request, rows, setting });
}

const fullShare = 0.8;
const fewestToListen = 3;
/** A pooler that shares connections needs no longer to show that it delivers nothing. */
const echoMs = 5_000;
const server = 'the Postgres server';

const found = (where: string, text: string, remedy: string): Problem => ({ where, text, remedy });

export const serverChecks: readonly Check<PostgresFacts>[] = [
  {
    id: 'postgres.schema',
    severity: 'error',
    async look({ db }) {
      const { from, to } = await versionOf(db.pool, db.schema);
      if (from === to) return [];
      const has = from === null ? 'has no tables' : `is at version ${from}, and this Longshore needs ${to}`;
      return found(`schema ${db.schema}`, `It ${has}.`, 'Run longshore migrate.');
    },
  },
  {
    id: 'postgres.standby',
    severity: 'error',
    async look({ rows }) {
      if ((await rows('SELECT pg_is_in_recovery()'))[0]![0] !== true) return [];
      return found(server, 'It is a standby, which takes no jobs.', 'Name the primary in the URL.');
    },
  },
  {
    id: 'postgres.read-only',
    severity: 'error',
    async look({ rows, setting }) {
      if ((await setting('transaction_read_only')) !== 'on') return [];
      if ((await rows('SELECT pg_is_in_recovery()'))[0]![0] === true) return []; // postgres.standby tells
      return found(
        server,
        'default_transaction_read_only is on for this user and database: nothing can be enqueued or settled. Hosters set it when a disk is nearly full.',
        'Free space, then ALTER ROLE … or ALTER DATABASE … RESET default_transaction_read_only, or set it off in postgresql.conf.',
      );
    },
  },
  {
    id: 'postgres.fsync',
    severity: 'error',
    async look({ setting }) {
      const off: string[] = [];
      for (const name of ['fsync', 'full_page_writes']) if ((await setting(name)) === 'off') off.push(name);
      if (off.length === 0) return [];
      return found(
        server,
        `${off.join(' and ')} off: a power cut may damage the whole database.`,
        'Set them on in postgresql.conf.',
      );
    },
  },
  {
    id: 'postgres.commit',
    severity: 'warning',
    async look({ setting }) {
      if ((await setting('synchronous_commit')) !== 'off') return [];
      return found(
        server,
        'synchronous_commit is off for this user and database: a crash of the server loses the last jobs that were enqueued, and runs some again.',
        'Set it to on for the user of the queue: ALTER ROLE … SET synchronous_commit = on.',
      );
    },
  },
  {
    id: 'postgres.connections',
    severity: 'warning',
    async look({ rows }) {
      const [row] = await rows(
        `SELECT count(*), current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
         FROM pg_stat_activity WHERE usesysid IS NOT NULL`,
      );
      const [used, most] = row!.map(Number) as [number, number];
      if (used < most * fullShare) return [];
      return found(
        server,
        `${used} of its ${most} connections are in use: the next workers cannot connect.`,
        'Raise max_connections, lower the max of the pools, or put a pooler between.',
      );
    },
  },
  {
    id: 'postgres.pool',
    severity: 'note',
    look({ db, channel, caller }) {
      if (channel === null || db.connections >= fewestToListen) return [];
      return found(
        `the pool of ${caller}`,
        `It has ${db.connections} connections at most, and LISTEN takes one of ${fewestToListen} or more: an idle worker polls.`,
        `Give the pool max: ${fewestToListen} or more.`,
      );
    },
  },
  {
    id: 'postgres.pooler',
    severity: 'warning',
    async look({ db, rows, channel, caller }) {
      if (channel === null || db.connections < fewestToListen) return [];
      await rows('SELECT 1'); // a server that is away is no pooler
      const waiters = createWaiters(systemClock);
      const listener = createListener(
        { pool: db.pool, query: async (_, text, values) => [...(await rows(text, values))] },
        `${channel} doctor`,
        waiters,
      );
      listener.start();
      const until = systemClock.now() + echoMs;
      while (!listener.hears && systemClock.now() < until) await waiters.wait(20);
      const { hears } = listener;
      await listener.close();
      if (hears) return [];
      return found(
        server,
        'A notification did not come back: there is a pooler between that shares connections, such as pgbouncer in transaction mode. Idle workers poll.',
        `Give ${caller} the address of the server itself, or { listen: false } so that nobody sends notifications.`,
      );
    },
  },
  {
    id: 'postgres.xmin',
    severity: 'warning',
    look: ({ rows }) => oldestTransactions(rows),
  },
  {
    id: 'postgres.retention',
    severity: 'note',
    look: ({ caller, retention, request }) => keptTooShort(caller, retention.completedMs, request),
  },
];

/** So many transactions have ended since: their rows stay, and every fetch steps over them. */
const oldXids = 100_000;
const veryOldXids = 10_000_000;

async function oldestTransactions(rows: PostgresFacts['rows']): Promise<Looked> {
  const old = await rows(
    `SELECT * FROM (
       SELECT 'session' AS kind, format('%s (%s, %s)', pid, coalesce(nullif(application_name, ''), usename), state),
         age(backend_xmin) AS xids
       FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
       UNION ALL SELECT 'slot', slot_name, greatest(age(xmin), age(catalog_xmin)) FROM pg_replication_slots
       UNION ALL SELECT 'prepared', gid, age(transaction) FROM pg_prepared_xacts) held
     WHERE xids >= $1 ORDER BY xids DESC LIMIT 10`,
    [oldXids],
  );
  if (old.length > 0) {
    return old.map(([kind, name, xids]): Problem => {
      const [where, remedy] = holders[kind as keyof typeof holders](String(name));
      const text = `It is ${Number(xids).toLocaleString('en')} transactions old. Vacuum keeps all rows that were deleted since, and every fetch steps over them.`;
      return { where, text, remedy, ...(Number(xids) >= veryOldXids && { severity: 'error' }) };
    });
  }
  const [row] = await rows(
    `SELECT count(*) FROM pg_stat_activity
     WHERE query = '<insufficient privilege>' AND usesysid IS NOT NULL AND datid IS NOT NULL`,
  );
  const hidden = Number(row![0]);
  if (hidden === 0) return [];
  return { because: `this user may not look at ${hidden} sessions of others: GRANT pg_read_all_stats to it` };
}

const holders = {
  session: (name: string) =>
    [
      `session ${name}`,
      'Commit or end it (SELECT pg_terminate_backend), and set idle_in_transaction_session_timeout.',
    ] as const,
  slot: (name: string) =>
    [
      `replication slot ${name}`,
      'Start who reads from it, or drop it: SELECT pg_drop_replication_slot.',
    ] as const,
  prepared: (name: string) =>
    [`prepared transaction ${name}`, 'COMMIT PREPARED or ROLLBACK PREPARED.'] as const,
};
