/** `client.result()`: waits for the end of a job. */

import { describe, expect, it } from 'vitest';
import { PermanentError } from '../../../core/base/errors.ts';
import type { Job } from '../../../core/kernel/app/job.ts';
import { fixed } from '../../../core/kernel/app/retry.ts';
import { aloneStores } from '../../../local/backends/beanstalkd/alone.ts';
import { pass } from '../../kit/clocks.ts';
import { testJobs } from '../../testing/index.ts';
import { bench, job, refusalText, until } from './kit.ts';

/** A bench with one job, enqueued. @param hears `false` = its store hears of no ends */
async function enqueued(one: Job, how = {}, hears = false) {
  const b = bench({ jobs: [one] });
  const { id } = await b.client.enqueue(one, {}, how);
  let looks = 0;
  const { records } = b.client.stores;
  const get = records.get.bind(records);
  records.get = (...args) => {
    looks++;
    return get(...args);
  };
  if (!hears) delete records.watchEnd;
  return { ...b, id, looks: () => looks };
}

describe('result', () => {
  it('is the output of a job that is done', async () => {
    const one = job({ handle: () => ({ receipt: 7 }) });
    const b = await enqueued(one);
    await b.next();
    expect(await b.client.result(one, b.id, { timeoutMs: 0 })).toEqual({ receipt: 7 });
  });

  it('is null where nothing was returned', async () => {
    const one = job();
    const b = await enqueued(one);
    await b.next();
    expect(await b.client.result(one, b.id, { timeoutMs: 0 })).toBeNull();
  });

  it('waits for a job that runs later, also through a retry', async () => {
    let tries = 0;
    const one = job({
      retry: fixed(2_000),
      handle: () => (++tries === 1 ? Promise.reject(new Error('busy')) : 'done'),
    });
    const b = await enqueued(one);
    const result = b.client.result(one, b.id, { timeoutMs: 60_000 });
    await pass(b, 1_000);
    await b.next();
    await pass(b, 2_000);
    await b.next();
    await pass(b, 1_000);
    expect(await result).toBe('done');
  });

  it.each([
    [
      'failed',
      () => Promise.reject(new PermanentError('no invoice 7')),
      'HANDLER: Job id-1 has failed (permanent): HANDLER: no invoice 7',
    ],
    [
      'failed',
      () => Promise.reject(new Error('no paper')),
      'HANDLER: Job id-1 has failed (exhausted): HANDLER: no paper',
    ],
  ])('rejects when it has %s', async (_, handle, text) => {
    const one = job({ maxRetries: 0, handle });
    const b = await enqueued(one);
    await b.next();
    expect(await refusalText(() => b.client.result(one, b.id, { timeoutMs: 0 }))).toBe(text);
  });

  it('rejects when it was cancelled', async () => {
    const one = job();
    const b = await enqueued(one);
    await b.client.cancel(b.id);
    expect(await refusalText(() => b.client.result(one, b.id, { timeoutMs: 0 }))).toBe(
      'CANCELLED: Job id-1 was cancelled.',
    );
  });

  it('rejects when it has expired', async () => {
    const one = job({ expiresInMs: 1_000 });
    const b = await enqueued(one);
    b.clock.advance(2_000);
    await b.next();
    expect(await refusalText(() => b.client.result(one, b.id, { timeoutMs: 0 }))).toMatch(
      /^EXPIRED: Job id-1 has expired: EXPIRED: The job did not begin before/,
    );
  });

  it('rejects with TIMEOUT when the time is over, and the job goes on', async () => {
    const one = job({ handle: () => 'late' });
    const b = await enqueued(one);
    const result = refusalText(() => b.client.result(one, b.id, { timeoutMs: 3_000 }));
    await pass(b, 3_000);
    expect(await result).toBe('TIMEOUT: Job id-1 has not ended within 3000 ms. It goes on.');
    await b.next();
    expect(await b.client.result(one, b.id, { timeoutMs: 0 })).toBe('late');
  });

  it('takes a last look when the time is over', async () => {
    const one = job({ handle: () => 'done' });
    const b = await enqueued(one);
    const result = b.client.result(one, b.id, { timeoutMs: 3_600_000 });
    await until(() => b.looks() === 1);
    await new Promise(setImmediate);
    await b.next();
    b.clock.advance(7_200_000);
    expect(await result).toBe('done');
  });

  it('looks often at first, and once a second later', async () => {
    const one = job();
    const b = await enqueued(one);
    const result = refusalText(() => b.client.result(one, b.id, { timeoutMs: 61_000 }));
    await pass(b, 1_000);
    expect(b.looks()).toBeGreaterThan(3);
    const early = b.looks();
    await pass(b, 60_000);
    await result;
    expect(b.looks() - early).toBeLessThanOrEqual(61);
  });

  it('looks when its store hears that the job has ended, while no time passes', async () => {
    const one = job({ handle: () => 'done' });
    const b = await enqueued(one, {}, true);
    const result = b.client.result(one, b.id, { timeoutMs: 60_000 });
    await until(() => b.looks() === 2); // one before the store listens, one after
    await new Promise(setImmediate);
    expect(b.looks()).toBe(2);
    await b.next();
    expect(await result).toBe('done');
    expect(b.looks()).toBe(3);
  });

  it('looks seldom while its store hears of every end, and often again when it does not', async () => {
    const one = job();
    const b = await enqueued(one, {}, true);
    const { records } = b.client.stores;
    const watch = { hears: true, stop() {} };
    let look = () => {};
    records.watchEnd = (_, told) => {
      look = told;
      return watch;
    };
    const result = refusalText(() => b.client.result(one, b.id, { timeoutMs: 130_000 }));
    await pass(b, 10_000);
    const early = b.looks();
    await pass(b, 60_000);
    expect(b.looks() - early).toBe(12);
    watch.hears = false;
    look();
    await new Promise(setImmediate);
    await pass(b, 60_000);
    expect(b.looks() - early).toBeGreaterThanOrEqual(12 + 60);
    expect(await result).toMatch(/^TIMEOUT: /);
  });

  it('finds a job that has ended unheard', async () => {
    const one = job({ handle: () => 'done' });
    const b = await enqueued(one, {}, true);
    b.client.stores.records.watchEnd = () => ({ hears: true, stop() {} });
    const result = b.client.result(one, b.id, { timeoutMs: 60_000 });
    await pass(b, 30_000);
    await b.next();
    await pass(b, 5_000);
    expect(await result).toBe('done');
  });

  it('gives up a look that the store does not answer', async () => {
    const one = job();
    const b = await enqueued(one);
    b.client.stores.records.get = () => new Promise(() => {});
    const result = refusalText(() => b.client.result(one, b.id, { timeoutMs: 0 }));
    await new Promise(setImmediate);
    b.clock.advance(1_000);
    expect(await result).toMatch(/^TIMEOUT: /);
  });

  it.each(['before', 'while it waits'])(
    'ends with its signal, aborted %s, and leaves nothing behind',
    async (when) => {
      const one = job();
      const b = await enqueued(one, {}, true);
      let watches = 0;
      const { records } = b.client.stores;
      const { watchEnd } = records;
      records.watchEnd = (...args) => {
        const watch = watchEnd!(...args);
        watches++;
        return { ...watch, stop: () => void watches-- };
      };
      const controller = new AbortController();
      const { signal } = controller;
      let listeners = 0;
      const { addEventListener, removeEventListener } = signal;
      signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
        listeners++;
        addEventListener.apply(signal, args);
      };
      signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
        listeners--;
        removeEventListener.apply(signal, args);
      };
      const timers = new Set<() => void>();
      const { after } = b.clock;
      b.clock.after = (ms, run) => {
        const cancel = after(ms, run);
        timers.add(cancel);
        return () => {
          timers.delete(cancel);
          cancel();
        };
      };
      if (when === 'before') controller.abort(new Error('enough'));
      const result = b.client.result(one, b.id, { timeoutMs: 60_000, signal });
      const ended = expect(result).rejects.toThrow('enough');
      if (when !== 'before') {
        await pass(b, 500);
        controller.abort(new Error('enough'));
      }
      await ended;
      expect([listeners, timers.size, watches]).toEqual([0, 0, 0]);
    },
  );

  it('is refused for an id that nobody knows, and for one of another job', async () => {
    const one = job();
    const other = job({ name: 'other' });
    const b = bench({ jobs: [one, other] });
    const { id } = await b.client.enqueue(other, {});
    const ask = (what: string) => refusalText(() => b.client.result(one, what, { timeoutMs: 1_000 }));
    expect(await ask('id-9')).toBe('NOT_FOUND: Job id-9 is not known here, or no longer kept.');
    expect(await ask(id)).toBe('NOT_FOUND: Job id-1 is a "other", not a "work".');
  });

  it.each([-1, Number.NaN, '5'])('refuses a time of %s', async (timeoutMs) => {
    const one = job();
    const b = await enqueued(one);
    expect(await refusalText(() => b.client.result(one, b.id, { timeoutMs: timeoutMs as number }))).toMatch(
      /^OPTION: Expected timeoutMs to be 0 or more, got /,
    );
  });

  it('is refused where no records are kept', async () => {
    const one = job();
    const b = bench({ jobs: [one] });
    const { records } = aloneStores(b.clock);
    const t = bench({ jobs: [one], stores: { records } });
    expect(await refusalText(() => t.client.result(one, 'id-1', { timeoutMs: 0 }))).toMatch(
      /^CONFIG: Backend "memory" keeps no records/,
    );
  });

  it('counts the time from the call', async () => {
    const one = job();
    const b = await enqueued(one);
    const result = refusalText(() => b.client.result(one, b.id, { timeoutMs: 1_000 }));
    b.clock.advance(2_000);
    expect(await result).toMatch(/^TIMEOUT: /);
  });

  it('works with testJobs() and its clock', async () => {
    const one = job({ handle: () => ({ receipt: 1 }) });
    const t = testJobs(one);
    const { id } = await t.enqueue(one, {}, { delayMs: 3_600_000 });
    const result = t.client.result(one, id, { timeoutMs: 7_200_000 });
    t.advance('1h');
    await t.drain();
    t.advance('1s');
    expect(await result).toEqual({ receipt: 1 });
  });
});
