/** An operator of several backends: what it is given by name or id is found on the backend that has it. */

import { describe, expect, it, vi } from 'vitest';
import { connect, startWorker } from '../../../core/index.ts';
import { cursorOf } from '../../../core/kit/records/filter.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { perform } from '../../../core/operations/operator.ts';
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
    expect((await operator.jobs.stopped()).stopped.map(({ job }) => job).toSorted()).toEqual([
      'mail',
      'thumb',
    ]);
    clock.advance(1);
    await operator.jobs.resume('thumb');
    expect((await operator.jobs.stopped()).stopped.map(({ job }) => job)).toEqual(['mail']);
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

  describe('with dead letters on both', () => {
    /** Five on each, by turns. */
    async function dead() {
      const it = bench();
      const { app, backends, client, clock, mail, thumb } = it;
      for (let n = 0; n < 5; n++)
        for (const job of [mail, thumb]) {
          await client.enqueue(job, { n: -1 - n });
          await (await startWorker(app, { backend: backends, signals: [], untilIdle: true })).done;
          clock.advance(1);
        }
      const left = async () =>
        Promise.all(
          Object.values(backends).map(async ({ admin }) => (await admin!.stats('default'))[0]?.dead ?? 0),
        );
      return { ...it, left };
    }

    it('lists them newest first, page by page, each once', async () => {
      const { operator } = await dead();
      const died: number[] = [];
      const jobs: string[] = [];
      for (let after: string | undefined; ; ) {
        const page = await operator.deadLetters.page({}, { max: 3, ...(after && { after }) });
        expect(page.letters.length).toBeLessThanOrEqual(3);
        died.push(...page.letters.map(({ diedAt }) => diedAt));
        jobs.push(...page.letters.map(({ job }) => job));
        if (page.next === null) break;
        after = page.next;
      }
      expect(died).toEqual(died.toSorted((a, b) => b - a));
      expect(jobs.toSorted()).toEqual([...Array(5).fill('mail'), ...Array(5).fill('thumb')]);
      for (const after of ['x', cursorOf('null'), cursorOf('{'), cursorOf(1, 2)])
        expect((await refusal(() => operator.deadLetters.page({}, { after }))).code).toBe('OPTION');
      const { groups, looked, complete } = await operator.deadLetters.groups({});
      expect([groups.map(({ job, count }) => [job, count]).toSorted(), looked, complete]).toEqual([
        [
          ['mail', 5],
          ['thumb', 5],
        ],
        10,
        true,
      ]);
    });

    it('shows, mends, retries and discards them wherever they are', async () => {
      const { operator, client, left } = await dead();
      const { letters } = await operator.deadLetters.page({ job: 'thumb' });
      const [first, second] = letters.map(({ id }) => id);
      expect(await operator.deadLetters.show(first!)).toMatchObject({ letter: { job: 'thumb' } });
      await operator.deadLetters.edit(first!, { payload: { n: 9 } });
      expect(await left()).toEqual([5, 4]);
      const result = await operator.deadLetters.retry({ ids: [second!, 'nobody'] });
      expect(result).toMatchObject({ done: 1, total: 2, missing: ['nobody'], ended: 'all' });
      expect(await client.status(second!, { backend: 'fast' })).toMatchObject({ status: 'pending' });
      expect(await operator.deadLetters.retry({ filter: {} }, { dryRun: true })).toMatchObject({ total: 8 });
      const some = await operator.deadLetters.discard({ filter: {} }, { limit: 6 });
      expect(some).toMatchObject({ done: 6, total: 6, ended: 'limit' });
      expect(await left()).toEqual([0, 2]);
      const rest = await operator.deadLetters.discard({ filter: {} });
      expect(rest).toMatchObject({ done: 2, total: 2, ended: 'all' });
    });
  });

  it('frees a limit on whichever backend keeps it, and lists those of all', async () => {
    const { operator, client } = bench();
    for (const job of ['thumb', 'mail', 'resize']) await operator.jobs.pause(job);
    const keys = async (page: { max: number; after?: string }) => {
      const { limits, next } = await operator.limits.list(page);
      return [limits.map(({ key }) => key), next];
    };
    expect(await keys({ max: 10 })).toEqual([['pause:mail', 'pause:resize', 'pause:thumb'], null]);
    expect(await keys({ max: 1 })).toEqual([['pause:mail', 'pause:resize'], 'pause:resize']);
    expect(await keys({ max: 1, after: 'pause:resize' })).toEqual([['pause:thumb'], null]);
    expect(await operator.limits.reset('pause:thumb')).toBe(true);
    expect(await operator.limits.reset('pause:thumb')).toBe(false);
    expect(await client.backends.get('fast')!.stores.limits!.list({ prefix: '', max: 9 })).toMatchObject([
      { key: 'pause:resize' },
    ]);
  });

  it('says that a job was paused already, or was not', async () => {
    const { operator } = bench();
    const pause = (name: 'pause' | 'resume') => perform(operator, `jobs.${name}`, 'thumb');
    expect((await pause('pause')).text).toContain('thumb is paused');
    expect((await pause('pause')).text).toBe('It was already paused.');
    expect([await operator.jobs.resume('thumb'), (await pause('resume')).text]).toEqual([
      true,
      'It was not paused.',
    ]);
  });
});
