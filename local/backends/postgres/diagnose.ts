/** The checks of `longshore doctor` for a Postgres server and the schema of a queue or a store. */

import { systemClock } from '../../../core/base/clock.ts';
import type { Check, DiagnosisRequest, Looked, Problem } from '../../../core/contract/diagnosis.ts';
import type { Retention } from '../../../core/contract/store.ts';
import { CannotLook, check, checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { keptTooShort } from '../../../core/kit/diagnosis/kept-too-short.ts';
import { createWaiters } from '../shared/waiters.ts';
import { onClient, type Row, rowsOn } from './client.ts';
import type { Database } from './database.ts';
import { postgresError } from './errors.ts';
import { createListener } from './listen.ts';
import { create, versionOf } from './schema.ts';

/** The database that is checked. */
interface DiagnosedDatabase {
  readonly db: Database;
  /** The function whose options the texts name, like `postgres()`. */
  readonly caller: string;
  readonly retention: Retention;
  /** The channel on which its workers listen; `null` = they do not listen. */
  readonly channel: string | null;
}

interface PostgresFacts extends DiagnosedDatabase {
  readonly request: DiagnosisRequest;
  /** The schema's name, quoted. */
  readonly s: string;
  /** Runs one statement, without migrating first. */
  rows(text: string, values?: unknown[]): Promise<readonly Row[]>;
  /** The first row of a statement. */
  row(text: string): Promise<Row>;
  setting(name: string): Promise<unknown>;
}

export function postgresDiagnosis(of: DiagnosedDatabase, request: DiagnosisRequest): Check[] {
  const rows = (text: string, values: unknown[] = []) =>
    onClient(of.db.pool, (client) => rowsOn(client, text, values)).catch((error) => {
      throw postgresError('diagnosing', error);
    });
  const row = async (text: string) => (await rows(text))[0]!;
  const setting = async (name: string) => (await row(`SELECT current_setting('${name}')`))[0];
  return checksOf(postgresChecks, { ...of, request, s: of.db.schema, rows, row, setting });
}

const fullShare = 0.8;
const fewestToListen = 3;
/** No echo within this time means a pooler that shares connections. */
const echoMs = 5_000;
/** From this age in transactions on: vacuum keeps the rows that were deleted since, and every fetch steps over them. */
const oldXids = 100_000;
const veryOldXids = 10_000_000;
/** Ten times the threshold that starts a vacuum of the busy tables. A tenth of the live rows is added to it. */
const mostDead = 50_000;
/** Smaller indexes are not reported. */
const bloatedBytes = 32 * 1024 ** 2;
/** The widest index has some 200 bytes per row. */
const mostBytesPerRow = 1_000;
const leastRows = 1_000;
const outboxLateMs = 300_000;
const server = 'the Postgres server';

const found = (where: string, text: string, remedy: string): Problem => ({ where, text, remedy });
const tableIn = (s: string, table: unknown): string => `table ${s}.${table}`;

export const postgresChecks: readonly Check<PostgresFacts>[] = [
  check('postgres.schema', 'error', async ({ db, s }) => {
    const { from, to } = await versionOf(db.pool, s);
    if (from === to) return [];
    const has = from === null ? 'has no tables' : `is at version ${from}, and this Longshore needs ${to}`;
    return found(`schema ${s}`, `It ${has}.`, 'Run longshore migrate.');
  }),
  check('postgres.standby', 'error', async ({ row }) => {
    if (!(await isStandby(row))) return [];
    return found(server, 'It is a standby, which takes no jobs.', 'Name the primary in the URL.');
  }),
  check('postgres.read-only', 'error', async ({ row, setting }) => {
    if ((await setting('transaction_read_only')) !== 'on' || (await isStandby(row))) return []; // reported by postgres.standby
    return found(
      server,
      'default_transaction_read_only is on for this user and database: nothing can be enqueued or settled. Hosters set it when a disk is nearly full.',
      'Free space, then ALTER ROLE … or ALTER DATABASE … RESET default_transaction_read_only, or set it off in postgresql.conf.',
    );
  }),
  check('postgres.fsync', 'error', async ({ setting }) => {
    const off: string[] = [];
    for (const name of ['fsync', 'full_page_writes']) if ((await setting(name)) === 'off') off.push(name);
    if (off.length === 0) return [];
    const text = `${off.join(' and ')} off: a power cut may damage the whole database.`;
    return found(server, text, 'Set them on in postgresql.conf.');
  }),
  check('postgres.commit', 'warning', async ({ setting }) => {
    if ((await setting('synchronous_commit')) !== 'off') return [];
    return found(
      server,
      'synchronous_commit is off for this user and database: a crash of the server loses the last jobs that were enqueued, and runs some again.',
      'Set it to on for the user of the queue: ALTER ROLE … SET synchronous_commit = on.',
    );
  }),
  check('postgres.connections', 'warning', async ({ row }) => {
    const counts = await row(
      `SELECT count(*), current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
       FROM pg_stat_activity WHERE usesysid IS NOT NULL`,
    );
    const [used, most] = counts.map(Number) as [number, number];
    if (used < most * fullShare) return [];
    return found(
      server,
      `${used} of its ${most} connections are in use: the next workers cannot connect.`,
      'Raise max_connections, lower the max of the pools, or put a pooler in between.',
    );
  }),
  check('postgres.pool', 'note', ({ db, channel, caller }) => {
    if (channel === null || db.connections >= fewestToListen) return [];
    return found(
      `the pool of ${caller}`,
      `It has at most ${db.connections} connections, and LISTEN needs a pool of ${fewestToListen} or more: idle workers poll.`,
      `Give the pool max: ${fewestToListen} or more.`,
    );
  }),
  check('postgres.pooler', 'warning', async ({ db, rows, channel, caller }) => {
    if (channel === null || db.connections < fewestToListen) return [];
    await rows('SELECT 1'); // a server that is down is not a pooler
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
      'A notification did not come back: a pooler in between shares connections, such as pgbouncer in transaction mode. Idle workers poll.',
      `Give ${caller} the address of the server itself, or { listen: false } so that no notifications are sent.`,
    );
  }),
  check('postgres.xmin', 'warning', oldestTransactions),
  check('postgres.retention', 'note', ({ caller, retention, request }) =>
    keptTooShort(caller, retention.completedMs, request),
  ),
  check('postgres.indexes', 'error', async ({ db, s, rows }) => {
    await needVersion(db);
    const there = await rows(
      `SELECT i.relname, t.relname, x.indisvalid AND x.indisready, x.indisprimary
       FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
       WHERE t.relnamespace = to_regnamespace($1)`,
      [s],
    );
    const { indexes, keyed } = madeByMigrations();
    const names = new Set(there.map(([name]) => name));
    const primary = new Set(there.flatMap(([, table, , isPrimary]) => (isPrimary ? [table] : [])));
    const missing = [
      ...indexes.filter((name) => !names.has(name)),
      ...keyed.filter((table) => !primary.has(table)).map((table) => `the primary key of ${table}`),
    ];
    const create = `Make a new schema with longshore migrate, compare (pg_dump --schema-only), and create it CONCURRENTLY.`;
    const about = (text: string, remedy: string) => found(`schema ${s}`, text, remedy);
    return [
      ...missing.map((name) => about(`The index ${name} is missing: its queries read whole tables.`, create)),
      ...there
        .filter(([, , isValid]) => isValid !== true)
        .map(([name]) =>
          about(
            `The index ${name} is invalid: it was never finished, costs every write, and is not used.`,
            `REINDEX INDEX CONCURRENTLY ${s}.${name}.`,
          ),
        ),
    ];
  }),
  check('postgres.days', 'warning', async ({ db, s, row }) => {
    await needVersion(db);
    const name = "'history_' || to_char((now() + interval '1 day') AT TIME ZONE 'UTC', 'YYYYMMDD')";
    const [day, isMissing, isOwner, owner] = await row(
      `SELECT ${name}, to_regclass('${s}.' || ${name}) IS NULL, pg_has_role(relowner, 'USAGE'), pg_get_userbyid(relowner)
       FROM pg_class WHERE oid = '${s}.history'::regclass`,
    );
    if (isMissing !== true) return [];
    const [why, remedy] = isOwner
      ? ['No worker has purged for a week.', 'Start a worker, or run longshore migrate.']
      : [
          `This user may not create it: the tables belong to ${owner}.`,
          `Run longshore migrate as ${owner} once a day.`,
        ];
    const text = `It is missing, so records of tomorrow are removed one by one, which leaves bloat. ${why}`;
    return found(tableIn(s, day), text, remedy!);
  }),
  check('postgres.publication', 'error', async ({ s, rows }) => {
    const nameless = await rows(
      `SELECT DISTINCT t.tablename, t.pubname FROM pg_publication_tables t
       JOIN pg_publication p ON p.pubname = t.pubname AND (p.pubupdate OR p.pubdelete)
       JOIN pg_class c ON c.relnamespace = to_regnamespace($1) AND c.relname = t.tablename AND c.relkind = 'r'
       WHERE t.schemaname = (SELECT nspname FROM pg_namespace WHERE oid = to_regnamespace($1)) AND (c.relreplident = 'n' OR
         c.relreplident = 'd' AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary))`,
      [s],
    );
    return nameless.map(([table, publication]) =>
      found(
        tableIn(s, table),
        `Publication ${publication} publishes it, and it has no replica identity: Postgres refuses to change its rows, so no job runs.`,
        `ALTER TABLE ${s}.${table} REPLICA IDENTITY FULL.`,
      ),
    );
  }),
  check('postgres.autovacuum', 'error', async ({ s, rows, setting }) => {
    const remedy = 'Switch it on: a queue deletes as many rows as it writes.';
    if ((await setting('autovacuum')) === 'off') return found(server, 'autovacuum is off.', remedy);
    const off = await rows(
      `SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1)
       AND EXISTS (SELECT FROM unnest(reloptions) o WHERE o IN ('autovacuum_enabled=false', 'autovacuum_enabled=off'))`,
      [s],
    );
    return off.map(([table]) => found(tableIn(s, table), 'autovacuum is off for it.', remedy));
  }),
  check('postgres.vacuum', 'warning', async ({ s, rows }) => {
    const lagging = await rows(
      `SELECT relname, n_dead_tup, n_live_tup, greatest(last_vacuum, last_autovacuum)::text FROM pg_stat_user_tables
       WHERE relid IN (SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace($1))
         AND n_dead_tup > $2::bigint + n_live_tup / 10 ORDER BY n_dead_tup DESC`,
      [s, mostDead],
    );
    return lagging.map(([table, dead, alive, last]) => {
      const since = last === null ? 'it has never been vacuumed' : `its last vacuum was at ${last}`;
      return found(
        tableIn(s, table),
        `${dead} dead rows beside ${alive} live ones, and ${since}: fetches become slower.`,
        `Look for what holds vacuum back (postgres.xmin), raise autovacuum_max_workers, and VACUUM it once by hand.`,
      );
    });
  }),
  check('postgres.bloat', 'warning', async ({ s, rows }) => {
    const bloated = await rows(
      `SELECT s.indexrelname, pg_relation_size(s.indexrelid) AS bytes, t.n_live_tup
       FROM pg_stat_user_indexes s JOIN pg_stat_user_tables t USING (relid)
       WHERE relid IN (SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace($1))
         AND pg_relation_size(s.indexrelid) > greatest($2::bigint, $3::bigint * greatest(t.n_live_tup, $4::bigint))
       ORDER BY bytes DESC`,
      [s, bloatedBytes, mostBytesPerRow, leastRows],
    );
    return bloated.map(([index, size, alive]) =>
      found(
        `index ${s}.${index}`,
        `It has ${Math.round(Number(size) / 1024 ** 2)} MB for ${alive} rows: most pages are empty since an earlier backlog.`,
        `REINDEX INDEX CONCURRENTLY ${s}.${index}.`,
      ),
    );
  }),
  check('postgres.outbox', 'warning', async ({ db, s, row }) => {
    await needVersion(db);
    const counts = await row(
      `SELECT (SELECT count(*) FROM (SELECT FROM ${s}.outbox_refused LIMIT 10000) r),
         extract(epoch FROM now()) * 1000 - (SELECT min(written_at) FROM (SELECT written_at FROM ${s}.outbox
           ORDER BY target, seq LIMIT 1000) o)`,
    );
    const [refused, ageMs] = counts.map(Number) as [number, number];
    const problems: Problem[] = [];
    const tell = (text: string, remedy: string) =>
      problems.push(found(`the outbox in schema ${s}`, text, remedy));
    if (ageMs > outboxLateMs)
      tell(
        `A message has waited in it for ${Math.round(ageMs / 60_000)} min.`,
        'Start a relay (startRelay), and look at its log.',
      );
    if (refused > 0)
      tell(
        `${refused} messages were refused by their target, and wait in outbox_refused.`,
        'Read their error there; docs/outbox.md says how to send them again.',
      );
    return problems;
  }),
];

