/** A worker under load on a real server, and what became of every job, for tests that disturb the server meanwhile. */

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import * as z from 'zod';
import {
  type Contract,
  connect,
  createApp,
  defineJob,
  fixed,
  keyRing,
  type LongshoreEvent,
  startWorker,
} from '../../../core/index.ts';
import { until } from '../../kit/until.ts';

const plainJobs = 300;
/** Each is enqueued twice. */
const keys = 100;
const runMs = 15;
/** Long enough for this process to renew it on a busy machine. */
const leaseMs = 4_000;

export interface Load {
  readonly events: readonly LongshoreEvent[];
  /** Adds jobs, and retries those that were refused. Resolves when all were confirmed. */
  enqueue(count: number): Promise<void>;
  /** Resolves when so many handlers have ended since the start. */
  ended(count: number): Promise<void>;
  /** Resolves when so many more have ended. */
  endedMore(count: number): Promise<void>;
  /** Resolves when no job is left. Then stops the worker. */
  finish(): Promise<Outcome>;
}

export interface Outcome {
  /** Of all confirmed jobs, how many have which status. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly deadLetters: number;
  /** Runs of one key at the same time. */
  readonly overlaps: number;
  /** Keys by how many of their runs were acked: exactly one of the two messages may be. */
  readonly ackedPerKey: Readonly<Record<number, number>>;
  /** How many runs of keyed jobs ended beyond the first one of their key. */
  readonly doubled: number;
  /** Of all attempts, how many lost their lease before they were settled. */
  readonly interrupted: number;
  /** Why the worker stopped: as it was told, or by itself. */
  readonly reason: string;
}

/** Enqueues, starts a worker, and gives it back when it is at work. */
export async function startLoad(backend: Contract.QueueBackend): Promise<Load> {
  const events: LongshoreEvent[] = [];
  const running = new Set<number>();
  let ended = 0;
  const effects: number[] = [];
  let overlaps = 0;
  const common = {
    maxRetries: 50,
    retry: fixed(50),
    timeoutMs: 10_000,
    payload: z.object({ n: z.number() }),
  };
  async function run(): Promise<void> {
    await delay(runMs);
    ended++;
  }
  const plain = defineJob({ ...common, name: 'plain', handle: run });
  const keyed = defineJob({
    ...common,
    name: 'keyed',
    idempotencyKey: ({ n }) => `key-${n}`,
    async handle({ n }) {
      if (running.has(n)) overlaps++;
      running.add(n);
      await run();
      running.delete(n);
      effects[n] = (effects[n] ?? 0) + 1;
    },
  });
  const app = createApp({
    jobs: [plain, keyed],
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    on: (event) => events.push(event),
  });
  const client = connect(app, backend);
  const numbers = Array.from({ length: keys }, (_, n) => ({ n }));
  const keyOf = new Map<string, number>();
  const confirmed: string[] = [];

  async function enqueue(count: number): Promise<void> {
    for (let stored = 0; stored < count; ) {
      try {
        confirmed.push((await client.enqueue(plain, { n: stored })).id);
        stored++;
      } catch {
        await delay(50); // an application would answer 503 and be asked again
      }
    }
  }

  async function enqueueKeys(): Promise<void> {
    for (const [n, { id }] of (await client.enqueueMany(keyed, numbers)).entries()) {
      confirmed.push(id);
      keyOf.set(id, n);
    }
  }

  await enqueueKeys();
  const others = Array.from({ length: plainJobs }, (_, n) => ({ n }));
  for (const { id } of await client.enqueueMany(plain, others)) confirmed.push(id);
  await enqueueKeys();
  const worker = startWorker(app, { backend, concurrency: 10, leaseMs });
  await until(() => ended >= 30);

  return {
    events,
    enqueue,
    async ended(count) {
      await until(() => ended >= count);
    },
    async endedMore(count) {
      const goal = ended + count;
      await until(() => ended >= goal);
    },
    async finish() {
      await until(async () => {
        const [stats] = await backend.admin!.stats('default');
        return stats!.ready + stats!.delayed + stats!.leased === 0;
      });
      const { reason } = await worker.stop();
      const statuses: Record<string, number> = {};
      const acked = new Map<number, number>();
      let interrupted = 0;
      for (const id of confirmed) {
        const record = await client.status(id);
        const status = record?.status ?? 'lost';
        statuses[status] = (statuses[status] ?? 0) + 1;
        const lost = record?.attempts.filter(({ outcome }) => outcome === 'interrupted') ?? [];
        interrupted += lost.length;
        const key = keyOf.get(id);
        if (key !== undefined && record?.attempts.at(-1)?.outcome === 'acked')
          acked.set(key, (acked.get(key) ?? 0) + 1);
      }
      const ackedPerKey: Record<number, number> = {};
      for (const times of acked.values()) ackedPerKey[times] = (ackedPerKey[times] ?? 0) + 1;
      const deadLetters = (await backend.admin!.deadLetters.list({})).length;
      const doubled = effects.reduce((sum, times) => sum + times - 1, 0);
      return { statuses, deadLetters, overlaps, ackedPerKey, doubled, interrupted, reason };
    },
  };
}

export const jobsOfLoad = plainJobs + 2 * keys;
export const keysOfLoad = keys;

/** One statement on a connection of its own. */
export async function runSql<T = unknown>(url: string, sql: string, values: unknown[] = []): Promise<T[]> {
  const client = new pg.Client(url);
  client.on('error', () => {}); // of a server that dies; the statement fails too
  await client.connect();
  try {
    return (await client.query(sql, values)).rows as T[];
  } finally {
    await client.end();
  }
}

/** Ends the ordinary user's other connections to this database whose last statement is like `last`; returns how many. */
export async function terminate(url: string, last = '%'): Promise<number> {
  const sql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = 'longshore' AND pid <> pg_backend_pid() AND query LIKE $1`;
  return (await runSql(url, sql, [last])).length;
}
