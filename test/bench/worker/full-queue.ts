/**
 * `node test/bench/worker/full-queue.ts sqlite|postgres|redis|beanstalkd [pairs] [keys]`: mails beside a queue whose limit is full, and without it, in turns.
 * One worker with 8 slots takes both queues. Queue `import` has 6,000 jobs of 10 ms under `concurrency: 4`; a mail comes every 20 ms.
 * With `keys` the limit is one job at a time for each of four keys.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod/mini';
import { type Contract, connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { redis } from '../../../local/backends/redis/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { startBeanstalkd } from '../../services/beanstalkd/server.ts';
import { percentile } from '../kit/bench.ts';
import { startServer as startPostgres } from '../postgres/server.ts';
import { startServer as startRedis } from '../redis/server.ts';

const imports = 6_000;
const jobMs = 10;
const slots = 8;
const limit = 4;
const mails = 200;
const mailEveryMs = 20;
const [name = 'sqlite', pairs = '3', byKey] = process.argv.slice(2);

interface Measured {
  readonly p50: number;
  readonly p95: number;
  /** Fetches that asked the queue of the mails, per mail. */
  readonly fetches: number;
  /** Calls that sent a job back to its queue, per mail. */
  readonly releases: number;
  /** CPU time of this process per mail, ms. */
  readonly cpuMs: number;
  /** Jobs of the other queue that ran in the same time, of 100 that its limit allows. */
  readonly percentOfLimit: number;
}

/** Counts the calls of a worker. */
function counting(backend: Contract.QueueBackend) {
  const calls = { fetches: 0, releases: 0 };
  const { ackAndFetch } = backend.hints ?? {};
  const asks = (queues: readonly string[]): void => {
    if (queues.includes('mail')) calls.fetches++;
  };
  const counted: Contract.QueueBackend = {
    ...backend,
    fetch(request) {
      asks(request.queues);
      return backend.fetch(request);
    },
    nack(lease, how) {
      calls.releases++;
      return backend.nack(lease, how);
    },
    hints: {
      ...backend.hints,
      ...(ackAndFetch && {
        ackAndFetch(acks, request) {
          asks(request.queues);
          return ackAndFetch(acks, request);
        },
      }),
    },
  };
  return { calls, counted };
}

async function measure(backend: Contract.QueueBackend, beside: boolean): Promise<Measured> {
  const waits: number[] = [];
  let imported = 0;
  const mail = defineJob({
    name: 'mail',
    queue: 'mail',
    payload: z.object({ at: z.number() }),
    handle: async ({ at }) => void waits.push(performance.now() - at),
  });
  const row = defineJob({
    name: 'import',
    queue: 'import',
    payload: z.object({ n: z.number() }),
    concurrency: byKey ? { limit: 1, key: ({ n }) => `${n % limit}` } : { limit },
    async handle() {
      await delay(jobMs);
      imported++;
    },
  });
  const app = createApp({
    jobs: [mail, row],
    signing: keyRing([{ kid: 'bench', secret: new Uint8Array(32).fill(7) }]),
  });
  const client = connect(app, backend);
  for (let n = 0; beside && n < imports; n += 1_000)
    await client.enqueueMany(
      row,
      Array.from({ length: 1_000 }, (_, i) => ({ n: n + i })),
    );
  const { calls, counted } = counting(backend);
  const worker = startWorker(app, { backend: counted, concurrency: slots });
  await delay(500);
  const begin = { ...calls, imported, cpu: process.cpuUsage(), at: performance.now() };
  for (let n = 0; n < mails; n++) {
    await client.enqueue(mail, { at: performance.now() });
    await delay(Math.max(0, begin.at + (n + 1) * mailEveryMs - performance.now()));
  }
  const { user, system } = process.cpuUsage(begin.cpu);
  const ms = performance.now() - begin.at;
  const ran = imported - begin.imported;
  const counts = { fetches: calls.fetches - begin.fetches, releases: calls.releases - begin.releases };
  while (waits.length < mails) await delay(10);
  await worker.stop();
  return {
    p50: percentile(waits, 50),
    p95: percentile(waits, 95),
    fetches: counts.fetches / mails,
    releases: counts.releases / mails,
    cpuMs: (user + system) / 1_000 / mails,
    percentOfLimit: (100 * ran * jobMs) / (ms * limit),
  };
}

/** Runs `use` with an empty backend. */
type At = (use: (backend: Contract.QueueBackend) => Promise<Measured>) => Promise<Measured>;

async function openAt(name: string): Promise<{ at: At; stop(): Promise<void> }> {
  if (name === 'sqlite') {
    return {
      async at(use) {
        const folder = mkdtempSync(join(tmpdir(), 'longshore-full-queue-'));
        const backend = sqlite(join(folder, 'queue.db'));
        try {
          return await use(backend);
        } finally {
          await backend.close();
          rmSync(folder, { recursive: true, force: true });
        }
      },
      stop: async () => {},
    };
  }
  if (name === 'beanstalkd') {
    const server = await startBeanstalkd({ binlog: true, args: ['-f', '50'] });
    let places = 0;
    return {
      async at(use) {
        const backend = beanstalkd({ url: server.url, prefix: `full-${++places}-`, store: memoryStore() });
        return use(backend).finally(() => backend.close());
      },
      stop: () => server.remove(),
    };
  }
  if (name === 'postgres' || name === 'redis') {
    const server = await (name === 'postgres' ? startPostgres() : startRedis());
    return {
      at: (use) =>
        server.at(async ({ url, schema }) => {
          const backend = name === 'postgres' ? postgres({ url, schema }) : redis({ url, prefix: schema });
          return use(backend).finally(() => backend.close());
        }) as Promise<Measured>,
      stop: () => server.stop(),
    };
  }
  throw new Error(`Expected sqlite, postgres, redis or beanstalkd, got ${name}.`);
}

const { at, stop } = await openAt(name);
const line = (what: string, { p50, p95, fetches, releases, cpuMs, percentOfLimit }: Measured): string =>
  `${what}: mail p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms; per mail ${fetches.toFixed(2)} fetches, ${releases.toFixed(2)} releases, ${cpuMs.toFixed(2)} ms CPU; import at ${percentOfLimit.toFixed(0)} % of its limit`;
try {
  for (let pair = 1; pair <= Number(pairs); pair++) {
    console.log(`${name}, pair ${pair}, load ${loadavg()[0]!.toFixed(1)}`);
    console.log(line('  alone ', await at((backend) => measure(backend, false))));
    console.log(line('  beside', await at((backend) => measure(backend, true))));
  }
} finally {
  await stop();
}
