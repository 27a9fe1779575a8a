/** Opens and stamps the file, and turns SQLite's result codes into our errors. */

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { checkInteger, checkNode } from '../../../core/base/checks.ts';
import { config, type ErrorCode, LongshoreError, shown } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import { applicationId, create, schemaVersion, upgrades } from './schema.ts';

export type Database = ReturnType<typeof openDatabase>;

export interface SqliteFileOptions {
  /** Path of the file; missing folders are created. `:memory:` = kept in memory, lost with the process. */
  readonly path: string;
  /**
   * NORMAL survives a killed process; a power cut may lose the last transactions, but never damages the file.
   * FULL also survives a power cut, at the price of a disk flush per transaction. @default 'NORMAL'
   */
  readonly synchronous?: 'NORMAL' | 'FULL';
  /** How long a statement waits for the write transaction of another process, ms. @default 5_000 */
  readonly busyTimeoutMs?: number;
}

/** @param caller for errors, like `sqlite()` */
export function openDatabase(caller: string, options: SqliteFileOptions) {
  const { path, synchronous = 'NORMAL', busyTimeoutMs = 5_000 } = options;
  if (typeof path !== 'string' || path === '')
    throw config(`${caller} expects the path of a file, got ${shown(path)}.`);
  if (synchronous !== 'NORMAL' && synchronous !== 'FULL') {
    throw config(`${caller} expects synchronous to be NORMAL or FULL, got ${shown(synchronous)}.`);
  }
  checkInteger(`busyTimeoutMs of ${caller}`, busyTimeoutMs, 0);
  checkNode();
  // Not imported: an old Node could not even load this file.
  const sqlite = process.getBuiltinModule('node:sqlite');
  const db = translating(path, 'opening', () => {
    if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true });
    return new sqlite.DatabaseSync(path, { timeout: busyTimeoutMs });
  });
  let version: ReturnType<typeof configure>;
  try {
    version = translating(path, 'opening', () => configure(db, path, synchronous));
  } catch (error) {
    db.close();
    throw error;
  }
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  return {
    version,
    /** `:memory:` in any of SQLite's spellings. */
    isInMemory: db.location() === null,
    prepare: (sql: string) => createStatement(db, sql),
    prepareAll: <Name extends string>(texts: Readonly<Record<Name, string>>) =>
      Object.fromEntries(
        Object.entries<string>(texts).map(([name, sql]) => [name, createStatement(db, sql)]),
      ) as Record<Name, ReturnType<typeof createStatement>>,
    /** Runs statements without beginning a transaction. Errors are thrown as LongshoreErrors. */
    run: <T>(during: string, work: () => T): T => translating(path, during, work),
    /** Runs `work` in one write transaction; any error rolls it back. */
    transaction: <T>(during: string, work: () => T): T =>
      translating(path, during, () => {
        begin.run();
        try {
          const result = work();
          commit.run();
          return result;
        } catch (error) {
          // A full disk has already rolled back; only the first error is useful.
          if (db.isTransaction) rollback.run();
          throw error;
        }
      }),
    close: () => db.close(),
  };
}

/** An object has named values. */
type Values = (SQLInputValue | Record<string, SQLInputValue>)[];

/** Prepared at its first use: a queue has a hundred statements, and preparing all of them takes 2 ms. */
function createStatement(db: DatabaseSync, sql: string) {
  let prepared: StatementSync | null = null;
  let returnsArrays = false;
  function statement(): StatementSync {
    if (prepared) return prepared;
    prepared = db.prepare(sql);
    prepared.setReturnArrays(returnsArrays);
    return prepared;
  }
  return {
    get: (...values: Values) => statement().get(...(values as SQLInputValue[])),
    all: (...values: Values) => statement().all(...(values as SQLInputValue[])),
    run: (...values: Values) => statement().run(...(values as SQLInputValue[])),
    iterate: (...values: Values) => statement().iterate(...(values as SQLInputValue[])),
    /** Before the first use. */
    setReturnArrays(wanted: boolean): void {
      returnsArrays = wanted;
    },
  };
}

