/** New jobs of a Redis that is away go to another backend. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../../core/base/clock.ts';
import {
  connect,
  createApp,
  defineJob,
  keyRing,
  type LongshoreEvent,
  startWorker,
} from '../../../core/index.ts';
import { memory, memoryStore } from '../../../local/backends/memory/index.ts';
import { redis } from '../../../local/backends/redis/index.ts';
import { eventsIn } from '../../kit/events.ts';
import { type RedisServer, startRedis } from './server.ts';

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis({ appendOnly: true, settings: { appendfsync: 'always' } });
});
afterAll(() => server.remove());

let prefixes = 0;
const failover = { fast: 'default' };

function createBench() {
  const events: LongshoreEvent[] = [];
  const ran: number[] = [];
  const clock = { ...systemClock, aheadMs: 0, now: () => Date.now() + clock.aheadMs };
  const thumb = defineJob({
    name: 'thumb',
    backend: 'fast',
    queue: 'thumbs',
    payload: z.object({ n: z.number(), text: z.string().optional() }),
    idempotencyKey: ({ n }) => `n-${n}`,
    handle: ({ n }) => void ran.push(n),
  });
  const app = createApp({
    jobs: [thumb],
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    maxBodyBytes: 4_096,
    clock,
    on: (event) => events.push(event),
  });
  const backends = { default: memory(), fast: redis({ url: server.url, prefix: `fail-over-${++prefixes}` }) };
  return { app, clock, thumb, ran, backends, eventsOf: eventsIn(events) };
}

it('enqueues on the other backend while Redis is away, and a worker of that one runs the jobs', async () => {
  const { app, clock, thumb, ran, backends, eventsOf } = createBench();
  const client = connect(app, backends, { failover });
  const { id } = await client.enqueue(thumb, { n: 1 });
  await server.stop('SIGKILL');
  const moved = await client.enqueue(thumb, { n: 2 });
  expect(moved).toMatchObject({ queue: 'thumbs', backend: 'default' });
  const many = await client.enqueueMany([
    { job: thumb, payload: { n: 3 } },
    { job: thumb, payload: { n: 'x' as never } },
    { job: thumb, payload: { n: 4 } },
  ]);
  expect(many.map((one) => one.ok || one.error.code)).toEqual([true, 'PAYLOAD', true]);
  expect(eventsOf('enqueue.failed-over')).toMatchObject([
    { backend: 'fast', to: 'default', ids: [moved.id], error: { code: 'BACKEND' } },
    { backend: 'fast', to: 'default', ids: many.flatMap((one) => (one.ok ? one.id : [])) },
  ]);
  expect(await client.status(moved.id)).toMatchObject({ queue: 'thumbs', status: 'pending' });
  await (await startWorker(app, { backend: backends, failover, backendName: 'default', untilIdle: true }))
    .done;
  expect(ran).toEqual([2, 3, 4]);
  await server.start();
  clock.aheadMs = 1_000;
  expect(await client.enqueue(thumb, { n: 5 })).toMatchObject({ backend: 'fast' });
  expect(eventsOf('backend.warning').map(({ message }) => message)).toEqual([
    expect.stringMatching(
      /^Backend "fast" does not answer, so its new jobs go to "default" for now: .*Redis/,
    ),
    'Backend "fast" answers again: new jobs go there.',
  ]);
  expect(await client.status(id)).toMatchObject({ queue: 'thumbs' });
  await client.close();
});

it('fails as before where there is no other backend, in a transaction, and for what is wrong with the job', async () => {
  const { app, thumb, backends } = createBench();
  await server.stop('SIGKILL');
  const client = connect(app, backends);
  await expect(client.enqueue(thumb, { n: 1 })).rejects.toMatchObject({ code: 'BACKEND' });
  const second = connect(app, backends, { failover });
  const tx = { query: async () => ({ rows: [] }) };
  await expect(second.enqueue(thumb, { n: 1 }, { tx })).rejects.toMatchObject({ code: 'CONFIG' });
  await expect(second.enqueue(thumb, { n: 1, text: 'a'.repeat(5_000) })).rejects.toMatchObject({
    code: 'LIMIT',
  });
  expect((await backends.default.admin!.stats()).map(({ ready }) => ready)).toEqual([]);
  await second.close();
  await server.start();
});

it('has one effect where a job came to be on both, if both have the same keys', async () => {
  const { app, thumb, ran, backends } = createBench();
  const { keys } = memoryStore();
  const store = { default: { keys }, fast: { keys } };
  // The answer is lost: Redis has the job, and the client cannot know.
  const fast = {
    ...backends.fast,
    async enqueue(messages: Parameters<typeof backends.fast.enqueue>[0]) {
      await backends.fast.enqueue(messages);
      throw new Error('the connection was lost');
    },
  };
  const client = connect(app, { ...backends, fast }, { failover, store });
  const { id, backend } = await client.enqueue(thumb, { n: 7 });
  expect(backend).toBe('default');
  for (const name of ['default', 'fast']) {
    expect(await client.status(id, { backend: name })).toMatchObject({ status: 'pending' });
    await (await startWorker(app, { backend: backends, store, failover, backendName: name, untilIdle: true }))
      .done;
  }
  expect(ran).toEqual([7]);
  await client.close();
});

it('names both errors where the other one does not answer either', async () => {
  const { app, thumb, backends } = createBench();
  await server.stop('SIGKILL');
  const away = { ...backends.default, enqueue: () => Promise.reject(new Error('the disk is gone')) };
  const client = connect(app, { ...backends, default: away }, { failover });
  await expect(client.enqueue(thumb, { n: 1 })).rejects.toThrow(
    /Redis failed during connecting.+Backend "default" does not answer either: .+the disk is gone/,
  );
  await client.close();
  await server.start();
});
