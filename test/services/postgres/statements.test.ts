/** How often workers with nothing to do ask the server. Their time is virtual, so what is counted is the same on any machine. */

import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { type Database, freshDatabase } from './schemas.ts';

const names = ['mail', 'reports', 'images', 'sync', 'cleanup'];
const seconds = 300;
/** An echo keeps watch over each connection that listens, in real time: one each 10 s. */
const echoesPerSecond = 0.1;

const failures: unknown[] = [];
let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** A pool that counts the statements that are sent by it, and knows whether any is under way. */
function countingPool(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const counts = new Map<string, number>();
  let underWay = 0;
  const ended = () => {
    underWay--;
  };
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    Object.assign(client, {
      query(...args: unknown[]) {
        const [statement] = args as [string | { text: string }];
        const text = (typeof statement === 'string' ? statement : statement.text).trim().slice(0, 80);
        if (!/^(LISTEN|SELECT pg_notify\(\$1, \$2\))/.test(text))
          counts.set(text, (counts.get(text) ?? 0) + 1);
        underWay++;
        const callback = args.at(-1);
        if (typeof callback === 'function') {
          args[args.length - 1] = (...answer: unknown[]) => {
            ended();
            callback(...answer);
          };
          return query(...args);
        }
        const answer = query(...args) as Promise<unknown>;
        answer.then(ended, ended);
        return answer;
      },
    });
  });
  return {
    pool,
    counts,
    async idle() {
      for (let quiet = 0; quiet < 3; quiet = underWay === 0 ? quiet + 1 : 0) await new Promise(setImmediate);
    },
  };
}

/** An app of a process of its own, with a worker. */
async function startProcess(clock: ReturnType<typeof createVirtualClock>) {
  const counting = countingPool(database.url);
  const backend = postgres({ pool: counting.pool, clock, migrate: true });
  const long = defineJob({
    name: 'long',
    payload: z.object({}),
    queue: names[0]!,
    timeoutMs: 3_600_000,
    handle: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  const app = createApp({
    jobs: [long],
    queues: Object.fromEntries(names.map((name) => [name, {}])),
    random: () => 0.5,
    on: (event) => void (event.type === 'backend.failed' && failures.push(event)),
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    clock,
  });
  const client = connect(app, backend);
  const worker = startWorker(app, { backend });
  return { ...counting, backend, client, worker, long };
}

it('a worker with a running job sends 2 a second at most, and each further one with none 1', async () => {
  const clock = createVirtualClock();
  const first = await startProcess(clock);
  const { id } = await first.client.enqueue(first.long, {});
  await until(() => first.worker.running() === 1);
  const all = [first];
  async function pass(passedSeconds: number) {
    for (let ms = 0; ms < passedSeconds * 1_000; ms += 250) {
      clock.advance(250);
      await Promise.all(all.map(({ idle }) => idle()));
    }
  }
  await pass(2); // it leads
  for (let n = 0; n < 2; n++) all.push(await startProcess(clock));
  await pass(10);
  await until(() =>
    all.every(({ backend }) => backend.hints!.watchLeases!({ lost() {}, cancelled() {} }).hearsCancels()),
  );
  await pass(30);
  for (const { counts } of all) counts.clear();
  await pass(seconds);
  const perSecond = all.map(
    ({ counts }) => [...counts.values()].reduce((sum, count) => sum + count, 0) / seconds + echoesPerSecond,
  );
  const listed = all.map(({ counts }) => [...counts].map(([text, count]) => `${count} ${text}`).join('\n'));
  expect(perSecond[0], listed[0]).toBeLessThanOrEqual(2);
  expect(perSecond[1], listed[1]).toBeLessThanOrEqual(1);
  expect(perSecond[2], listed[2]).toBeLessThanOrEqual(1);
  // A cancel is heard of, so it does not wait for the next look.
  const cancelledAt = clock.now();
  await all[1]!.client.cancel(id);
  await until(async () => {
    clock.advance(1);
    return (await first.client.status(id))?.status === 'cancelled';
  });
  expect(clock.now() - cancelledAt).toBeLessThan(1_000);
  for (const { worker, client, pool } of all) {
    const stopped = worker.stop();
    await until(() => {
      clock.advance(100);
      return Promise.race([
        stopped.then(() => true),
        new Promise<false>((resolve) => setImmediate(resolve, false)),
      ]);
    });
    await client.close();
    await pool.end();
  }
});
