/** Where jobs go in an app with several backends. */

import { describe, expect, it } from 'vitest';
import { connect, createApp, defineJob, startWorker } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { anything, refusalText, ring } from '../core/kit.ts';
import { createBench, readyOn } from './kit.ts';

describe('connect() with several backends', () => {
  it('sends a job to the backend that the call, the job or its queue names, else to default', async () => {
    const { app, backends, mail, thumb, resize } = createBench();
    const client = connect(app, backends);
    expect(await client.enqueue(mail, { n: 1 })).toMatchObject({ queue: 'default', backend: 'default' });
    expect(await client.enqueue(thumb, { n: 1 })).toMatchObject({ queue: 'default', backend: 'fast' });
    expect(await client.enqueue(resize, { n: 1 })).toMatchObject({ queue: 'images', backend: 'fast' });
    expect(await client.enqueue(mail, { n: 2 }, { backend: 'fast' })).toMatchObject({ backend: 'fast' });
    expect(await client.enqueue(mail, { n: 3 }, { queue: 'images' })).toMatchObject({ backend: 'fast' });
    expect(await readyOn(backends.default)).toEqual(['mail in default']);
    expect(await readyOn(backends.fast)).toEqual([
      'mail in default',
      'mail in images',
      'resize in images',
      'thumb in default',
    ]);
  });

  it('gives a client of each, which sends to that one', async () => {
    const { app, backends, thumb } = createBench();
    const client = connect(app, backends);
    expect([...client.backends.keys()]).toEqual(['default', 'fast']);
    expect([client.name, client.backend]).toEqual(['default', backends.default]);
    const { id } = await client.backends.get('default')!.enqueue(thumb, { n: 1 });
    expect(await client.backends.get('default')!.status(id)).toMatchObject({ job: 'thumb' });
    expect(await readyOn(backends.fast)).toEqual([]);
  });

  it('enqueues many of one job, and many of several kinds, with results in order', async () => {
    const { app, backends, mail, thumb, resize } = createBench();
    const client = connect(app, backends);
    const alike = await client.enqueueMany(thumb, [{ n: 1 }, { n: 'x' as never }]);
    expect(alike.map((one) => one.ok || one.error.code)).toEqual([true, 'PAYLOAD']);
    expect(await readyOn(backends.fast)).toEqual(['thumb in default']);
    const results = await client.enqueueMany([
      { job: thumb, payload: { n: 1 } },
      { job: mail, payload: { n: 2 } },
      { job: mail, payload: { n: 3 }, options: { backend: 'fst' } },
      { job: undefined as never, payload: null as never },
      { job: resize, payload: { n: 4 } },
      { job: mail, payload: { n: 5 }, options: { backend: 'fast' } },
    ]);
    expect(results.map((one) => one.ok || one.error.code)).toEqual([
      true,
      true,
      'OPTION',
      'UNKNOWN_JOB',
      true,
      true,
    ]);
    const records = await Promise.all(results.map(async (one) => (one.ok ? client.status(one.id) : null)));
    expect(records.map((record) => record?.job)).toEqual([
      'thumb',
      'mail',
      undefined,
      undefined,
      'resize',
      'mail',
    ]);
    expect(await readyOn(backends.default)).toEqual(['mail in default']);
    expect(await readyOn(backends.fast)).toEqual(['mail in default', 'resize in images', 'thumb in default']);
  });

  it('says which jobs are not enqueued where one of two backends is away, and throws where both are', async () => {
    const { app, backends, mail, thumb } = createBench();
    const away = { ...memory(), enqueue: () => Promise.reject(new Error('away')) };
    const jobs = [
      { job: thumb, payload: { n: 1 } },
      { job: mail, payload: { n: 2 } },
    ] as const;
    const one = await connect(app, { ...backends, fast: away }).enqueueMany(jobs);
    expect(one).toMatchObject([{ ok: false, error: { code: 'BACKEND' } }, { ok: true }]);
    const none = connect(app, { default: away, fast: { ...away, name: 'other' } });
    await expect(none.enqueueMany(jobs)).rejects.toThrow('away');
  });

  it('refuses a transaction for jobs of several backends', async () => {
    const { app, backends, mail, thumb } = createBench();
    const client = connect(app, backends);
    const tx = { query: async () => ({ rows: [] }) };
    const jobs = [
      { job: thumb, payload: { n: 1 } },
      { job: mail, payload: { n: 2 } },
    ] as const;
    expect(await refusalText(() => client.enqueueMany(jobs, { tx }))).toBe(
      'OPTION: Expected jobs of one backend with tx, got jobs of fast, default. Enqueue the jobs of each backend in a separate call.',
    );
    expect(await readyOn(backends.default)).toEqual([]);
  });

  it('refuses a backend that there is not, one that is not used here, and a queue that nobody there works', async () => {
    const { app, backends, mail, thumb } = createBench();
    const client = connect(app, { ...backends, slow: null });
    expect(await refusalText(() => client.enqueue(mail, { n: 1 }, { backend: 'fst' }))).toBe(
      'OPTION: Expected backend to be one of default, fast, slow, got "fst". Did you mean "fast"?',
    );
    expect(await refusalText(() => client.status('a', { backend: 'fst' }))).toBe(
      'OPTION: Expected backend to be one of default, fast, slow, got "fst". Did you mean "fast"?',
    );
    expect(
      await refusalText(() => client.enqueue(thumb, { n: 1 }, { backend: 'default', queue: 'images' })),
    ).toBe(
      'OPTION: Expected a queue of backend "default", got "images": only workers of fast take jobs from it. Name one of default.',
    );
    const onlyFast = connect(app, { default: null, fast: backends.fast });
    expect(onlyFast.backend).toBe(backends.fast);
    expect(await onlyFast.enqueue(thumb, { n: 1 })).toMatchObject({ backend: 'fast' });
    expect(await refusalText(() => onlyFast.enqueue(mail, { n: 1 }))).toBe(
      'CONFIG: Expected backend "default" to be a queue, got null: this process does not use it.',
    );
  });

  it('sends the same job and queue to each of several that the queue names, whose workers take it', async () => {
    const ran: number[] = [];
    const handle = async (n: number) => void ran.push(n);
    const report = defineJob({ name: 'report', queue: 'reports', payload: anything, handle });
    const { app, backends } = createBench({
      jobs: [report],
      queues: { reports: { backends: ['default', 'fast'] } },
    });
    const client = connect(app, backends);
    expect(await client.enqueue(report, 1)).toMatchObject({ backend: 'default' });
    const { id, backend } = await client.enqueue(report, 2, { backend: 'fast' });
    expect(backend).toBe('fast');
    expect(await client.status(id)).toMatchObject({ job: 'report', queue: 'reports', status: 'pending' });
    for (const backendName of ['default', 'fast'])
      await (await startWorker(app, { backend: backends, backendName, untilIdle: true })).done;
    expect(ran).toEqual([1, 2]);
  });

  it.each([
    [
      { backend: 'fast', backends: ['fast'] },
      'Expected backend or backends of queue "images", got both. Leave backend out, and put it first in backends.',
    ],
    [{ backends: [] }, 'Expected backends of queue "images" to be a list of names, got an array.'],
    [{ backends: 'fast' }, 'Expected backends of queue "images" to be a list of names, got "fast".'],
  ])('refuses the queue %j', async (images, text) => {
    expect(await refusalText(() => createBench({ queues: { images: images as never } }))).toBe(
      `CONFIG: ${text}`,
    );
  });

  it('refuses a queue that names a backend which is not given', async () => {
    const { app, backends } = createBench({ queues: { images: { backends: ['fast', 'slow'] } } });
    expect(await refusalText(() => connect(app, backends))).toMatch(
      /^CONFIG: Job or queue "images" uses backend "slow", but only default, fast was passed\./,
    );
  });

  it('takes no backend in a call where there is one only', async () => {
    const mail = defineJob({ name: 'mail', payload: anything, handle() {} });
    const app = createApp({ jobs: [mail], signing: ring });
    const client = connect(app, memory());
    expect(await refusalText(() => client.enqueue(mail, null, { backend: 'fast' }))).toBe(
      'OPTION: Expected no option backend, because this client has one backend. Give connect() several by name.',
    );
    expect(await client.enqueue(mail, null)).not.toHaveProperty('backend');
  });

  it.each<[string, (given: { fast: never; default: never }) => unknown, string]>([
    [
      'one without a name',
      (all) => all.default,
      'Job or queue "thumb" uses backend "fast", but only an unnamed one was passed.',
    ],
    [
      'none of the name',
      (all) => ({ default: all.default, quick: all.fast }),
      'Job or queue "thumb" uses backend "fast", but only default, quick was passed.',
    ],
    [
      'no default',
      (all) => ({ fast: all.fast }),
      'Every app uses backend "default", but only fast was passed.',
    ],
    ['nothing', () => undefined, 'Every app uses backend "default", but only an unnamed one was passed.'],
    [
      'only null',
      () => ({ default: null, fast: null }),
      'This process uses backend "default", but only an unnamed one was passed.',
    ],
  ])('refuses %s', async (_, given, text) => {
    const { app, backends } = createBench();
    expect(await refusalText(() => connect(app, given(backends as never) as never))).toBe(
      `CONFIG: ${text} Pass connect() all backends by name, with null for one that this process does not use.`,
    );
  });

  it.each([{ store: { fst: {} } }, { failover: { fast: 'fst' } }, { failover: { fst: 'fast' } }])(
    'refuses the options %j',
    async (options) => {
      const { app, backends } = createBench();
      expect(await refusalText(() => connect(app, backends, options))).toMatch(
        /^CONFIG: This process uses backend "fst", but only default, fast was passed\./,
      );
    },
  );
});