const isStandby = async (row: PostgresFacts['row']): Promise<unknown> =>
  (await row('SELECT pg_is_in_recovery()'))[0];

async function needVersion({ pool, schema }: Database): Promise<void> {
  const { from, to } = await versionOf(pool, schema);
  if (from !== to) throw new CannotLook(`schema ${schema} is not at version ${to}`);
}

/** The names of all indexes, and of the tables with a primary key. */
export function madeByMigrations(): { readonly indexes: string[]; readonly keyed: string[] } {
  const text = create('s');
  const indexes = [...text.matchAll(/CREATE INDEX (\w+) ON s\./g)].map(([, name]) => name!);
  const tables = [...text.matchAll(/CREATE (?:UNLOGGED )?TABLE s\.(\w+) \(([^;]*)/g)];
  const keyed = tables.flatMap(([, name, columns]) => (/PRIMARY KEY/.test(columns!) ? [name!] : []));
  return { indexes, keyed };
}

async function oldestTransactions({ rows, row }: PostgresFacts): Promise<Looked> {
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
      const [what, remedy] = holders[kind as keyof typeof holders];
      const text = `It is ${Number(xids).toLocaleString('en')} transactions old. Vacuum keeps all rows that were deleted since, and every fetch steps over them.`;
      const isVeryOld = Number(xids) >= veryOldXids;
      return { ...found(`${what} ${name}`, text, remedy), ...(isVeryOld && { severity: 'error' }) };
    });
  }
  const hidden = await row(
    `SELECT count(*) FROM pg_stat_activity
     WHERE query = '<insufficient privilege>' AND usesysid IS NOT NULL AND datid IS NOT NULL`,
  );
  if (Number(hidden[0]) === 0) return [];
  return {
    because: `this user may not look at ${hidden[0]} sessions of others: GRANT pg_read_all_stats to it`,
  };
}

const holders = {
  session: [
    'session',
    'Commit or end it (SELECT pg_terminate_backend), and set idle_in_transaction_session_timeout.',
  ],
  slot: ['replication slot', 'Start its consumer, or drop it: SELECT pg_drop_replication_slot.'],
  prepared: ['prepared transaction', 'COMMIT PREPARED or ROLLBACK PREPARED.'],
} as const;
