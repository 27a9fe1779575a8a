/** Behind pgbouncer in transaction mode nothing may depend on the connection: only LISTEN is lost, and found to be. */

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../../core/base/clock.ts';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { openDatabase } from '../../../local/backends/postgres/database.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { channelOf, createListener } from '../../../local/backends/postgres/listen.ts';
import { createWaiters } from '../../../local/backends/shared/waiters.ts';
import { until } from '../../kit/until.ts';
import { describeBackend } from '../../testing/laws/backend.ts';
import type { Harness } from '../../testing/laws/harness.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { runSql } from './load.ts';
import { startBouncer } from './pgbouncer.ts';
import { createSchemas } from './schemas.ts';

const schemas = await createSchemas();
const bouncer = await startBouncer(schemas.url);
const pools = [0, 1].map(() => new pg.Pool({ connectionString: bouncer.url, max: 5 }));

afterAll(async () => {
  for (const pool of pools) await pool.end();
  await bouncer.stop();
  await schemas.drop();
});

const harness: Harness = {
  async open(options) {
    const clock = createVirtualClock();
    const schema = await schemas.take();
    const [backend, peer] = pools.map((pool) => postgres({ pool, schema, clock, ...options }));
    return {
      backend: backend!,
      peer: peer!,
      now: clock.now,
      advance: clock.advance,
      async close() {
        await backend!.close();
        await peer!.close();
        schemas.release(schema);
      },
    };
  },
};

describeBackend('postgres() behind pgbouncer', harness, { describe, it });

describe('behind pgbouncer', () => {
  it('tables are made once by several together', async () => {
    const backends = Array.from({ length: 6 }, () => postgres({ url: bouncer.url, schema: 'together' }));
    const answers = await Promise.all(backends.map((backend) => backend.migrate!()));
    expect(answers.filter(({ from }) => from === null)).toHaveLength(1);
    for (const backend of backends) await backend.close();
  });

  it('a worker runs jobs, with transactions and keys', async () => {
    const schema = await schemas.take();
    await runSql(schemas.url, 'CREATE TABLE effects (n int PRIMARY KEY)');
    const backend = postgres({ url: bouncer.url, schema });
    const job = defineJob({
      name: 'job',
      payload: z.object({ n: z.number() }),
      transaction: true,
      idempotencyKey: ({ n }) => String(n),
      handle: async ({ n }, { tx }) => void (await tx.query('INSERT INTO effects VALUES ($1)', [n])),
    });
    const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
    const failures: unknown[] = [];
    app.events.on((event) => void (event.type === 'backend.failed' && failures.push(event)));
    const numbers = Array.from({ length: 100 }, (_, n) => ({ n }));
    await connect(app, backend).enqueueMany(job, [...numbers, ...numbers]);
    const worker = startWorker(app, { backend, untilIdle: true, leaseMs: 5_000 });
    expect((await worker.done).counts.acked).toBe(100);
    expect(await runSql(schemas.url, 'SELECT FROM effects')).toHaveLength(100);
    expect(failures).toEqual([]);
    await backend.close();
  });

  it('notifications do not arrive, which is noticed: an idle worker polls', async () => {
    const schema = await schemas.take();
    const db = openDatabase({ url: bouncer.url, schema, migrate: false });
    const times = { retry: 20, echo: 150, firstEcho: 150, beat: 50, longestRetry: 100 };
    const listener = createListener(db, channelOf(schema), createWaiters(systemClock), times);
    const heard: boolean[] = [];
    const direct = openDatabase({ url: schemas.url, schema, migrate: false });
    const hearing = createListener(direct, channelOf(schema), createWaiters(systemClock), times);
    listener.start();
    hearing.start();
    for (let i = 0; i < 40; i++) {
      await delay(25);
      heard.push(listener.hears);
    }
    expect(heard).not.toContain(true);
    expect(hearing.hears).toBe(true); // as it does without pgbouncer in between
    await hearing.close();
    await direct.close();
    await listener.close();
    await db.close();

    const job = defineJob({ name: 'job', payload: z.object({}), async handle() {} });
    const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
    // So seldom by itself that only what it does when it hears nothing can be why it finds a job.
    const backend = postgres({ url: bouncer.url, schema, pollMs: 3_600_000 });
    const sender = connect(app, postgres({ url: schemas.url, schema }));
    const worker = startWorker(app, { backend });
    for (let i = 0; i < 5; i++) {
      await delay(300); // the worker is idle by now, and waits
      const { id } = await sender.enqueue(job, {});
      await until(async () => (await sender.status(id))?.status === 'completed');
    }
    await worker.stop();
    await backend.close();
    await sender.close();
  });
});
