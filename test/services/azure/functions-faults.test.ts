/** Functions while something else fails, or while their host stops them. */

import { describe, expect, it, vi } from 'vitest';
import { PermanentError } from '../../../core/index.ts';
import { until } from '../../kit/until.ts';
import { type FunctionAppKit, functionAppsHere, minute } from './kit.ts';

const open = functionAppsHere();

const fail = () => {
  throw new Error('no');
};
const failuresOf = ({ events }: FunctionAppKit) => events.filter(({ type }) => type === 'backend.failed');
const missingFailed = /looking for "mail-failed", .* of queue "mail": the queue does not exist/;

/** The store, all of whose requests fail while `isAway` says so. */
function failingWhile<T extends object>(isAway: () => boolean, store: T): T {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value === 'function')
        return (...given: unknown[]) =>
          isAway() ? Promise.reject(new Error('connect ECONNREFUSED')) : value.apply(target, given);
      return typeof value === 'object' && value !== null ? failingWhile(isAway, value) : value;
    },
  });
}

describe('a function', () => {
  it('waits before it throws where the app cannot start, so that messages are not used up', async () => {
    let broken = true;
    const t = await open({
      store: () => {
        if (broken) throw new Error('DATABASE_URL is missing');
        return t.store;
      },
    });
    await t.enqueue('a');
    const waits = vi.spyOn(t.clock, 'after');
    let ended = false;
    const call = t.trigger.poll('mail').finally(() => (ended = true));
    await vi.waitFor(() => expect(waits).toHaveBeenCalledWith(30_000, expect.any(Function)), 60_000);
    expect(ended).toBe(false);
    t.clock.advance(30_000);
    expect((await call).map(({ end }) => end)).toEqual(['abandoned']);
    broken = false;
    await t.trigger.poll('mail');
    expect(t.settledAs()).toEqual(['acked 2']);
  });

  it('loses no job to a store that is away for 30 seconds', async () => {
    let away = true;
    const t = await open({ maxConcurrentCalls: 50, store: () => failingWhile(() => away, t.store) });
    t.server.createQueue('mail', { lockMs: 5 * minute, duplicateWindowMs: 60 * minute });
    const names = Array.from({ length: 50 }, (_, i) => `job-${i}`);
    for (const name of names) await t.enqueue(name);
    for (const name of names) t.behaviour.set(name, ({ attempt }) => (attempt === 1 ? fail() : null));
    t.clock.after(30_000, () => (away = false));
    for (let round = 1; round <= 20 && t.server.bodies('mail').length > 0; round++) {
      const before = failuresOf(t).length;
      let over = false;
      const calls = t.trigger.poll('mail').finally(() => (over = true));
      await until(() => over || failuresOf(t).length >= before + 50);
      // Only a call that waits makes time pass.
      for (; !over; await new Promise((resolve) => setTimeout(resolve, 5))) t.clock.advance(1_000);
      await calls;
    }
    expect(t.settledAs()).toEqual(names.map(() => 'acked 2'));
    expect(['mail/$DeadLetterQueue', 'mail-failed'].flatMap(t.server.bodies)).toEqual([]);
  });

  it('waits longer with every delivery before it throws, up to four minutes', async () => {
    const t = await open({
      store: () => {
        throw new Error('DATABASE_URL is missing');
      },
    });
    t.server.createQueue('mail', { lockMs: 5 * minute });
    await t.enqueue('a');
    const after = vi.spyOn(t.clock, 'after');
    const pauses: number[] = [];
    for (let delivery = 1; delivery <= 5; delivery++) {
      const call = t.trigger.poll('mail');
      await until(() => failuresOf(t).length === delivery);
      const pauseMs = after.mock.calls.map(([ms]) => ms).findLast((ms) => ms < 5 * minute) ?? 0;
      pauses.push(pauseMs);
      t.clock.advance(pauseMs);
      expect((await call).map(({ end }) => end)).toEqual(['abandoned']);
    }
    expect(pauses).toEqual([30_000, 60_000, 120_000, 240_000, 240_000]);
  });

  it('runs no job while its dead letters could not be sent, and says what is missing', async () => {
    const t = await open();
    t.server.deleteQueue('mail-failed');
    const id = await t.enqueue('a');
    t.behaviour.set('a', () => {
      throw new PermanentError('no such invoice');
    });
    const call = t.trigger.poll('mail');
    await until(() => failuresOf(t).length > 0);
    expect(failuresOf(t)).toMatchObject([
      { type: 'backend.failed', error: { code: 'CONFIG', message: expect.stringMatching(missingFailed) } },
    ]);
    t.clock.advance(30_000);
    expect((await call).map(({ end }) => end)).toEqual(['abandoned']);
    expect(t.ran).toEqual([]);
    t.server.createQueue('mail-failed', { lockMs: minute });
    await t.trigger.poll('mail');
    const letters = await t.backend.admin!.deadLetters.list({});
    expect(letters).toMatchObject([{ id, reason: 'permanent', error: 'HANDLER: no such invoice' }]);
  });

  it('ends its pause when the host stops it', async () => {
    const t = await open({
      store: () => {
        throw new Error('DATABASE_URL is missing');
      },
    });
    await t.enqueue('a');
    const call = t.trigger.poll('mail');
    await until(() => failuresOf(t).length > 0);
    await t.host.terminate();
    expect((await call).map(({ end }) => end)).toEqual(['abandoned']);
  });
});

describe('a job that ignores its signal', () => {
  it('is released within the 5 seconds that the host gives an instance', async () => {
    const t = await open();
    await t.enqueue('deaf');
    t.behaviour.set('deaf', () => new Promise(() => {}));
    const calls = t.trigger.poll('mail');
    await until(() => t.ran.length === 1);
    const stopping = t.host.terminate();
    for (let passed = 0; passed < 2_000; passed += 50) t.clock.advance(50);
    await until(() => t.settledAs().length > 0, 10_000);
    for (let passed = 0; passed < 1_500; passed += 50) t.clock.advance(50);
    await stopping;
    expect((await calls).map(({ end }) => end)).toEqual(['completed']);
    expect(t.settledAs(), 'and no attempt is counted').toEqual(['requeued 1']);
  });
});

describe('a batch', () => {
  it('whose end could not be sent is looked after, in an app without schedules', async () => {
    const t = await open();
    const queue = t.server.queue('mail');
    const { takes } = queue;
    t.behaviour.set('row', () => {
      queue.takes = () => false; // from here on every message is refused
    });
    await t.client.batch('over', [{ name: 'row' }], { job: t.job, onComplete: t.job });
    await t.trigger.poll('mail');
    expect([t.ran, t.server.bodies('mail')]).toEqual([['row'], []]);
    queue.takes = takes;
    t.clock.advance(2 * minute);
    await t.host.tick('longshore-schedule');
    await t.trigger.poll('mail');
    expect(t.ran).toEqual(['row', 'over']);
  });
});
