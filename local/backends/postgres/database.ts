/** The connections: a pool of the user's or our own, and the errors of both as ours. */

import { createHash, randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { config, LongshoreError, shown } from '../../../core/base/errors.ts';
import { createAsking } from './asking.ts';
import { isUndone, isUnprepared, postgresError } from './errors.ts';
import { type MigrationResult, migrate, versionOf } from './migrate.ts';

/** Rows as arrays, in the order of the columns. */
export type Row = readonly unknown[];

interface Answer {
  rows: Record<string, unknown>[];
}

export interface Statement {
  /** Of a prepared statement. */
  readonly name?: string;
  readonly text: string;
  readonly rowMode: 'array';
}

/** What is used of a `pg.PoolClient`. */
export interface PostgresClient {
  query(query: { text: string; values: unknown[]; rowMode: 'array'; query_timeout?: number }): Promise<{
    rows: Row[];
  }>;
  query(query: { text: string; values?: unknown[]; query_timeout: number }): Promise<Answer>;
  query(
    statement: Statement,
    values: unknown[],
    done: (error: Error | null, answer?: { rows: Row[] }) => void,
  ): void;
  query(text: string, values?: unknown[]): Promise<Answer>;
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
  on(event: 'error', listener: (error: Error) => void): unknown;
  end(): Promise<void>;
  /** How many wait for a connection. */
  readonly waitingCount?: number;
  readonly options?: { readonly max?: number };
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
  /** How many the pool opens at most. */
  readonly connections: number;
  /** The tables have the version this code knows; else throws `SCHEMA_VERSION` or `CONFIG`. */
  ready(): Promise<void>;
  migrate(): Promise<MigrationResult>;
  /** One statement, again when the server has undone it for the sake of another. `during` is for its error. */
  query(during: string, text: string, values: unknown[]): Promise<Row[]>;
  /** The same for one that is sent all the time: the server reads it once per connection, where connections are our own. */
  prepared(during: string, text: string, values: unknown[]): Promise<Row[]>;
  /** Whether statements can be prepared, as far as is known. */
  readonly mayPrepare: boolean;
  close(): Promise<void>;
}

/** A server that does not answer is one that is away. */
const connectTimeoutMs = 5_000;
/** Of every statement, in a pool of the user's too: one that was sent into a dead connection would never be answered. */
export const queryTimeoutMs = 30_000;
const defaultConnections = 10;
/** Where the database isolates transactions more strictly than by default, concurrent claims undo each other. */
const mostTries = 20;

export function openDatabase({ url, pool: given, schema: name, migrate: may }: DatabaseOptions): Database {
  const schema = quoteSchema(name);
  const pool = (given as Pool | undefined) ?? openPool(url!);
  const { ask } = createAsking(pool, queryTimeoutMs);
  let checked: Promise<void> | null = null;

  async function check(): Promise<void> {
    const { from, to } = may ? await migrate(pool, schema) : await versionOf(pool, schema);
    if (from === to || may) return;
    throw migrationNeeded(name, from, to);
  }

  /** Behind a pooler that shares connections a statement is not where it was prepared: then none is from there on. */
  let mayPrepare = true;
  const statements = new Map<string, Statement>();

  /** By its text, because others may have prepared on the same connection. */
  function statementOf(text: string): Statement {
    let known = statements.get(text);
    if (!known) {
      const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
      known = { name: `longshore_${digest}`, text, rowMode: 'array' };
      statements.set(text, known);
    }
    // The driver copies what is a member of its own, property descriptors and all: what is inherited costs nothing.
    return Object.create(known) as Statement;
  }

  async function send(during: string, statement: Statement, values: unknown[]): Promise<Row[]> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask(statement, values);
      } catch (error) {
        if (statement.name !== undefined && isUnprepared(error)) {
          mayPrepare = false;
          return send(during, plain(statement.text), values);
        }
        if (!isUndone(error) || tries === mostTries) throw postgresError(during, error);
        await delay(randomInt(2 ** Math.min(tries, 6))); // those who collided must not do so again
      }
    }
  }

  return {
    schema,
    pool,
    connections: pool.options?.max ?? defaultConnections,
    ready() {
      checked ??= check().catch((error) => {
        checked = null; // the server may be back at the next call
        throw postgresError('opening', error);
      });
      return checked;
    },
    async migrate() {
      try {
        return await migrate(pool, schema);
      } catch (error) {
        throw postgresError('migrating', error);
      }
    },
    get mayPrepare() {
      return mayPrepare;
    },
    query: (during, text, values) => send(during, plain(text), values),
    prepared: (during, text, values) => send(during, mayPrepare ? statementOf(text) : plain(text), values),
    close: async () => {
      if (!given) await pool.end();
    },
  };
}

const plain = (text: string): Statement => ({ text, rowMode: 'array' });

function openPool(url: string): Pool {
  const options = { connectionString: url, application_name: 'longshore' };
  try {
    // Without a scheme, or with a password that has a #, the driver would make up a host and find it missing.
    if (!/^((postgres|postgresql|socket):|\/)[^#]*$/.test(url)) throw new Error();
    new pg.Client(options); // which reads the URL; a pool would not before its first use
  } catch {
    // The driver's own message may repeat the URL, and with it the password.
    throw config(
      'postgres() expects a URL like postgres://user:password@host:5432/database, got another. In the password, write characters such as # and / as %23 and %2F.',
    );
  }
  return new pg.Pool({
    ...options,
    max: defaultConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  }) as unknown as Pool;
}

/** 40 characters leave room for the name of the channel and of the days' tables. */
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
