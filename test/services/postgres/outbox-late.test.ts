/** Jobs in an outbox whose relay is late: no feature takes them for jobs that have ended. */

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { lookAtBatches } from '../../../core/features/batches/look.ts';
import {
  type AppOptions,
  connect,
  createApp,
  defineJob,
  defineSchedule,
  keyRing,
  LongshoreError,
  startWorker,
  tick,
} from '../../../core/index.ts';
import { memory, memoryStore } from '../../../local/backends/memory/index.ts';
import { outbox, postgres, startRelay } from '../../../local/backends/postgres/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { emptied, faulty } from './outbox-kit.ts';
import { createSchemas, type Schemas } from './schemas.ts';

let schemas: Schemas;
beforeAll(async () => {
  schemas = await createSchemas();
});
afterAll(() => schemas.drop());

const payload = z.any();

/** An outbox without a relay, until `relay()` is called. `beside`: its target keeps no records, a store beside it does. */
async function createLate(
  make: (ran: string[]) => Pick<AppOptions, 'jobs'> & Partial<AppOptions>,
  { wrap = (to) => to, beside = false }: { wrap?: (to: QueueBackend) => QueueBackend; beside?: boolean } = {},
) {
  const clock = createVirtualClock();
  const ran: string[] = [];
  const app = createApp({
    signing: keyRing([{ kid: 'k', secret: Buffer.alloc(32, 1) }]),
    clock,
    ...make(ran),
  });
  const schema = await schemas.take();
  const plain = memory({ clock });
  const { stores: _, ...alone } = plain;
  const to = wrap(beside ? alone : plain);
  const box = outbox(postgres({ url: schemas.url, schema, clock }), { to, clock });
  const store = beside ? { store: memoryStore({ clock }) } : {};
  const client = connect(app, box, store);
  onTestFinished(async () => {
    await box.close();
    schemas.release(schema);
  });
  const relay = async () => {
    const { stop } = startRelay(box, { clock });
    await emptied(box);
    await stop();
  };
  const work = async () => (await startWorker(app, { backend: box, ...store, untilIdle: true })).done;
  return { app, box, client, clock, plain, ran, relay, work };
}

const noting = (name: string, ran: string[], options: object = {}) =>
  defineJob({ name, payload, handle: (what) => void ran.push(`${name} ${what}`), ...options });

describe.each([
  ['a minute', 60_000],
  ['two hours', 7_200_000],
])('a relay that is late by %s', (_, lateMs) => {
  it.each([{ beside: false }, { beside: true }])('lets a unique job stand: %j', async ({ beside }) => {
    const { client, clock, ran, relay, work } = await createLate(
      (ran) => ({ jobs: [noting('a', ran, { unique: { key: () => 'k', during: 'waiting' } })] }),
      { beside },
    );
    const job = client.app.jobs.get('a')!;
    const first = await client.enqueue(job, 1);
    expect(await client.status(first.id)).toMatchObject({ status: 'pending', job: 'a' });
    clock.advance(lateMs);
    expect(await client.enqueue(job, 2)).toMatchObject({ id: first.id, duplicate: true });
    await relay();
    await work();
    expect(ran).toEqual(['a 1']);
  });

  it('lets a debounced job wait, and gives it the last payload', async () => {
    const { client, clock, ran, relay, work } = await createLate((ran) => ({
      jobs: [noting('a', ran, { debounce: { key: () => 'k', waitMs: 2 * lateMs } })],
    }));
    const job = client.app.jobs.get('a')!;
    const first = await client.enqueue(job, 1);
    clock.advance(lateMs);
    expect(await client.enqueue(job, 2)).toMatchObject({ id: first.id, duplicate: true });
    clock.advance(lateMs);
    await relay();
    await work();
    expect(ran).toEqual([]);
    clock.advance(lateMs);
    await work();
    expect(ran).toEqual(['a 2']);
  });

  it('runs delayed jobs, rejects expired ones, and keeps keys of one effect', async () => {
    const { client, clock, ran, relay, work } = await createLate((ran) => ({
      jobs: [noting('delayed', ran), noting('expiring', ran, { expiresInMs: 30_000 })],
    }));
    const [delayed, expiring] = [client.app.jobs.get('delayed')!, client.app.jobs.get('expiring')!];
    await client.enqueue(delayed, 1, { delayMs: 1_000 });
    const late = await client.enqueue(expiring, 2);
    for (const n of [3, 4]) await client.enqueue(delayed, n, { idempotencyKey: 'k' });
    clock.advance(lateMs);
    await relay();
    await work();
    expect(ran.filter((one) => one.startsWith('delayed')).length).toBe(2);
    expect(ran).toContain('delayed 1');
    expect(await client.status(late.id)).toMatchObject({ status: 'expired' });
  });

  it('lets a batch wait for its children, and calls what comes after them once', async () => {
    const { client, clock, ran, relay, work } = await createLate((ran) => ({
      jobs: [
        noting('child', ran),
        defineJob({ name: 'end', payload, handle: (all) => void ran.push(`${all.succeeded}`) }),
      ],
    }));
    const [child, end] = [client.app.jobs.get('child')!, client.app.jobs.get('end')!];
    const { id } = await client.batch('all', [1, 2, 3], { job: child, onComplete: end });
    clock.advance(lateMs);
    await lookAtBatches(client);
    expect(await client.batches.get(id)).toMatchObject({ failed: 0, completedAt: null });
    await relay();
    await work();
    await relay();
    await work();
    expect(ran).toEqual(['child 1', 'child 2', 'child 3', '3']);
  });

  it("counts a job of a schedule with overlap: 'skip' as one that has not ended", async () => {
    const { app, client, clock, ran, relay, work } = await createLate((ran) => {
      const job = noting('a', ran);
      const schedule = {
        name: 's',
        job,
        payload: 0,
        everyMs: 30_000,
        overlap: 'skip',
        missed: 'one',
      } as const;
      return { jobs: [job], schedules: [defineSchedule(schedule)] };
    });
    await tick(app, client);
    clock.advance(30_000);
    expect((await tick(app, client)).length).toBe(1);
    clock.advance(lateMs);
    expect(await tick(app, client)).toEqual([]);
    await relay();
    await work();
    expect(ran).toEqual(['a 0']);
  });

  it('knows the chain of a link, waits for its result, and cancels it', async () => {
    const { client, clock, relay, work } = await createLate(() => ({
      jobs: [defineJob({ name: 'link', payload, handle: (n) => n + 1 })],
    }));
    const job = client.app.jobs.get('link')!;
    const [kept, cancelled] = [await client.chain([job, job], 1), await client.chain([job, job], 1)];
    clock.advance(lateMs);
    expect(await client.chains.get(kept.id)).toMatchObject({ state: 'running', link: 1 });
    const late = client.result(job, kept.ids[1] as string, { timeoutMs: 0 });
    await expect(late).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(await client.chains.cancel(cancelled.id)).toBe('cancelled');
    for (let link = 0; link < 2; link++) {
      await relay();
      await work();
    }
    expect(await client.result(job, kept.ids[1] as string, { timeoutMs: 0 })).toBe(3);
    expect((await client.chains.get(cancelled.id))?.state).toBe('cancelled');
  });
});

