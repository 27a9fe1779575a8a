/** What a client of several backends knows of their jobs. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, startWorker } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { refusalText, ring } from '../core/kit.ts';
import { createBench } from './kit.ts';

const images = { images: { backend: 'fast' } };

const worked = (bench: ReturnType<typeof createBench>) =>
  Promise.all(
    (['default', 'fast'] as const).map(async (backendName) => {
      const { app, backends } = bench;
      return (await startWorker(app, { backend: backends, backendName, untilIdle: true })).done;
    }),
  );

describe('a client of several backends', () => {
  it('finds a job on whichever it is, or on the one that is asked', async () => {
    const { app, backends, mail, thumb } = createBench();
    const client = connect(app, backends);
    const [one, other] = [await client.enqueue(mail, { n: 1 }), await client.enqueue(thumb, { n: 2 })];
    expect(await client.status(one.id)).toMatchObject({ job: 'mail' });
    expect(await client.status(other.id)).toMatchObject({ job: 'thumb' });
    expect(await client.status(other.id, { backend: 'default' })).toBeNull();
    expect(await client.status('nobody')).toBeNull();
    expect(await client.cancel(other.id, { backend: 'default' })).toBe('unknown');
    expect(await client.cancel(other.id)).toBe('cancelled');
    expect(await client.cancel('nobody')).toBe('unknown');
    expect(await client.status(other.id)).toMatchObject({ status: 'cancelled' });
  });

  it('finds it although another one is away, and else says that one is', async () => {
    const { app, backends, thumb } = createBench();
    const away = memory();
    const get = () => Promise.reject(new Error('away'));
    const stores = { ...away.stores!, records: { ...away.stores!.records, get } };
    const client = connect(app, { ...backends, default: { ...away, stores } });
    const { id } = await client.enqueue(thumb, { n: 1 });
    expect(await client.status(id)).toMatchObject({ job: 'thumb' });
    await expect(client.status('nobody')).rejects.toThrow('away');
  });

  it('changes, promotes and removes a job that waits on whichever it is', async () => {
    const { app, backends, thumb } = createBench();
    const client = connect(app, backends);
    const later = { delayMs: 60_000 };
    const [one, other] = [
      await client.enqueue(thumb, { n: 1 }, later),
      await client.enqueue(thumb, { n: 2 }, later),
    ];
    expect(await client.update(thumb, one.id, { payload: { n: 3 } })).toBe(true);
    expect(await client.promote(one.id)).toBe(true);
    expect(await client.remove(other.id)).toBe(true);
    expect(await client.status(other.id)).toBeNull();
    expect(await client.promote('nobody')).toBe(false);
  });

  it('starts a chain where its jobs belong, and finds and cancels it there', async () => {
    const bench = createBench();
    const { app, backends, ran, thumb } = bench;
    const again = defineJob({
      name: 'again',
      backend: 'fast',
      payload: z.number(),
      handle: async (n) => void ran.push(`again ${n}`),
    });
    const jobs = createApp({
      jobs: [...app.jobs.values(), again],
      queues: images,
      signing: ring,
      clock: bench.clock,
    });
    const client = connect(jobs, backends);
    const { id, ids } = await client.chain([thumb, again], { n: 4 });
    expect(await client.chains.get(id)).toMatchObject({ id, state: 'running', link: 1 });
    await worked({ ...bench, app: jobs });
    expect(ran).toEqual(['thumb 4', 'again 4']);
    expect(await client.result(again, ids[1], { timeoutMs: 0 })).toBeNull();
    expect(await client.chains.get(id)).toMatchObject({ state: 'completed', link: 2 });
    expect(await client.chains.cancel(id)).toBe('finished');
    const other = await client.chain([thumb, again], { n: 5 });
    expect(await client.chains.cancel(other.id)).toBe('cancelled');
    expect([await client.chains.get('none'), await client.chains.cancel('none')]).toEqual([null, 'unknown']);
  });

  it('changes no job where no queue finds one by its id', async () => {
    const { app, backends } = createBench();
    const { pending: _, ...blind } = backends.fast;
    const client = connect(app, { ...backends, default: blind, fast: blind });
    expect(await refusalText(() => client.promote('one'))).toMatch(/^CONFIG: /);
  });

  it('waits for the result of a job', async () => {
    const bench = createBench();
    const { app, backends, mail, thumb } = bench;
    const client = connect(app, backends);
    const [one, other] = [await client.enqueue(mail, { n: 1 }), await client.enqueue(thumb, { n: 2 })];
    await worked(bench);
    expect(await client.result(mail, one.id, { timeoutMs: 0 })).toBe(1);
    expect(await client.result(thumb, other.id, { timeoutMs: 0 })).toBe(2);
    expect(await client.result(thumb, other.id, { timeoutMs: 0, backend: 'fast' })).toBe(2);
    expect(
      await refusalText(() => client.result(thumb, other.id, { timeoutMs: 0, backend: 'default' })),
    ).toBe(`NOT_FOUND: Job ${other.id} is not known here, or no longer kept.`);
    expect(await refusalText(() => client.result(thumb, one.id, { timeoutMs: 0 }))).toBe(
      `NOT_FOUND: Job ${one.id} is a "mail", not a "thumb".`,
    );
  });

  it('watches a job and a batch on the backend that has them', async () => {
    const bench = createBench();
    const { app, backends, mail, thumb } = bench;
    const client = connect(app, backends);
    const { id } = await client.enqueue(thumb, { n: 2 });
    const batch = await client.batch('mails', [{ n: 1 }], { job: mail });
    await worked(bench);
    const ends: unknown[] = [];
    for await (const { status, output } of client.watch(id)) ends.push([status, output]);
    for await (const { state, succeeded } of client.batches.watch(batch.id)) ends.push([state, succeeded]);
    expect(ends).toEqual([
      ['completed', 2],
      ['complete', 1],
    ]);
    const elsewhere = client.watch(id, { backend: 'default' })[Symbol.asyncIterator]();
    expect(await refusalText(() => elsewhere.next())).toMatch(/^NOT_FOUND/);
    const unknown = client.batches.watch('none')[Symbol.asyncIterator]();
    expect(await refusalText(() => unknown.next())).toMatch(/^NOT_FOUND: The batch none/);
  });

  it('adds up the numbers of all, or tells those of one', async () => {
    const bench = createBench();
    const { app, backends, mail, thumb } = bench;
    const client = connect(app, backends);
    await client.enqueueMany(mail, [{ n: 1 }, { n: 2 }]);
    await client.enqueueMany(thumb, [{ n: 1 }]);
    await worked(bench);
    const jobsIn = ({ jobs }: Awaited<ReturnType<typeof client.metrics>>) =>
      jobs.map(({ job, done }) => `${job} ${done}`);
    expect(jobsIn(await client.metrics())).toEqual(['mail 2', 'thumb 1']);
    expect((await client.metrics()).all.done).toBe(3);
    expect(jobsIn(await client.metrics({ backend: 'fast' }))).toEqual(['thumb 1']);
    expect(jobsIn(await client.metrics({ job: 'mail' }))).toEqual(['mail 2']);
  });

  it('counts a store that two backends share once, and closes it with them', async () => {
    const bench = createBench();
    const { app, clock, mail, thumb } = bench;
    let closed = 0;
    const shared = { ...memoryStore({ clock }), close: async () => void closed++ };
    const bare = (name: string) => ({ ...memory({ clock }), name, stores: undefined as never });
    const backends = { default: bare('one'), fast: bare('other') };
    const client = connect(app, backends, { store: { default: shared, fast: shared } });
    for (const [job, backendName] of [
      [mail, 'default'],
      [thumb, 'fast'],
    ] as const) {
      await client.enqueue(job, { n: 1 });
      const store = { default: shared, fast: shared };
      await (await startWorker(app, { backend: backends, store, backendName, untilIdle: true })).done;
    }
    expect((await client.metrics()).all.done).toBe(2);
    await client.close();
    expect(closed).toBe(2);
  });

  it('closes all of them, also where one cannot', async () => {
    const { app, backends } = createBench();
    const ended: string[] = [];
    const one = { ...memory(), close: () => Promise.reject(new Error('stuck')) };
    const fast = {
      ...backends.fast,
      close: async () => {
        ended.push('fast');
        await backends.fast.close();
      },
    };
    await expect(connect(app, { default: one, fast }).close()).rejects.toThrow('stuck');
    expect(ended).toEqual(['fast']);
  });
});