/** Returns the schema version that was found (`null` = a new file), and the version of now. */
function configure(db: DatabaseSync, path: string, synchronous: string): { from: number | null; to: number } {
  // Check that the file is ours before writing anything.
  const { version, application, tables } = retryBusy(() => stampOf(db));
  if (application !== applicationId && tables > 0) {
    throw new LongshoreError(
      'CONFIG',
      `Expected ${path} to be a Longshore queue or a new file, got another program's database. Give the queue its own file.`,
    );
  }
  refuseOthers(path, version);
  // Several processes may open a new file together. Switching to WAL needs exclusive access for a moment and, unlike a write, does
  // not wait for it.
  retryBusy(() => db.exec('PRAGMA journal_mode = WAL'));
  db.exec(`PRAGMA synchronous = ${synchronous}`);
  const versions = { from: version === 0 ? null : version, to: schemaVersion };
  if (version === schemaVersion) return versions;
  db.exec('BEGIN IMMEDIATE');
  try {
    const now = pragma(db, 'user_version'); // another process may have changed it
    refuseOthers(path, now);
    const step = now === 0 ? create : upgrades.get(now);
    db.exec(
      `${step ?? ''}; PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion}; COMMIT`,
    );
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
  return versions;
}

function refuseOthers(path: string, version: number): void {
  if (version === 0 || version === schemaVersion || upgrades.has(version)) return;
  const [expected, why] =
    version > schemaVersion
      ? [`${schemaVersion} or older`, 'a newer Longshore has written it. Upgrade this process.']
      : [schemaVersion, 'no release has written it. Use another file.'];
  throw new LongshoreError(
    'SCHEMA_VERSION',
    `Expected ${path} at schema version ${expected}, got ${version}: ${why}`,
  );
}

function pragma(db: DatabaseSync, name: string): number {
  const row = db.prepare(`PRAGMA ${name}`).get() as Record<string, number>;
  return row[name]!;
}

function retryBusy<T>(work: () => T): T {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let tries = 0; ; tries++) {
    try {
      return work();
    } catch (error) {
      if (resultCode(error) !== 5 || tries === 100) throw error;
      Atomics.wait(pause, 0, 0, 20);
    }
  }
}

/** Reads in one transaction: a half-written stamp would look like the file of another program. */
function stampOf(db: DatabaseSync): { version: number; application: number; tables: number } {
  db.exec('BEGIN');
  try {
    const { tables } = db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number };
    return { tables, version: pragma(db, 'user_version'), application: pragma(db, 'application_id') };
  } finally {
    db.exec('ROLLBACK');
  }
}

/** The primary result code (https://sqlite.org/rescode.html); extended codes keep it in their low byte. */
function resultCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown }).errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

const remedies: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  5: [
    'BACKEND',
    'Another process holds the write lock for too long. Look for a stuck process with the file open.',
  ],
  8: ['READ_ONLY', 'Expected a writable file in a writable folder. Check the owner and the mount.'],
  11: [
    'CORRUPT',
    'The file is damaged. Stop all workers, keep a copy, and restore it or try `sqlite3 FILE .recover`.',
  ],
  13: ['STORAGE_FULL', 'The disk is full; nothing of this call was stored. Free space and repeat it.'],
  14: [
    'READ_ONLY',
    'Expected a folder in which the file can be created and written. Check the path and its owner.',
  ],
  26: ['CORRUPT', 'Expected a SQLite database, got a file of another kind. Choose another path.'],
};

const fileProblems = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOENT']);

function translating<T>(path: string, during: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof LongshoreError) throw cause;
    const code = resultCode(cause);
    const isFile = fileProblems.has((cause as NodeJS.ErrnoException).code ?? '');
    const [name, remedy] =
      (code !== null && remedies[code]) || (isFile ? remedies[14]! : ['BACKEND' as const, '']);
    throw new LongshoreError(
      name,
      `SQLite failed while ${during} (${path}): ${toError(cause).message}. ${remedy}`.trimEnd(),
      {
        cause,
      },
    );
  }
}
