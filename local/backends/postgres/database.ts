/** The connections: a pool of the user's or our own, and the errors of both as ours. */

import pg from 'pg';
import { config, LongshoreError, shown } from '../../../core/errors.ts';
import { postgresError } from './errors.ts';
import { type MigrationResult, migrate, versionOf } from './migrate.ts';

/** Rows as arrays, in the order of the columns. */
export type Row = readonly unknown[];

/** What is used of a `pg.PoolClient`. */
export interface PostgresClient {
  query(query: { text: string; values: unknown[]; rowMode: 'array' }): Promise<{ rows: Row[] }>;
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown;
  removeListener(event: 'error', listener: (error?: Error) => void): unknown;
  removeAllListeners(event: string): unknown;
  release(destroy?: boolean | Error): void;
}

/** A `pg.Pool`. Described by its shape, so that a program without its types compiles. */
export interface PostgresPool {
  connect(): Promise<unknown>;
  end(): Promise<void>;
}

/** What is used of one. */
export interface Pool {
  connect(): Promise<PostgresClient>;
  query(query: { text: string; values: unknown[]; rowMode: 'array' }): Promise<{ rows: Row[] }>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  end(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url?: string;
  readonly pool?: PostgresPool;
  readonly schema: string;
  /** Whether the first use may create and upgrade the tables. */
  readonly migrate: boolean;
}

export interface Database {
  /** The schema's name, quoted. */
  readonly schema: string;
  readonly pool: Pool;
  /** The tables have the version this code knows; else throws `SCHEMA_VERSION` or `CONFIG`. */
  ready(): Promise<void>;
  migrate(): Promise<MigrationResult>;
  /** One statement. `during` is for its error. */
  query(during: string, text: string, values: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** A server that does not answer is one that is away. */
const connectTimeoutMs = 5_000;
const queryTimeoutMs = 30_000;
const connections = 10;

export function openDatabase({ url, pool: given, schema: name, migrate: may }: DatabaseOptions): Database {
  const schema = quoteSchema(name);
  const pool = (given as Pool | undefined) ?? openPool(url!);
  if (!guarded.has(pool)) pool.on('error', () => {});
  guarded.add(pool);
  let checked: Promise<void> | null = null;

  async function check(): Promise<void> {
    const { from, to } = may ? await migrate(pool, schema) : await versionOf(pool, schema);
    if (from === to || may) return;
    throw migrationNeeded(name, from, to);
  }

  return {
    schema,
    pool,
    async ready() {
      checked ??= check();
      try {
        await checked;
      } catch (error) {
        checked = null; // the server may be back at the next call
        throw postgresError('opening', error);
      }
    },
    async migrate() {
      try {
        return await migrate(pool, schema);
      } catch (error) {
        throw postgresError('migrating', error);
      }
    },
    async query(during, text, values) {
      try {
        return (await pool.query({ text, values, rowMode: 'array' })).rows;
      } catch (error) {
        throw postgresError(during, error);
      }
    },
    close: async () => {
      if (!given) await pool.end();
    },
  };
}

/** A broken idle connection is replaced at the next query; but without a listener its error would end the process. */
const guarded = new WeakSet<Pool>();

function openPool(url: string): Pool {
  try {
    return new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: queryTimeoutMs,
      keepAlive: true,
      application_name: 'longshore',
    }) as unknown as Pool;
  } catch {
    // The driver's own message may repeat the URL, and with it the password.
    throw config('postgres() expects a URL like postgres://user:password@host:5432/database, got another.');
  }
}

/** 40 characters leave room for the name of the channel and of the days' tables. */
function quoteSchema(name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(name)) return `"${name}"`;
  throw config(
    `postgres() expects schema to be a name of 1 to 40 letters, digits or underscores, got ${shown(name)}.`,
  );
}

function migrationNeeded(schema: string, from: number | null, to: number) {
  const got = from === null ? 'no tables' : `version ${from}`;
  return new LongshoreError(
    'SCHEMA_VERSION',
    `Expected schema "${schema}" at version ${to}, got ${got}. Run \`longshore migrate\`.`,
  );
}
