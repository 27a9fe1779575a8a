/** `longshore move` from backend to backend with everything a queue can hold, and killed on its way. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { type App, connect, createApp, defineJob, startWorker } from '../../../core/index.ts';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { redis } from '../../../local/backends/redis/index.ts';
import { sqlite, sqliteStore } from '../../../local/backends/sqlite/index.ts';
import { firstOf } from '../../../local/cli/commands/select-jobs.ts';
import { movable } from '../../../local/move/contract.ts';
import { startBeanstalkd } from '../../services/beanstalkd/server.ts';
import { freshDatabase } from '../../services/postgres/schemas.ts';
import { freshRedis } from '../../services/redis/database.ts';
import { json, makeProject, root } from './kit.ts';

const database = await freshDatabase();
const redisUrl = await freshRedis();
const tubes = await startBeanstalkd();
const imported = (path: string): string => JSON.stringify(join(root, path));
const folder = makeProject({
  'beanstalkd.config.ts': `
    import { createApp } from ${imported('core/index.ts')};
    import { beanstalkd } from ${imported('local/backends/beanstalkd/index.ts')};
    import { sqliteStore } from ${imported('local/backends/sqlite/index.ts')};
    export const app = createApp({ jobs: [] });
    export const backend = () =>
      beanstalkd({ url: '${tubes.url}', store: sqliteStore(import.meta.dirname + '/state.db') });`,
});
afterAll(async () => {
  await tubes.remove();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Stop {
  readonly address: string;
  /** It cannot list what waits, and keeps neither the history of a job nor, of a ready one, the millisecond since which it is. */
  readonly modest?: true;
  open(): QueueBackend;
}
const file = (name: string): Stop => {
  const path = join(folder, name);
  return { address: `sqlite:${name}`, open: () => sqlite(path) };
};
const first = file('first.db');
/** The chain of the first test; a backend that joins it must give out what it was given. */
const chain: readonly Stop[] = [
  first,
  { address: database.url, open: () => postgres(database.url) },
  { address: redisUrl, open: () => redis(redisUrl) },
  {
    modest: true,
    address: './beanstalkd.config.ts',
    open: () => beanstalkd({ url: tubes.url, store: sqliteStore(join(folder, 'state.db')) }),
  },
  file('last.db'),
];

const runs = new Map<string, number>();
let pauseMs = 0;
const counting = (name: string, queue: string) =>
  defineJob({
    name,
    queue,
    payload: z.object({ n: z.number() }),
    async handle(_, ctx) {
      if (pauseMs > 0) await sleep(pauseMs);
      runs.set(ctx.id, (runs.get(ctx.id) ?? 0) + 1);
    },
  });
const count = counting('count', 'mail');
const report = counting('report', 'reports');
const app: App = createApp({ jobs: [count, report] });
const queues = ['mail', 'reports'];

const total = 10_000;
const day = 86_400_000;

/** 7,500 ready ones of all priorities, 1,500 delayed, 500 that have failed once, 500 dead letters. Ids by kind. */
async function fill(backend: QueueBackend): Promise<Record<'ready' | 'delayed' | 'dead', string[]>> {
  const client = connect(app, backend);
  const payloads = (n: number) => Array.from({ length: n }, (_, i) => ({ n: i }));
  const idsOf = (sent: readonly { id: string }[]) => sent.map(({ id }) => id);
  const take = async (n: number) => {
    const leases = await backend.fetch({ queues, max: n, leaseMs: 60_000, waitMs: 0 });
    expect(leases).toHaveLength(n);
    return leases;
  };
  const dead = idsOf(await client.enqueueMany(report, payloads(500)));
  for (const [i, lease] of (await take(500)).entries())
    await backend.abandon(lease, {
      reason: i % 2 === 0 ? 'exhausted' : 'rejected',
      error: `HANDLER: no "${i}"\nü`,
    });
  const tried = idsOf(await client.enqueueMany(count, payloads(500)));
  for (const lease of await take(500)) {
    const at = Date.now();
    const error = { code: 'HANDLER', message: 'not yet' };
    const report = {
      attempt: 1,
      startedAt: at - 5,
      endedAt: at,
      outcome: 'requeued' as const,
      error,
      output: null,
    };
    await backend.nack(lease, { delayMs: 0, countAttempt: true, report });
  }
  const ready: string[] = [];
  for (const priority of ['critical', 'normal', 'low'] as const)
    ready.push(...idsOf(await client.enqueueMany(count, payloads(2_500), { priority })));
  const delayed = idsOf(await client.enqueueMany(report, payloads(1_500), { delayMs: day }));
  return { ready: [...tried, ...ready], delayed, dead };
}

/** Everything that can be asked of what is there; without what a backend may choose itself. */
async function pictureOf(backend: QueueBackend) {
  const admin = backend.admin!;
  const waiting = (await Promise.all(queues.map((queue) => admin.peek(queue, total)))).flat();
  const letters = await admin.deadLetters.list({ max: total });
  const { found: records } = await firstOf(async (page) => {
    const { records: found, next } = await backend.stores!.records.page(page);
    return { found, next };
  }, total);
  const byId = <T extends { id: string }>(all: readonly T[]) =>
    all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return {
    order: waiting.map(({ id }) => id),
    waiting: byId(waiting),
    letters: byId(letters),
    records: byId(records),
  };
}

type Picture = Awaited<ReturnType<typeof pictureOf>>;

