/** The ceiling: node:sqlite itself, writing as many bytes as durably, with the one index that a queue needs. */

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sampleBody } from '../kit/app.ts';
import { perSecond, warmUpJobs } from '../kit/task.ts';

interface RawInput {
  readonly folder: string;
  readonly count: number;
  readonly synchronous: 'NORMAL' | 'FULL';
}

function open(path: string, synchronous: string) {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA wal_autocheckpoint = 2000`);
  db.exec(`
    CREATE TABLE jobs (id INTEGER PRIMARY KEY, queue TEXT NOT NULL, run_at INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE INDEX jobs_next ON jobs (queue, run_at)`);
  const insert = db.prepare('INSERT INTO jobs (queue, run_at, body) VALUES (?, ?, ?)');
  return { db, insertOne: (body: string) => insert.run('bench', Date.now(), body) };
}

export async function rawBulk({ folder, count, synchronous }: RawInput): Promise<number> {
  const body = await sampleBody();
  const write = (name: string, total: number): number => {
    const { db, insertOne } = open(join(folder, name), synchronous);
    const begin = db.prepare('BEGIN IMMEDIATE');
    const commit = db.prepare('COMMIT');
    const startedAt = performance.now();
    for (let from = 0; from < total; from += 1000) {
      begin.run();
      for (let i = 0; i < 1000; i++) insertOne(body);
      commit.run();
    }
    const rate = perSecond(total, performance.now() - startedAt);
    db.close();
    return rate;
  };
  write('warm-up.db', warmUpJobs);
  return write('raw.db', count);
}

export async function rawSingle({ folder, count, synchronous }: RawInput): Promise<number> {
  const body = await sampleBody();
  const write = (name: string, total: number): number => {
    const { db, insertOne } = open(join(folder, name), synchronous);
    const startedAt = performance.now();
    for (let i = 0; i < total; i++) insertOne(body);
    const rate = perSecond(total, performance.now() - startedAt);
    db.close();
    return rate;
  };
  write('warm-up.db', warmUpJobs);
  return write('raw.db', count);
}
