/** What the crashing workers run: every start and every effect is written to a database of its own, durably. */

import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { createApp, defineJob, fixed, keyRing } from '../../../core/index.ts';

export function openEffects(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL, key TEXT, began REAL NOT NULL);
    CREATE TABLE IF NOT EXISTS charges (key TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS running (key TEXT PRIMARY KEY, lease_until REAL NOT NULL);
    CREATE TABLE IF NOT EXISTS overlaps (key TEXT NOT NULL);`);
  return db;
}

const payload = z.object({ n: z.number(), runMs: z.number() });

/** Of jobs that take from 5 to 34 ms. */
export const payloads = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ n, runMs: 5 + ((n * 7) % 30) }));

export function crashApp(effects: DatabaseSync | null, leaseMs: number) {
  const write = (sql: string, ...values: (string | number | null)[]) => effects!.prepare(sql).run(...values);
  const common = { payload, maxRetries: 100, retry: fixed(50), timeoutMs: 10_000 };
  const plain = defineJob({
    ...common,
    name: 'plain',
    async handle({ runMs }, ctx) {
      await delay(runMs);
      write('INSERT INTO effects VALUES (?, NULL, ?)', ctx.id, Date.now());
    },
  });
  const keyed = defineJob({
    ...common,
    name: 'keyed',
    idempotencyKey: ({ n }) => `charge-${n}`,
    async handle({ runMs }, ctx) {
      const key = ctx.idempotencyKey!;
      // Two runs of one key at the same time would find each other's mark; a killed run leaves one that has expired.
      const busy = effects!
        .prepare('SELECT 1 FROM running WHERE key = ? AND lease_until > ?')
        .get(key, Date.now());
      if (busy) write('INSERT INTO overlaps VALUES (?)', key);
      write('INSERT OR REPLACE INTO running VALUES (?, ?)', key, Date.now() + leaseMs / 2);
      await delay(runMs);
      // What a payment provider does with an idempotency key: the second charge is the first.
      write('INSERT OR IGNORE INTO charges VALUES (?)', key);
      write('INSERT INTO effects VALUES (?, ?, ?)', ctx.id, key, Date.now());
      write('DELETE FROM running WHERE key = ?', key);
    },
  });
  const app = createApp({
    jobs: [plain, keyed],
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
  });
  return { app, plain, keyed };
}
