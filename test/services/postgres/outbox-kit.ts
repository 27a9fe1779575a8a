/** What the outbox tests share: a database with an outbox, and a SQLite file that its rows go to. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect } from 'vitest';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { LongshoreEvent } from '../../../core/base/events.ts';
import type { PeekedMessage } from '../../../core/contract/admin.ts';
import type { OutgoingMessage, QueueBackend, SendResult } from '../../../core/contract/queue.ts';
import {
  type Outbox,
  outbox,
  type PostgresOptions,
  postgres,
  type Relay,
  type RelayOptions,
  startRelay,
} from '../../../local/backends/postgres/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { freshDatabase } from './schemas.ts';

export interface Bench {
  readonly url: string;
  /** Of the SQLite file. */
  readonly path: string;
  /** The file itself, for looking into it; another opening than any outbox's. */
  readonly file: QueueBackend;
  readonly pool: pg.Pool;
  /** What the relays have told. */
  readonly events: LongshoreEvent[];
  /** One more opening of the outbox, as another process would have; closed with the bench. `wrap` stands before the file. */
  open(wrap?: (to: QueueBackend) => QueueBackend, options?: Partial<PostgresOptions>): Outbox;
  relay(box: Outbox, options?: RelayOptions): Relay;
  /** Runs `work` in a transaction of its own, and commits. */
  transaction<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T>;
  /** The ids in the file, in the order in which they arrived. */
  arrived(): Promise<string[]>;
  close(): Promise<void>;
}

export async function createBench(): Promise<Bench> {
  const database = await freshDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'longshore-outbox-'));
  const { url } = database;
  const path = join(folder, 'queue.db');
  const file = sqlite(path);
  const pool = new pg.Pool({ connectionString: url });
  const events: LongshoreEvent[] = [];
  const boxes: Outbox[] = [];
  return {
    url,
    path,
    file,
    pool,
    events,
    open(wrap = (to) => to, options = {}) {
      const to = wrap(sqlite({ path, busyTimeoutMs: 0 }));
      const box = outbox(postgres({ url, ...options }), { to });
      boxes.push(box);
      return box;
    },
    relay: (box, options = {}) => startRelay(box, { on: (event) => events.push(event), ...options }),
    async transaction(work) {
      const tx = await pool.connect();
      try {
        await tx.query('BEGIN');
        const result = await work(tx);
        await tx.query('COMMIT');
        return result;
      } finally {
        tx.release();
      }
    },
    async arrived() {
      const rows: PeekedMessage[] = await file.admin!.peek('default', 100_000);
      return rows.map(({ id }) => id);
    },
    async close() {
      for (const box of boxes) await box.close();
      await file.close();
      await pool.end();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when the outbox has nothing left to move. */
export async function emptied(box: Outbox, timeout = 60_000): Promise<void> {
  await expect.poll(async () => (await box.backlog()).waiting, { timeout, interval: 10 }).toBe(0);
}

/** A target that fails for some messages, with the error that `fault` gives; the others get through. */
export function faulty(
  to: QueueBackend,
  fault: (message: OutgoingMessage) => LongshoreError | null,
): QueueBackend {
  return {
    ...to,
    async enqueue(messages) {
      const errors = messages.map(fault);
      const good = messages.filter((_, i) => errors[i] === null);
      const sent = good.length > 0 ? await to.enqueue(good) : [];
      return messages.map(({ id }, i): SendResult => {
        const error = errors[i];
        return error ? { ok: false, id, error } : sent.find((result) => result.id === id)!;
      });
    },
  };
}

export const busy = (): LongshoreError => new LongshoreError('BACKEND', 'The target is busy.');

/** Numbers in [0, 1) that are the same in every run. */
export function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
