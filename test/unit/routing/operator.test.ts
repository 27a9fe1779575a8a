/** An operator of several backends: what it is given by name or id is found on the backend that has it. */

import { describe, expect, it, vi } from 'vitest';
import { connect, startWorker } from '../../../core/index.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { refusal } from '../core/kit.ts';
import { createBench } from './kit.ts';

function bench() {
  const it = createBench();
  const client = connect(it.app, it.backends);
  return { ...it, client, operator: createOperator(client, { actor: 'ann', from: 'desk' }) };
}

describe('an operator of several backends', () => {
  it('steers a queue where it is, and leaves the others', async () => {
    const { operator, backends, client, resize, thumb, mail } = bench();
    const isPaused = async (name: 'default' | 'fast', queue: string) =>
      (await backends[name].admin!.stats(queue)).some(({ paused }) => paused);
    await client.enqueue(resize, { n: 1 });
    await operator.queues.pause('images');
    expect([await isPaused('fast', 'images'), await isPaused('default', 'images')]).toEqual([true, false]);
    await operator.queues.resume('images');
    expect(await operator.queues.clear('images')).toBe(1);
    await client.enqueue(mail, { n: 1 });
    await client.enqueue(thumb, { n: 1 });
    // A queue that jobs of both backends are in.
    expect(await operator.queues.clear('default')).toBe(2);
  });

  it('pauses a job where its workers are, and lists it', async () => {
    const { operator, client, clock } = bench();
    await operator.jobs.pause('thumb');
    const keys = async (name: string) =>
      (await client.backends.get(name)!.stores.limits!.list({ prefix: '', max: 9 })).length;
    expect([await keys('default'), await keys('fast')]).toEqual([0, 1]);
    clock.advance(1);
    await operator.jobs.pause('mail');
    expect((await operator.jobs.stopped()).map(({ job }) => job).toSorted()).toEqual(['mail', 'thumb']);
    clock.advance(1);
    await operator.jobs.resume('thumb');
    expect((await operator.jobs.stopped()).map(({ job }) => job)).toEqual(['mail']);
    expect((await refusal(() => operator.jobs.pause('nothing'))).code).toBe('OPTION');
    const done = (await operator.audit()).entries.filter(({ phase }) => phase === 'done');
    expect(done.map(({ action, target, count }) => [action, target, count]).toReversed()).toEqual([
      ['job.pause', 'thumb', 1],
      ['job.pause', 'mail', 1],
      ['job.resume', 'thumb', 1],
    ]);
  });

  it('changes a job, and runs one again, wherever it is', async () => {
    const { operator, client, thumb } = bench();
    const { id } = await client.enqueue(thumb, { n: 1 }, { delayMs: 60_000 });
    expect(await operator.jobs.update(id, { priority: 1 })).toBe(true);
    expect(await client.status(id)).toMatchObject({ priority: 1 });
    const again = await operator.jobs.runAgain(id);
    expect(await client.status(again, { backend: 'fast' })).toMatchObject({ job: 'thumb' });
    expect(await operator.jobs.update('nobody', { priority: 1 })).toBe(false);
  });

  it('asks a worker to stop, on whichever it runs', async () => {
    const { app, backends, client, clock, operator } = bench();
    const worker = await startWorker(app, { backend: backends, backendName: 'fast', signals: [] });
    const { workers } = client.backends.get('fast')!.stores;
    // Its first heartbeat, and the one with which it hears of it, come with time.
    await vi.waitFor(async () => {
      clock.advance(1_000);
      expect(await workers.list(0)).toMatchObject([{ id: worker.id }]);
    });
    await operator.workers.drain(worker.id);
    expect((await refusal(() => operator.workers.drain('nobody'))).code).toBe('OPTION');
    await vi.waitFor(async () => {
      clock.advance(1_000);
      expect(await workers.list(0)).toEqual([]);
    });
    await worker.done;
  });
});
