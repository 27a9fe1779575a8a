/**
 * plainjob with its best settings: no logging, polling as often as Longshore, one connection, and as many workers
 * as Longshore has slots, because one of its workers runs one job at a time. It has no setting that deletes a job
 * when it is done, so both kinds of our drains are compared with the same run.
 *
 * It is measured as it ships (on better-sqlite3), and on node:sqlite through the connection interface it exports.
 */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { payload } from '../kit/app.ts';
import { type Host, perSecond, warmUpJobs } from '../kit/task.ts';

export type Driver = 'better-sqlite3' | 'node:sqlite';

interface Connection {
  readonly driver: 'better-sqlite3';
  readonly filename: string;
  pragma(text: string): void;
  exec(sql: string): void;
  prepare(sql: string): unknown;
  transaction(work: (...values: unknown[]) => unknown): unknown;
  close(): void;
}

interface Plainjob {
  better(database: unknown): Connection;
  defineQueue(options: object): Queue;
  defineWorker(type: string, run: (job: unknown) => Promise<void>, options: object): Worker;
}

interface Queue {
  addMany(type: string, payloads: readonly unknown[]): void;
  close(): void;
}

interface Worker {
  start(): Promise<void>;
  stop(): Promise<void>;
}

const logger = { debug() {}, info() {}, warn() {}, error() {} };

interface PlainjobInput {
  readonly folder: string;
  readonly driver: Driver;
  readonly count: number;
  readonly concurrency: number;
}

/** Jobs per second of draining. */
export async function plainjob(
  { folder, driver, count, concurrency }: PlainjobInput,
  host: Host,
): Promise<number> {
  const require = createRequire(join(host.folder, 'package.json'));
  const library = (await import(pathToFileURL(require.resolve('plainjob')).href)) as Plainjob;
  const connect = (path: string): Connection =>
    driver === 'node:sqlite' ? onNode(path) : library.better(new (require('better-sqlite3'))(path));
  await drain(library, connect(join(folder, 'warm-up.db')), warmUpJobs, concurrency);
  return drain(library, connect(join(folder, 'plainjob.db')), count, concurrency);
}

async function drain(
  library: Plainjob,
  connection: Connection,
  count: number,
  concurrency: number,
): Promise<number> {
  const queue = library.defineQueue({ connection, logger });
  connection.pragma('wal_autocheckpoint = 2000');
  connection.pragma('cache_size = -16000');
  for (let from = 0; from < count; from += 1000) {
    queue.addMany(
      'bench',
      Array.from({ length: 1000 }, (_, i) => payload(from + i)),
    );
  }
  let done = 0;
  const all = Promise.withResolvers<void>();
  const onCompleted = () => {
    if (++done === count) all.resolve();
  };
  const options = { queue, logger, pollIntervall: 5, onCompleted };
  const workers = Array.from({ length: concurrency }, () =>
    library.defineWorker('bench', async () => {}, options),
  );
  const startedAt = performance.now();
  for (const worker of workers) void worker.start();
  await all.promise;
  const rate = perSecond(count, performance.now() - startedAt);
  for (const worker of workers) await worker.stop();
  queue.close();
  return rate;
}

function onNode(path: string): Connection {
  const db = new DatabaseSync(path);
  const within =
    (begin: string, work: (...values: unknown[]) => unknown) =>
    (...values: unknown[]) => {
      db.exec(begin);
      try {
        const result = work(...values);
        db.exec('COMMIT');
        return result;
      } catch (error) {
        db.exec('ROLLBACK');
        throw error;
      }
    };
  return {
    driver: 'better-sqlite3',
    filename: path,
    pragma: (text) => db.exec(`PRAGMA ${text}`),
    exec: (sql) => db.exec(sql),
    prepare: (sql) => db.prepare(sql),
    transaction: (work) =>
      Object.assign(within('BEGIN', work), { immediate: within('BEGIN IMMEDIATE', work) }),
    close: () => db.close(),
  };
}
