/** Workers of several backends in one process. */

import { describe, expect, it } from 'vitest';
import { connect, createApp, defineJob, startWorker, type WorkerOptions } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { anything, job, refusalText, ring } from '../core/kit.ts';
import { settle } from '../worker/kit.ts';
import { createBench, readyOn } from './kit.ts';

describe('a worker of several backends', () => {
  it('takes from each the queues whose jobs belong to it, and adds up what became of them', async () => {
    const { app, backends, eventsOf, ran, mail, thumb, resize } = createBench();
    const client = connect(app, backends);
    for (const one of [mail, thumb, resize]) await client.enqueue(one, { n: 1 });
    const worker = await startWorker(app, { backend: backends, untilIdle: true });
    expect(eventsOf('worker.started').map(({ backend, queues }) => [backend, queues])).toEqual([
      ['memory', ['default']],
      ['sqlite', ['default', 'images']],
    ]);
    expect(await worker.done).toMatchObject({ reason: 'idle', counts: { acked: 3 }, released: 0 });
    expect(ran.toSorted()).toEqual(['mail 1', 'resize 1', 'thumb 1']);
    expect(worker.workers).toHaveLength(2);
  });

  it('enqueues what a handler enqueues on the backend that it belongs to', async () => {
    const { app, backends, ran, both } = createBench();
    const { id } = await connect(app, backends).enqueue(both, { n: 5 });
    await (await startWorker(app, { backend: backends, backendName: 'fast', untilIdle: true })).done;
    expect(ran).toEqual(['thumb 5']);
    expect(await backends.fast.stores!.records.get(id)).toMatchObject({ status: 'completed' });
    expect(await readyOn(backends.default)).toEqual(['mail in default']);
  });

  it('stops all when it is stopped, or when one of them stops', async () => {
    const { app, backends, eventsOf, mail } = createBench();
    const options = { backend: backends, concurrency: 2 };
    const worker = await startWorker(app, options);
    expect(worker.running()).toBe(0);
    expect(await worker.stop()).toMatchObject({ reason: 'stopped' });
    expect(eventsOf('worker.stopped').map(({ reason }) => reason)).toEqual(['stopped', 'stopped']);
    await connect(app, backends).enqueue(mail, { n: 1 });
    const other = await startWorker(app, { ...options, maxJobs: 1 });
    expect(await other.done).toMatchObject({ reason: 'max-jobs', counts: { acked: 1 } });
    expect(eventsOf('worker.stopped')).toHaveLength(4);
  });

  it('stops as one when one of its workers is asked to drain', async () => {
    const { app, backends, clock } = createBench();
    const worker = await startWorker(app, { backend: backends });
    clock.advance(1_000);
    await settle();
    const [beat] = await backends.fast.stores!.workers!.list(0);
    await backends.fast.stores!.workers!.drain!(beat!.id);
    clock.advance(6_000);
    expect(await worker.done).toMatchObject({ reason: 'asked' });
  });

  it('starts none for a backend without jobs, or that is not used here', async () => {
    const { app, backends, eventsOf } = createBench();
    const options = { untilIdle: true } as const;
    await (await startWorker(app, { ...options, backend: { ...backends, slow: memory(), none: null } })).done;
    expect(eventsOf('worker.started')).toHaveLength(2);
    await (await startWorker(app, { ...options, backend: { default: null, fast: backends.fast } })).done;
    expect(eventsOf('worker.started')).toHaveLength(3);
  });

  it('takes from queues that are named where they belong, and from all of them with on', async () => {
    const { app, backends, eventsOf } = createBench();
    const options = { backend: backends, untilIdle: true, queues: ['images', 'bulk'] } as const;
    await (await startWorker(app, options)).done;
    await (await startWorker(app, { ...options, backendName: 'fast' })).done;
    expect(eventsOf('worker.started').map(({ backend, queues }) => [backend, queues])).toEqual([
      ['memory', ['bulk']],
      ['sqlite', ['images']],
      ['sqlite', ['images', 'bulk']],
    ]);
  });

  it('gives queues their slots where they belong', async () => {
    const { app, backends, eventsOf } = createBench();
    const options = { backend: backends, untilIdle: true, queues: { images: 3, bulk: 2 } } as const;
    await (await startWorker(app, options)).done;
    await (await startWorker(app, { ...options, backendName: 'fast' })).done;
    expect(eventsOf('worker.started').map(({ queues, concurrency }) => [queues, concurrency])).toEqual([
      [['bulk'], 2],
      [['images'], 3],
      [['images', 'bulk'], 5],
    ]);
    await expect(startWorker(app, { ...options, concurrency: 2 })).rejects.toThrow(
      /^The queues have 3 slots together, but concurrency of startWorker\(\) is 2\./,
    );
  });

  it('takes jobs that fail over from another backend, too', async () => {
    const { app, backends, eventsOf } = createBench();
    await (await startWorker(app, { backend: backends, untilIdle: true, failover: { fast: 'default' } }))
      .done;
    expect(eventsOf('worker.started').map(({ queues }) => queues)).toEqual([
      ['default', 'images'],
      ['default', 'images'],
    ]);
  });

  it('takes from queues that only options name, each where it belongs', async () => {
    const { mail, thumb, resize, both, ...b } = createBench();
    const app = createApp({
      jobs: [mail, thumb, resize, both],
      queues: { images: { backend: 'fast' }, big: { backend: 'fast' }, small: {} },
      accepts: { shared: [mail, thumb], closed: [] },
      signing: ring,
      clock: b.clock,
    });
    const client = connect(app, b.backends);
    const sent = [
      await client.enqueue(mail, { n: 1 }, { queue: 'big' }),
      await client.enqueue(mail, { n: 2 }, { queue: 'small' }),
      await client.enqueue(mail, { n: 3 }, { queue: 'shared' }),
      await client.enqueue(thumb, { n: 4 }, { queue: 'shared' }),
    ];
    expect(sent.map(({ backend }) => backend)).toEqual(['fast', 'default', 'default', 'fast']);
    const worker = await startWorker(app, { backend: b.backends, untilIdle: true });
    await worker.done;
    expect(b.ran.toSorted()).toEqual(['mail 1', 'mail 2', 'mail 3', 'thumb 4']);
    expect(await refusalText(() => client.enqueue(thumb, { n: 5 }, { queue: 'small' }))).toMatch(
      /^OPTION: Expected a queue of backend "fast", got "small": only workers of default take/,
    );
    expect(await refusalText(() => client.enqueue(mail, { n: 6 }, { queue: 'smal' }))).toMatch(
      /^OPTION: Queue "smal" is not declared, .+ Did you mean "small"/,
    );
  });

  it('asks of a backend only what its own jobs need', async () => {
    const written = defineJob({
      name: 'written',
      backend: 'fast',
      payload: anything,
      transaction: true,
      handle() {},
    });
    const app = createApp({ jobs: [job(), written], signing: ring });
    const begin = () => Promise.reject(new Error('never asked'));
    const fast = { ...memory(), begin };
    const summary = await (await startWorker(app, { backend: { default: memory(), fast }, untilIdle: true }))
      .done;
    expect(summary.reason).toBe('idle');
    expect(await refusalText(() => startWorker(app, { backend: { default: fast, fast: memory() } }))).toMatch(
      /^CONFIG: Job "written"/,
    );
  });

  it('refuses what it cannot work', async () => {
    const { app, backends, events } = createBench();
    expect(await refusalText(() => startWorker(app, { backend: backends, backendName: 'fst' }))).toBe(
      'CONFIG: Expected backendName to be one of default, fast, got "fst". Did you mean "fast"?',
    );
    expect(await refusalText(() => startWorker(app, { backend: backends, on: 'fast' } as never))).toBe(
      'CONFIG: Option on of startWorker() is called backendName now.',
    );
    expect(await refusalText(() => startWorker(app, { backend: backends.fast }))).toMatch(
      /^CONFIG: Job or queue "thumb" uses backend "fast"/,
    );
    const plain = createApp({ jobs: [job()], signing: ring });
    expect(
      await refusalText(() =>
        startWorker(plain, { backend: memory(), backendName: 'fast' } as object as WorkerOptions),
      ),
    ).toMatch(/^CONFIG: Unknown option "backendName" of startWorker\(\)/);
    const empty = createApp({ jobs: [], signing: ring });
    expect(await refusalText(() => startWorker(empty, { backend: { default: memory() } }))).toMatch(
      /^CONFIG: A worker needs at least one queue/,
    );
    expect(events).toEqual([]);
  });
});