/** Of a picture, what outlasts a modest backend. */
function rough({ waiting, letters, records }: Picture) {
  return {
    letters,
    waiting: waiting.map(({ readyAt, ...rest }) => ({
      ...rest,
      due: rest.queue === 'reports' ? readyAt : null,
    })),
    records: records.map(({ id, queue, job, status, priority }) => ({ id, queue, job, status, priority })),
  };
}

async function countsOf({ admin }: QueueBackend) {
  const stats = await admin!.stats();
  const used = stats
    .filter(({ queue }) => queues.includes(queue))
    .sort((a, b) => (a.queue < b.queue ? -1 : 1));
  return used.map(({ queue, ready, delayed, leased, dead }) => ({ queue, ready, delayed, leased, dead }));
}

const bodiesOf = async (backend: QueueBackend): Promise<string[]> => {
  const held = [];
  for (const queue of queues) {
    for (;;) {
      const some = await movable(backend).transfer!.hold(queue, 1_000);
      if (some.length === 0) break;
      held.push(...some);
    }
    await movable(backend).transfer!.release(
      queue,
      held.map(({ message }) => message.id),
    );
  }
  return held.map(({ message }) => message.body).sort();
};

describe('longshore move', () => {
  it('carries 10,000 jobs through all backends, and nothing about them changes', async () => {
    let source = first.open();
    const ids = await fill(source);
    const picture = await pictureOf(source);
    const bodies = await bodiesOf(source);
    expect(picture.waiting).toHaveLength(9_500);
    await source.close();
    for (const [i, to] of chain.slice(1).entries()) {
      const from = chain[i]!;
      const { code, data, stderr } = await json(folder, ['move', '--from', from.address, '--to', to.address]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(data).toMatchObject({
        moved: 9_500,
        delayed: 1_500,
        dead: 500,
        known: 0,
        refused: [],
        complete: true,
      });
      const [left, arrived] = [from.open(), to.open()];
      const full = [
        { queue: 'mail', ready: 8_000, delayed: 0, leased: 0, dead: 0 },
        { queue: 'reports', ready: 0, delayed: 1_500, leased: 0, dead: 500 },
      ];
      expect(await countsOf(arrived)).toEqual(full);
      for (const { ready, delayed, leased, dead } of await countsOf(left))
        expect([ready, delayed, leased, dead]).toEqual([0, 0, 0, 0]);
      if (!from.modest) expect((await pictureOf(left)).records).toEqual([]);
      if (from.modest) expect(rough(await pictureOf(arrived))).toEqual(rough(picture));
      else if (!to.modest) expect(await pictureOf(arrived)).toEqual(picture);
      await left.close();
      await arrived.close();
    }
    source = chain.at(-1)!.open();
    expect(await bodiesOf(source)).toEqual(bodies);
    runs.clear();
    await startWorker(app, { backend: source, queues, concurrency: 50, untilIdle: true }).done;
    expect([...runs.keys()].sort()).toEqual(ids.ready.toSorted());
    expect(new Set(runs.values())).toEqual(new Set([1]));
    const [stats] = await source.admin!.stats('reports');
    expect(stats).toMatchObject({ ready: 0, delayed: 1_500, dead: 500 });
    await source.close();
  }, 120_000);

  it('killed twice, with workers on both sides, ends with every job run once', async () => {
    const [from, to] = [chain[1]!, chain[2]!];
    const forgetful = { retention: { completedMs: 0 } }; // so that no backend can drop a second copy of a job that is done
    const source = postgres({ url: from.address, ...forgetful });
    const ids = await fill(source);
    const target = redis({ url: to.address, ...forgetful });
    runs.clear();
    pauseMs = 5;
    const slow = { queues: ['mail'], concurrency: 1 };
    const workers = [
      startWorker(app, { backend: source, ...slow }),
      startWorker(app, { backend: target, ...slow }),
    ];
    const entry = join(root, 'local/cli/main.ts');
    const start = () =>
      spawn(process.execPath, [entry, 'move', '--from', from.address, '--to', to.address, '--json'], {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    for (const arrived of [2_000, 5_000]) {
      const child = start();
      const ended = once(child, 'exit');
      while (child.exitCode === null && (await arrivedAt(target)) < arrived) await sleep(5);
      child.kill('SIGKILL');
      expect((await ended)[1]).toBe('SIGKILL');
    }
    const child = start();
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    expect((await once(child, 'close'))[0]).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ complete: true, refused: [] });
    pauseMs = 0;
    await Promise.all(workers.map((worker) => worker.stop()));
    for (const backend of [source, target])
      await startWorker(app, { backend, queues, concurrency: 50, untilIdle: true }).done;
    expect([...runs.keys()].sort()).toEqual(ids.ready.toSorted());
    expect([...runs.values()].filter((times) => times !== 1)).toEqual([]);
    expect((await target.admin!.stats('reports'))[0]).toMatchObject({
      delayed: 1_500,
      dead: 500,
      leased: 0,
    });
    expect((await source.admin!.stats('reports'))[0]).toMatchObject({ delayed: 0, dead: 0, leased: 0 });
    await source.close();
    await target.close();
  }, 120_000);
});

/** Waiting or held there; the delayed ones come last. */
async function arrivedAt(target: QueueBackend): Promise<number> {
  const stats = (await target.admin!.stats()).filter(({ queue }) => queue === 'mail');
  return stats.reduce((sum, { ready, leased }) => sum + ready + leased, 0);
}
