/** The connections, from the user's pool or our own. Errors of both become LongshoreErrors. */

import { createHash, randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { config, LongshoreError, shown } from '../../../core/base/errors.ts';
import {
  onClient,
  type Pool,
  type PostgresPool,
  queryTimeoutMs,
  type Row,
  rowsOn,
  type Statement,
} from './client.ts';
import { isUndone, isUnprepared, postgresError } from './errors.ts';
import { defaultConnections, openPool } from './own-pool.ts';
import { createQueryRunner } from './query-runner.ts';
import { type MigrationResult, makeDays, migrate, versionOf } from './schema.ts';

export interface DatabaseOptions {
  /** `postgres://user:password@host:5432/database`. Either this or `pool`. */
  readonly url?: string;
  /** Your own `pg.Pool`. `close()` leaves it open. */
  readonly pool?: PostgresPool;
  /** Name of the schema with the tables. @default 'longshore' */
  readonly schema?: string;
  /** `true`: the first use creates and upgrades the tables. `false`: run `longshore migrate`. @default true unless NODE_ENV is production */
  readonly migrate?: boolean;
}

export type Database = ReturnType<typeof openDatabase>;

/** Without statistics the server takes tables for short, and would read and sort all rows. The settings last for this transaction. */
const beginInOrder = `BEGIN READ ONLY; ${['seqscan', 'bitmapscan', 'sort', 'hashjoin', 'mergejoin']
  .map((way) => `SET LOCAL enable_${way} = off`)
  .join('; ')}; SET LOCAL jit = off`;
/** In databases with a stricter isolation level than the default, concurrent leases undo each other. */
const mostTries = 20;

/** @param caller for errors, like `postgres()` */
export function openDatabase(options: DatabaseOptions, caller = 'postgres()') {
  const { url, pool: given, schema: name = 'longshore' } = options;
  const { migrate: may = process.env.NODE_ENV !== 'production' } = options;
  if ((typeof url === 'string' && url !== '') === (given !== undefined)) {
    throw config(`${caller} expects either the URL of a database or a pool. Pass one of the two.`);
  }
  const schema = quoteSchema(name);
  const pool = (given as Pool | undefined) ?? openPool(url!);
  const runQuery = createQueryRunner(pool, queryTimeoutMs);
  let checked: Promise<void> | null = null;

  async function check(): Promise<void> {
    const { from, to } = may ? await migrate(pool, schema) : await versionOf(pool, schema);
    if (from === to || may) return;
    throw migrationNeeded(name, from, to);
  }

  /** Poolers that share connections lose prepared statements. After the first such error no statement is prepared any more. */
  let mayPrepare = true;
  const statements = new Map<string, Statement>();

  /** Named by a digest of its text, because other code may prepare statements on the same connection. */
  function statementOf(text: string): Statement {
    let known = statements.get(text);
    if (!known) {
      const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
      known = { name: `longshore_${digest}`, text, rowMode: 'array' };
      statements.set(text, known);
    }
    // The driver copies own properties with their descriptors; inherited ones cost nothing.
    return Object.create(known) as Statement;
  }

  /** Sends a statement again when the server has undone it because of a conflict. `during` is for the error. */
  async function send(during: string, statement: Statement, values: unknown[]): Promise<Row[]> {
    for (let tries = 1; ; tries++) {
      try {
        return await runQuery(statement, values);
      } catch (error) {
        if (statement.name !== undefined && isUnprepared(error)) {
          mayPrepare = false;
          return send(during, plain(statement.text), values);
        }
        if (!isUndone(error) || tries === mostTries) throw postgresError(during, error);
        await delay(randomInt(2 ** Math.min(tries, 6))); // random, so that the same statements do not collide again
      }
    }
  }

  /** Resolves when the tables have the version of this code; otherwise throws `SCHEMA_VERSION` or `CONFIG`. */
  function ready(): Promise<void> {
    checked ??= check().catch((error) => {
      checked = null; // the server may be back at the next call
      throw postgresError('opening', error);
    });
    return checked;
  }

  /** One statement in its own transaction. @param begin the SQL that begins it */
  async function inTransaction(during: string, begin: string, text: string, values: unknown[]) {
    await ready();
    return onClient(pool, async (client) => {
      await client.query(begin);
      const rows = await rowsOn(client, text, values);
      await client.query('COMMIT');
      return rows;
    }).catch((cause) => {
      throw postgresError(during, cause);
    });
  }

  return {
    /** The schema's name, quoted. */
    schema,
    pool,
    /** `false` = the pool is the application's. */
    ownsPool: given === undefined,
    /** The most connections that the pool opens. */
    connections: pool.options?.max ?? defaultConnections,
    ready,
    async migrate(): Promise<MigrationResult> {
      try {
        const result = await migrate(pool, schema);
        if (result.from === result.to) await makeDays(pool, schema);
        return result;
      } catch (error) {
        throw postgresError('migrating', error);
      }
    },
    /** Whether statements can be prepared, as far as is known. */
    get mayPrepare() {
      return mayPrepare;
    },
    /** One statement after `ready`. */
    async query(during: string, text: string, values: unknown[]): Promise<Row[]> {
      await ready();
      return send(during, plain(text), values);
    },
    /** For frequent statements: the server parses them once per connection. Call `ready` first. */
    prepared: (during: string, text: string, values: unknown[]): Promise<Row[]> =>
      send(during, mayPrepare ? statementOf(text) : plain(text), values),
    inTransaction,
    /** Reads a few rows of long tables in the order of an index, whatever the statistics of the server are. */
    inOrder: (text: string, values: unknown[]) => inTransaction('listing', beginInOrder, text, values),
    async close(): Promise<void> {
      if (!given) await pool.end();
    },
  };
}

const plain = (text: string): Statement => ({ text, rowMode: 'array' });

/** 40 characters leave room for the names of the channel and of the daily tables. */
function quoteSchema(name: string): string {
  if (/^(?!pg_)[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(name)) return `"${name}"`;
  throw config(
    `postgres() expects schema to be a name of 1 to 40 letters, digits or underscores that does not begin with a digit or pg_, got ${shown(name)}.`,
  );
}

function migrationNeeded(schema: string, from: number | null, to: number) {
  const got = from === null ? 'no tables' : `version ${from}`;
  return new LongshoreError(
    'SCHEMA_VERSION',
    `Expected schema "${schema}" at version ${to}, got ${got}. Run \`longshore migrate\`.`,
  );
}
