/** Counts the statements of workers in virtual time, so that the number is the same on any machine. */

import pg from 'pg';
import * as z from 'zod';
import { type Contract, connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock, type VirtualClock } from '../../testing/virtual-clock.ts';

const names = ['mail', 'reports', 'images', 'sync', 'cleanup'];
const seconds = 300;
/** Each connection that listens is checked in real time: once in 10 s. */
const checksPerSecond = 0.1;

interface Place {
  readonly url: string;
  readonly schema?: string;
}

/** A pool that counts the statements that are sent by it, and knows whether any is under way, or a connection is being made. */
function countingPool(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const counts = new Map<string, number>();
  let underWay = 0;
  const ended = () => {
    underWay--;
  };
  const counted =
    (call: (...args: unknown[]) => unknown) =>
    (...args: unknown[]) => {
      underWay++;
      const callback = args.at(-1);
      if (typeof callback === 'function') {
        args[args.length - 1] = (...answer: unknown[]) => {
          ended();
          callback(...answer);
        };
        return call(...args);
      }
      const answer = call(...args) as Promise<unknown>;
      answer.then(ended, ended);
      return answer;
    };
  Object.assign(pool, { connect: counted(pool.connect.bind(pool) as never) });
  pool.on('connect', (client) => {
    const query = counted(client.query.bind(client) as never);
    Object.assign(client, {
      query(...args: unknown[]) {
        const [statement] = args as [string | { text: string }];
        const text = (typeof statement === 'string' ? statement : statement.text).trim().slice(0, 80);
        if (!/^(LISTEN|SELECT pg_notify\(\$1, \$2\))/.test(text))
          counts.set(text, (counts.get(text) ?? 0) + 1);
        return query(...args);
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
async function startProcess({ url, schema = 'longshore' }: Place, clock: VirtualClock, failures: unknown[]) {
  const counting = countingPool(url);
  const backend = postgres({ pool: counting.pool, schema, clock, migrate: true });
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

/** Three workers, each in a process of its own: the first one leads and runs a job, and the others have nothing to do. */
export async function countStatements(place: Place) {
  const clock = createVirtualClock();
  const failures: unknown[] = [];
  const first = await startProcess(place, clock, failures);
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
  for (let n = 0; n < 2; n++) all.push(await startProcess(place, clock, failures));
  await pass(10);
  const hears = (backend: Contract.QueueBackend) =>
    backend.hints!.watchLeases!({ lost() {}, cancelled() {} }).hearsCancels;
  await until(() => all.every(({ backend }) => hears(backend)));
  await pass(30);
  for (const { counts } of all) counts.clear();
  await pass(seconds);
  const workers = all.map(({ counts }) => ({
    perSecond: [...counts.values()].reduce((sum, count) => sum + count, 0) / seconds + checksPerSecond,
    statements: [...counts].map(([text, count]) => `${count} ${text}`).join('\n'),
  }));
  // A cancel is heard of, so it does not wait for the next look.
  const cancelledAt = clock.now();
  await all[1]!.client.cancel(id);
  await until(async () => {
    clock.advance(1);
    return (await first.client.status(id))?.status === 'cancelled';
  });
  const cancelMs = clock.now() - cancelledAt;
  for (const { worker, client, pool } of all) {
    let isOver = false;
    void worker.stop().then(() => {
      isOver = true;
    });
    await until(() => {
      clock.advance(100);
      return isOver;
    });
    await client.close();
    await pool.end();
  }
  return { workers, cancelMs, failures };
}
