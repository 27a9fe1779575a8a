/** Whoever waits for a job is woken by another process, through the server: no time passes in these tests. */

import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { RecordStore } from '../../../core/contract/store.ts';
import { connect, createApp, defineJob, keyRing, PermanentError, startWorker } from '../../../core/index.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { postgres, postgresStore } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { databasesWith } from '../databases.ts';
import { runSql } from '../postgres/load.ts';
import { freshDatabase } from '../postgres/schemas.ts';

const after: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of after.splice(0)) await undo();
});
const databases = databasesWith(after);

const charge = defineJob({
  name: 'charge',
  payload: z.object({ order: z.number() }),
  maxRetries: 0,
  handle({ order }) {
    if (order < 0) throw new PermanentError('no such order');
    return { receipt: order };
  },
});
const app = createApp({ jobs: [charge], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });

/** Two processes; the one that waits has a clock that stands still. */
async function hosts(name: keyof typeof databases) {
  const open = await databases[name]();
  const clock = createVirtualClock(Date.now());
  const waiting = createApp({ jobs: [charge], signing: app.keyRing()!, clock });
  const [client, worker] = [connect(waiting, open(clock)), connect(app, open(clock))];
  after.unshift(
    () => client.close(),
    () => worker.close(),
  );
  const looks = counted(client.stores.records);
  async function run(max = 1): Promise<void> {
    const { backend } = worker;
    for (const lease of await backend.fetch({ queues: ['default'], max, leaseMs: 60_000, waitMs: 0 }))
      await attempt(app, { client: worker, settler: backend }, createRun(lease));
  }
  return { client, worker, clock, looks, run };
}

/** How often each job was looked at, and how many waits hear of every end. */
function counted(records: RecordStore) {
  const { get, watchEnd } = records;
  const watches = new Set<{ readonly hears: boolean }>();
  let looks = 0;
  records.get = (id) => {
    looks++;
    return get(id);
  };
  records.watchEnd = (...args) => {
    const watch = watchEnd!(...args);
    watches.add(watch);
    return watch;
  };
  return {
    get count() {
      return looks;
    },
    hearing: () => [...watches].filter(({ hears }) => hears).length,
  };
}

describe.each(['postgres', 'redis'] as const)('a result on %s', (name) => {
  it('comes when the job has ended in another process, after three looks at most', async () => {
    const { client, looks, run } = await hosts(name);
    const { id } = await client.enqueue(charge, { order: 7 });
    const result = client.result(charge, id, { timeoutMs: 60_000 });
    await until(() => looks.hearing() === 1 && looks.count === 2);
    await run();
    expect(await result).toEqual({ receipt: 7 });
    expect(looks.count).toBeLessThanOrEqual(3);
  });

  it.each<[how: string, end: (host: Awaited<ReturnType<typeof hosts>>, id: string) => unknown, text: RegExp]>(
    [
      ['has failed', ({ run }) => run(), /no such order/],
      ['was cancelled', ({ worker }, id) => worker.cancel(id), /was cancelled/],
      ['was removed', ({ worker }, id) => worker.remove(id), /is not known here/],
    ],
  )('is refused at once when the job %s', async (_, end, text) => {
    const host = await hosts(name);
    const { id } = await host.client.enqueue(charge, { order: -1 });
    const result = host.client.result(charge, id, { timeoutMs: 60_000 });
    const refused = expect(result).rejects.toThrow(text);
    await until(() => host.looks.hearing() === 1);
    await end(host, id);
    await refused;
  });

  it('comes to many callers', async () => {
    const { client, worker, looks } = await hosts(name);
    const payloads = Array.from({ length: 2_000 }, (_, order) => ({ order }));
    const sent = await client.enqueueMany(charge, payloads);
    const results = sent.map(({ id }) => client.result(charge, id, { timeoutMs: 60_000 }));
    await until(() => looks.hearing() === 2_000);
    await startWorker(app, { backend: worker.backend, untilIdle: true }).done;
    expect(await Promise.all(results)).toEqual(payloads.map(({ order }) => ({ receipt: order })));
    expect(looks.count).toBeLessThanOrEqual(6_000);
  });
});

