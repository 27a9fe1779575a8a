/** Databases and schemas of the shared server, empty and quickly had. */

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { shared } from '../../kit/shared/shared.ts';
import { runSql } from './load.ts';

export interface Database {
  /** As an ordinary user, who owns it. */
  readonly url: string;
  /** Waits for connections to end, for up to 5 s; then it goes with the server. */
  drop(): Promise<void>;
}

const isInUse = '55006';

/** An empty database, for tests that look at more than one schema or at all connections. Takes about 100 ms. */
export async function freshDatabase(): Promise<Database> {
  const { url, superuserUrl } = await shared('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runSql(superuserUrl, `CREATE DATABASE ${name} OWNER longshore TEMPLATE template0`);
  const own = new URL(url);
  own.pathname = name;
  // Never by force: a client that has just closed its connection would be told of an error when it listens no more.
  async function drop(): Promise<void> {
    try {
      await runSql(superuserUrl, `DROP DATABASE ${name}`);
    } catch (error) {
      if ((error as pg.DatabaseError).code !== isInUse) throw error;
    }
  }
  return { url: own.href, drop };
}

export interface Schemas {
  readonly url: string;
  /** The name of a migrated schema in which nothing is stored. */
  take(): Promise<string>;
  /** For the next one to take: whoever had it must have ended all connections or transactions. */
  release(schema: string): void;
  drop(): Promise<void>;
}

/** Schemas in a database of their own. Making one takes about 70 ms, emptying a used one about 1 ms. */
export async function createSchemas(): Promise<Schemas> {
  const database = await freshDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  const free: string[] = [];
  /** By schema: the statements that empty it. */
  const emptying = new Map<string, string>();
  let made = 0;

  return {
    url: database.url,
    async take() {
      const used = free.pop();
      if (used !== undefined) {
        await pool.query(emptying.get(used)!);
        return used;
      }
      const schema = `longshore_${++made}`;
      const backend = postgres({ pool, schema });
      await backend.migrate!();
      await backend.close();
      emptying.set(schema, await statementsThatEmpty(pool, schema));
      return schema;
    },
    release: (schema) => void free.push(schema),
    async drop() {
      await pool.end();
      await database.drop();
    },
  };
}

/**
 * Empties every table that migrating has left empty (the others hold the version and the like), and drops the parts of
 * tables that were made since. DELETE, because TRUNCATE makes new files for every table and index, which takes longer
 * than to delete the few rows of a law.
 */
async function statementsThatEmpty(pool: pg.Pool, schema: string): Promise<string> {
  const { rows } = await pool.query<{ name: string; part: boolean }>(
    `SELECT relname AS name, relispartition AS part FROM pg_class
     WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p')`,
    [schema],
  );
  const empty = await Promise.all(
    rows
      .filter(({ part }) => !part)
      .map(async ({ name }) => {
        const { rowCount } = await pool.query(`SELECT FROM ${schema}.${name} LIMIT 1`);
        return rowCount === 0 ? `DELETE FROM ${schema}.${name};` : '';
      }),
  );
  const parts = rows.filter(({ part }) => part).map(({ name }) => `'${name}'`);
  return `${empty.join(' ')}
    DO $$ DECLARE late regclass; BEGIN
      FOR late IN SELECT oid FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r'
        AND relispartition AND relname NOT IN (${parts.join(', ') || "''"})
      LOOP EXECUTE 'DROP TABLE ' || late; END LOOP;
    END $$;`;
}
