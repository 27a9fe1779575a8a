/**
 * `node test/bench/texts.ts sqlite|postgres|redis`: what a backend's own stores take beside those that the kit makes of its texts, in turns. One that
 * is not 1.5 times as fast has no reason to be: docs/decisions/stores-are-texts.md.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../core/base/clock.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import type { DerivedStores } from '../../core/contract/store.ts';
import { forEach } from '../../core/kit/parallel.ts';
import { storesOf } from '../../core/kit/texts/stores.ts';
import { median } from './kit/bench.ts';

/** What is done once, and how often that is. */
interface Load {
  readonly count: number;
  run(stores: DerivedStores, place: string): Promise<unknown>;
}

const hourMs = 3_600_000;
const atOnce = 16;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

const loads: { readonly [Name in keyof DerivedStores]?: Load } = {
  limits: {
    count: 1_000,
    run: ({ limits }, place) =>
      forEach(
        numbers(1_000),
        async (n) => {
          const slot = { key: `${place} ${n % 8}`, holder: `${n}`, owner: `${n}` };
          const rest = { limit: 5, holdMs: hourMs, rank: n, queue: 'default' };
          await limits.take([{ ...slot, ...rest }]);
          await limits.free([slot]);
        },
        atOnce,
      ),
  },
  batches: {
    count: 1_000,
    async run({ batches }, id) {
      const [sender, planned] = ['sender', 1_000];
      await batches.open({ id, plan: '{}', sender, planned });
      await batches.sent(id, sender, { sent: planned, planned, sealed: true });
      await forEach(
        numbers(planned),
        (number) => batches.ended([{ batch: id, number, failed: false }]),
        atOnce,
      );
    },
  },
  metrics: {
    count: 60,
    async run({ metrics }, source) {
      const body = 'x'.repeat(300);
      const from = Math.floor(Date.now() / hourMs) * hourMs;
      for (const minute of numbers(60)) {
        const at = { step: 'minute', at: from + minute * 60_000, queue: 'default' } as const;
        await metrics.write(numbers(50).map((n) => ({ ...at, job: `job ${n}`, source, body })));
      }
      await metrics.read({ step: 'minute', from, to: from + hourMs });
    },
  },
  schedules: {
    count: 200,
    async run({ schedules }, place) {
      for (const n of numbers(200))
        await schedules.write({ name: `${place}.${n}`, nextAt: Date.now() + hourMs, text: '{}' }, null);
      await schedules.due(Date.now() + 2 * hourMs, 100);
    },
  },
  audit: {
    count: 200,
    async run({ audit }, place) {
      const entry = {
        operation: 'o',
        phase: 'done',
        actor: 'anna',
        from: 'cli',
        action: 'queue.pause',
      } as const;
      for (const n of numbers(200))
        await audit.append({
          ...entry,
          ...{ id: `${place}-${n}`, at: Date.now(), target: 'mail', count: 1, note: null },
        });
      await audit.page({});
    },
  },
  steps: {
    count: 200,
    async run({ steps }, place) {
      for (const n of numbers(200)) await steps.write(`job:${place}.${n}`, '{}', null, Date.now() + hourMs);
    },
  },
  workers: {
    count: 200,
    async run({ workers }, id) {
      const counts = { acked: 0 } as never;
      const beat = { id, host: 'h', pid: 1, queues: ['default'], concurrency: 1, running: 0, counts };
      const at = Date.now();
      for (const n of numbers(200))
        await workers.heartbeat({ ...beat, startedAt: at, seenAt: at + n, memoryBytes: 1 });
    },
  },
};

const opens: Record<string, (use: (backend: QueueBackend) => Promise<void>) => Promise<void>> = {
  async sqlite(use) {
    const { sqlite } = await import('../../local/backends/sqlite/index.ts');
    const folder = mkdtempSync(join(tmpdir(), 'longshore-texts-'));
    await use(sqlite({ path: join(folder, 'jobs.db') }));
    rmSync(folder, { recursive: true });
  },
  async postgres(use) {
    const { postgres } = await import('../../local/backends/postgres/index.ts');
    const server = await (await import('./postgres/server.ts')).startServer();
    await server.at(({ url, schema }) => use(postgres({ url, schema }))).finally(server.stop);
  },
  async redis(use) {
    const { redis } = await import('../../local/backends/redis/index.ts');
    const server = await (await import('./redis/server.ts')).startServer();
    await server.at(({ url }) => use(redis(url))).finally(server.stop);
  },
};

/** The stores that these backends have of their own. */
const natives: Readonly<Record<string, readonly (keyof DerivedStores)[]>> = {
  sqlite: ['limits', 'batches'],
  postgres: ['limits', 'batches', 'metrics'],
  redis: ['limits', 'batches'],
};
/** After one that warms up. */
const rounds = 5;

async function compare(backend: QueueBackend): Promise<void> {
  const { stores } = backend;
  const ofTexts = storesOf(stores!.texts!, systemClock);
  for (const [name, { count, run }] of Object.entries(loads)) {
    const times = { native: [] as number[], texts: [] as number[] };
    const kinds = natives[backend.name]!.some((one) => one === name)
      ? (['native', 'texts'] as const)
      : (['texts'] as const);
    for (const round of numbers(rounds + 1))
      for (const kind of kinds) {
        const begin = performance.now();
        await run(kind === 'native' ? (stores as DerivedStores) : ofTexts, `${kind}-${round}`);
        if (round > 0) times[kind].push(((performance.now() - begin) * 1_000) / count);
      }
    const texts = median(times.texts);
    const native = times.native.length > 0 ? median(times.native) : null;
    const beside =
      native === null
        ? ''
        : `, native ${native.toFixed(0)} µs: texts take ${(texts / native).toFixed(1)} times as long`;
    console.log(`${backend.name} ${name}: texts ${texts.toFixed(0)} µs${beside}`);
  }
  await backend.close();
}

const [name = 'sqlite'] = process.argv.slice(2);
const open = opens[name];
if (!open) throw new Error(`Expected one of ${Object.keys(opens).join(', ')}, got ${name}.`);
await open(compare);
