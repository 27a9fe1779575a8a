/** What may be wrong with our tables: indexes that are missing, and rows that vacuum has left. */

import type { Check, Problem } from '../../../core/contract/diagnosis.ts';
import { CannotLook } from '../../../core/kit/diagnosis/checks-of.ts';
import type { PostgresFacts } from './diagnosed-database.ts';
import { versionOf } from './migrate.ts';
import { create } from './schema.ts';

/** Ten times of what starts a vacuum of the busy tables, as is the tenth of their rows that comes to it. */
const mostDead = 50_000;
/** A smaller one costs nothing. */
const bloatedBytes = 32 * 1024 ** 2;
/** The widest index has some 200 bytes per row. */
const mostBytesPerRow = 1_000;
const leastRows = 1_000;
const outboxLateMs = 300_000;

/** Names of indexes, and of tables that have a primary key. */
export function madeByMigrations(): {
  readonly indexes: readonly string[];
  readonly keyed: readonly string[];
} {
  const text = create('s');
  const indexes = [...text.matchAll(/CREATE INDEX (\w+) ON s\./g)].map(([, name]) => name!);
  const keyed = [...text.matchAll(/CREATE (?:UNLOGGED )?TABLE s\.(\w+) \(([^;]*)/g)]
    .filter(([, , columns]) => /PRIMARY KEY/.test(columns!))
    .map(([, name]) => name!);
  return { indexes, keyed };
}

export const tableChecks: readonly Check<PostgresFacts>[] = [
  {
    id: 'postgres.indexes',
    severity: 'error',
    async look({ db, rows }) {
      await needVersion(db);
      const there = await rows(
        `SELECT i.relname, t.relname, x.indisvalid AND x.indisready, x.indisprimary
         FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
         WHERE t.relnamespace = to_regnamespace($1)`,
        [db.schema],
      );
      const { indexes, keyed } = madeByMigrations();
      const invalid = there.filter(([, , isValid]) => isValid !== true).map(([name]) => String(name));
      const names = new Set(there.map(([name]) => name));
      const primary = new Set(there.filter(([, , , isPrimary]) => isPrimary).map(([, table]) => table));
      const missing = [
        ...indexes.filter((name) => !names.has(name)),
        ...keyed.filter((table) => !primary.has(table)).map((table) => `the primary key of ${table}`),
      ];
      const where = `schema ${db.schema}`;
      const remedy = `Make a new schema with longshore migrate, compare (pg_dump --schema-only), and create it CONCURRENTLY.`;
      return [
        ...missing.map((name) => ({
          where,
          text: `The index ${name} is missing: what it is for reads whole tables.`,
          remedy,
        })),
        ...invalid.map((name) => ({
          where,
          text: `The index ${name} is invalid: it was never finished, costs every write, and is not used.`,
          remedy: `REINDEX INDEX CONCURRENTLY ${db.schema}.${name}.`,
        })),
      ];
    },
  },
  {
    id: 'postgres.days',
    severity: 'warning',
    async look({ db, rows }) {
      await needVersion(db);
      const name = "'history_' || to_char((now() + interval '1 day') AT TIME ZONE 'UTC', 'YYYYMMDD')";
      const [row] = await rows(
        `SELECT ${name}, to_regclass('${db.schema}.' || ${name}) IS NULL, pg_has_role(relowner, 'USAGE'), pg_get_userbyid(relowner)
         FROM pg_class WHERE oid = '${db.schema}.history'::regclass`,
      );
      const [day, isMissing, isOwner, owner] = row!;
      if (isMissing !== true) return [];
      return {
        where: tableIn(db.schema, day),
        text: `It is missing, so records of tomorrow are removed one by one, which leaves bloat. ${isOwner ? 'No worker has purged for a week.' : `This user may not make it: the tables belong to ${owner}.`}`,
        remedy: isOwner
          ? 'Start a worker, or run longshore migrate.'
          : `Run longshore migrate as ${owner} once a day.`,
      };
    },
  },
  {
    id: 'postgres.publication',
    severity: 'error',
    async look({ db, rows }) {
      const nameless = await rows(
        `SELECT DISTINCT t.tablename, t.pubname FROM pg_publication_tables t
         JOIN pg_publication p ON p.pubname = t.pubname AND (p.pubupdate OR p.pubdelete)
         JOIN pg_class c ON c.relnamespace = to_regnamespace($1) AND c.relname = t.tablename AND c.relkind = 'r'
         WHERE t.schemaname = (SELECT nspname FROM pg_namespace WHERE oid = to_regnamespace($1)) AND (c.relreplident = 'n' OR
           c.relreplident = 'd' AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary))`,
        [db.schema],
      );
      return nameless.map(([table, publication]) => ({
        where: tableIn(db.schema, table),
        text: `Publication ${publication} publishes it, and it has no replica identity: Postgres refuses to change its rows, so no job runs.`,
        remedy: `ALTER TABLE ${db.schema}.${table} REPLICA IDENTITY FULL.`,
      }));
    },
  },
  {
    id: 'postgres.autovacuum',
    severity: 'error',
    async look({ db, rows, setting }) {
      const remedy = 'Switch it on: a queue deletes as many rows as it writes.';
      if ((await setting('autovacuum')) === 'off')
        return [{ where: 'the Postgres server', text: 'autovacuum is off.', remedy }];
      const off = await rows(
        `SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1)
         AND EXISTS (SELECT FROM unnest(reloptions) o WHERE o IN ('autovacuum_enabled=false', 'autovacuum_enabled=off'))`,
        [db.schema],
      );
      return off.map(([table]) => ({
        where: tableIn(db.schema, table),
        text: 'autovacuum is off for it.',
        remedy,
      }));
    },
  },
  {
    id: 'postgres.vacuum',
    severity: 'warning',
    async look({ db, rows }) {
      const lagging = await rows(
        `SELECT relname, n_dead_tup, n_live_tup, greatest(last_vacuum, last_autovacuum)::text FROM pg_stat_user_tables
         WHERE relid IN (SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace($1))
           AND n_dead_tup > $2::bigint + n_live_tup / 10 ORDER BY n_dead_tup DESC`,
        [db.schema, mostDead],
      );
      return lagging.map(([table, dead, alive, last]): Problem => {
        const since = last === null ? 'it has never been vacuumed' : `its last vacuum was at ${last}`;
        return {
          where: tableIn(db.schema, table),
          text: `${dead} dead rows beside ${alive} live ones, and ${since}: fetches become slower.`,
          remedy: `Look for what holds vacuum back (postgres.xmin), raise autovacuum_max_workers, and VACUUM it once by hand.`,
        };
      });
    },
  },
  {
    id: 'postgres.bloat',
    severity: 'warning',
    async look({ db, rows }) {
      const bloated = await rows(
        `SELECT s.indexrelname, pg_relation_size(s.indexrelid) AS bytes, t.n_live_tup
         FROM pg_stat_user_indexes s JOIN pg_stat_user_tables t USING (relid)
         WHERE relid IN (SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace($1))
           AND pg_relation_size(s.indexrelid) > greatest($2::bigint, $3::bigint * greatest(t.n_live_tup, $4::bigint))
         ORDER BY bytes DESC`,
        [db.schema, bloatedBytes, mostBytesPerRow, leastRows],
      );
      return bloated.map(([index, size, alive]) => ({
        where: `index ${db.schema}.${index}`,
        text: `It has ${Math.round(Number(size) / 1024 ** 2)} MB for ${alive} rows: pages of a backlog that is gone.`,
        remedy: `REINDEX INDEX CONCURRENTLY ${db.schema}.${index}.`,
      }));
    },
  },
  {
    id: 'postgres.outbox',
    severity: 'warning',
    async look({ db, rows }) {
      await needVersion(db);
      const [row] = await rows(
        `SELECT (SELECT count(*) FROM (SELECT FROM ${db.schema}.outbox_refused LIMIT 10000) r),
           extract(epoch FROM now()) * 1000 - (SELECT min(written_at) FROM (SELECT written_at FROM ${db.schema}.outbox
             ORDER BY target, seq LIMIT 1000) o)`,
      );
      const [refused, ageMs] = row!.map(Number) as [number, number];
      const where = `the outbox in schema ${db.schema}`;
      const problems: Problem[] = [];
      if (ageMs > outboxLateMs)
        problems.push({
          where,
          text: `A message has waited in it for ${Math.round(ageMs / 60_000)} min.`,
          remedy: 'Start a relay (startRelay), and look at its log.',
        });
      if (refused > 0)
        problems.push({
          where,
          text: `${refused} messages were refused by their target, and wait in outbox_refused.`,
          remedy: 'Read their error there; docs/outbox.md says how to send them again.',
        });
      return problems;
    },
  },
];

async function needVersion({ pool, schema }: PostgresFacts['db']): Promise<void> {
  const { from, to } = await versionOf(pool, schema);
  if (from !== to) throw new CannotLook(`schema ${schema} is not at version ${to}`);
}

const tableIn = (schema: string, table: unknown): string => `table ${schema}.${table}`;