describe('on Postgres', () => {
  it('two thousand callers share a pool of five, and never queue for a connection', async () => {
    const url = await fresh();
    const pool = new pg.Pool({ connectionString: url, max: 5 });
    const statements: number[] = [];
    const counting: typeof pool = Object.create(pool, {
      connect: {
        value: () => {
          // pg-pool hands out idle connections in the next turn, and counts those who get one as waiting until then.
          statements.push(Math.max(0, pool.waitingCount - pool.idleCount));
          return pool.connect();
        },
      },
    });
    const waiting = createApp({
      jobs: [charge],
      signing: app.keyRing()!,
      clock: createVirtualClock(Date.now()),
    });
    const client = connect(waiting, postgres({ pool: counting }));
    const worker = connect(app, postgres(url));
    after.unshift(
      () => client.close(),
      () => worker.close(),
      () => pool.end(),
    );
    const looks = counted(client.stores.records);
    const sent = await client.enqueueMany(
      charge,
      Array.from({ length: 2_000 }, (_, order) => ({ order })),
    );
    statements.length = 0;
    const results = sent.map(({ id }) => client.result(charge, id, { timeoutMs: 60_000 }));
    await until(() => looks.hearing() === 2_000);
    expect(Math.max(...statements)).toBe(0);
    expect(statements.length).toBeLessThan(50);
    await startWorker(app, { backend: worker.backend, untilIdle: true }).done;
    expect(await Promise.all(results)).toHaveLength(2_000);
  });

  async function fresh() {
    const database = await freshDatabase();
    after.push(() => database.drop());
    return database.url;
  }

  /** A store beside a queue that keeps nothing, once for each process. */
  async function besideAQueue(options: object = {}) {
    const url = await fresh();
    const queue = memory();
    const stores = [postgresStore({ url, ...options }), postgresStore({ url, ...options })] as const;
    after.unshift(...stores.map((store) => () => store.close()));
    const [client, worker] = stores.map((store) => connect(app, queue, { store }));
    return { url, queue, stores, client: client!, worker: worker! };
  }

  it('a store beside a queue wakes, too', async () => {
    const { stores, queue, client, worker } = await besideAQueue();
    const looks = counted(stores[0].records);
    const { id } = await client.enqueue(charge, { order: 3 });
    const result = client.result(charge, id, { timeoutMs: 600_000 });
    await until(() => looks.hearing() === 1);
    const [lease] = await queue.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 0 });
    await attempt(app, { client: worker, settler: queue }, createRun(lease!));
    expect(await result).toEqual({ receipt: 3 });
  });

  it('a thousand waits share a connection, and leave nothing when they end', async () => {
    const { url, stores } = await besideAQueue();
    await stores[0].migrate();
    const looks = counted(stores[0].records);
    const watches = Array.from({ length: 1_000 }, (_, i) =>
      stores[0].records.watchEnd!({ id: `job ${i}`, queue: 'q' }, () => {}),
    );
    await until(() => looks.hearing() === 1_000);
    const listening = `
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN "longshore end %'`;
    expect(await runSql(url, listening)).toHaveLength(1);
    expect(await runSql(url, 'SELECT FROM longshore.waits')).toHaveLength(1_000);
    for (const watch of watches) watch.stop();
    await until(async () => (await runSql(url, 'SELECT FROM longshore.waits')).length === 0);
  });

  it('what a dead process has left goes with its time', async () => {
    const { url, stores } = await besideAQueue();
    await stores[0].migrate();
    const leave = (id: string) =>
      runSql(url, `INSERT INTO longshore.waits VALUES ('${id}', 'longshore end of nobody', 1)`);
    await leave('one');
    const looks = counted(stores[0].records);
    const watch = stores[0].records.watchEnd!({ id: 'two', queue: 'q' }, () => {});
    await until(() => looks.hearing() === 1);
    expect(await runSql(url, 'SELECT id FROM longshore.waits')).toMatchObject([{ id: 'two' }]);
    watch.stop();
    await leave('three');
    await stores[1].records.purge();
    await until(async () => (await runSql(url, 'SELECT FROM longshore.waits')).length === 0);
  });

  it('nobody listens where a store is told not to', async () => {
    const { url, stores } = await besideAQueue({ listen: false });
    await stores[0].migrate();
    const watch = stores[0].records.watchEnd!({ id: 'one', queue: 'q' }, () => {});
    await stores[0].records.get('one'); // on the way by which a registration would have gone before
    expect(watch.hears).toBe(false);
    expect(await runSql(url, 'SELECT FROM longshore.waits')).toEqual([]);
    watch.stop();
  });
});