describe('a job in the outbox', () => {
  it.each([{ beside: false }, { beside: true }])('is cancelled: %j', async ({ beside }) => {
    const { client, ran, relay, work } = await createLate((ran) => ({ jobs: [noting('a', ran)] }), {
      beside,
    });
    const { id } = await client.enqueue(client.app.jobs.get('a')!, 1);
    expect(await client.cancel(id)).toBe('cancelled');
    expect(await client.cancel('unknown')).toBe('unknown');
    await relay();
    await work();
    expect(ran).toEqual([]);
    expect(await client.status(id)).toMatchObject({ status: 'cancelled' });
  });

  it('is changed, promoted and removed, behind those of its group', async () => {
    const { client, box, ran, relay, work } = await createLate((ran) => ({ jobs: [noting('a', ran)] }));
    const job = client.app.jobs.get('a')!;
    const ids: string[] = [];
    for (const [n, options] of [
      [1, { group: 'g' }],
      [2, { group: 'other "g' }],
      [3, { group: 'g' }],
      [4, { delayMs: 1_000 }],
      [5, {}],
      [6, {}],
    ] as const)
      ids.push((await client.enqueue(job, n, options)).id);
    expect(await client.update(job, ids[2]!, { payload: 'three' })).toBe(true);
    expect((await box.backlog()).waiting).toBe(4); // the first one went with it
    expect(await client.promote(ids[3]!)).toBe(true);
    expect(await client.remove(ids[4]!)).toBe(true);
    expect(await client.remove(ids[4]!)).toBe(false);
    expect((await box.backlog()).waiting).toBe(2);
    await relay();
    await work();
    expect(ran.sort()).toEqual(['a 1', 'a 2', 'a 4', 'a 6', 'a three']);
  });

  it('is left alone while the target does not take it, and the call says so', async () => {
    const { client, box, clock } = await createLate((ran) => ({ jobs: [noting('a', ran)] }), {
      wrap: (to) => faulty(to, () => new LongshoreError('BACKEND', 'gone')),
    });
    const { id } = await client.enqueue(client.app.jobs.get('a')!, 1);
    await expect(client.cancel(id)).rejects.toMatchObject({
      code: 'BACKEND',
      message: 'The job is still in the outbox, and "memory" does not accept it now: gone',
    });
    expect(await client.status(id)).toMatchObject({ status: 'pending', createdAt: clock.now() });
    expect((await box.backlog()).waiting).toBe(1);
  });

  it('has failed once the target has refused it', async () => {
    const { client, box, relay } = await createLate((ran) => ({ jobs: [noting('a', ran)] }), {
      wrap: (to) => faulty(to, () => new LongshoreError('LIMIT', 'too late')),
    });
    const job = client.app.jobs.get('a')!;
    const { id } = await client.enqueue(job, 1);
    await relay();
    expect(await client.status(id)).toMatchObject({ status: 'failed', reason: 'rejected' });
    expect(await client.cancel(id)).toBe('finished');
    await expect(client.result(job, id, { timeoutMs: 0 })).rejects.toMatchObject({ code: 'HANDLER' });
    await box.refused.retry([id]);
    expect(await client.status(id)).toMatchObject({ status: 'pending' });
  });
});
