/** A sender of a unique job that fails or dies at any step leaves one job, or none and a key that becomes free. */

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import { connect } from '../../../core/routing/connect.ts';
import { until } from '../../kit/until.ts';
import { bench, job, refusal, refusalText } from './kit.ts';

const options: EnqueueOptions = { unique: { key: 'k', during: 'either' } };
const replacing: EnqueueOptions = { unique: { key: 'k', during: 'waiting', onConflict: 'replace' } };
/** The hold of a key by a sender that has died. */
const holdMs = 5_000;
const graceMs = 30_000;

type Step = (name: string, work: () => Promise<never>) => Promise<never>;

/** Two senders of one queue; what the first does goes through `step`. */
function start(step: Step) {
  const work = job();
  const b = bench({ jobs: [work] });
  const { keys } = b.client.stores;
  const through =
    <Args extends unknown[]>(name: string, verb: (...args: Args) => Promise<unknown>) =>
    (...args: Args) =>
      step(name, () => verb(...args) as Promise<never>);
  const broken: KeyStore = {
    ...keys,
    claim: through('claim', keys.claim),
    release: through('release', keys.release),
  };
  const backend: QueueBackend = { ...b.backend, enqueue: through('send', b.backend.enqueue) };
  const first = connect(b.app, backend, { store: { keys: broken } });
  const jobs = async () => {
    const [stats] = await b.backend.admin!.stats('default');
    return stats?.ready ?? 0;
  };
  return { ...b, first, work, jobs };
}

const steps = ['claim', 'release', 'send', 'claim', 'release'];
const moments = steps.flatMap((name, i) => [[i, 'before', name] as const, [i, 'after', name] as const]);

describe('a sender that dies', () => {
  /** Until then the key is held by the dead, or its job may still come. */
  const freeAfterMs = (i: number, when: string): number => {
    const done = when === 'after' ? i + 1 : i;
    return done === 2 ? graceMs : done === 1 || done === 4 ? holdMs : 0;
  };

  it.each(moments)('in step %i, %s its %s, leaves room for one job', async (at, when) => {
    let count = 0;
    let dead = false;
    const b = start(async (_, work) => {
      if (count++ !== at) return work();
      if (when === 'after') await work();
      dead = true;
      return new Promise<never>(() => {});
    });
    void b.first.enqueue(b.work, 1, options);
    await until(() => dead);
    b.clock.advance(freeAfterMs(at, when));
    const { id, duplicate } = await b.client.enqueue(b.work, 2, options);
    const wasSent = at > 2 || (at === 2 && when === 'after');
    expect(duplicate ?? false).toBe(wasSent);
    expect(await b.client.status(id)).toMatchObject({ status: 'pending' });
    expect(await b.jobs()).toBe(1);
    expect(await b.client.enqueue(b.work, 3, options)).toEqual({ id, queue: 'default', duplicate: true });
  });

  it.each([options, replacing])(
    'before it sends is waited for, and nobody relies on its job',
    async (how) => {
      let dead = false;
      const b = start(async (name, work) => {
        if (name !== 'send') return work();
        dead = true;
        return new Promise<never>(() => {});
      });
      void b.first.enqueue(b.work, 1, how);
      await until(() => dead);
      vi.useFakeTimers({ toFake: ['performance'] });
      onTestFinished(() => void vi.useRealTimers());
      let refused: string | null = null;
      void refusalText(() => b.client.enqueue(b.work, 2, how)).then((text) => {
        refused = text;
      });
      await until(() => {
        vi.advanceTimersByTime(1_000);
        return refused !== null;
      });
      expect(refused).toBe(
        'BACKEND: Another call with the unique key of job "work" has not finished, so it is unknown whether its job was sent. Try again in 30 s.',
      );
      expect(await b.jobs()).toBe(0);
      b.clock.advance(graceMs);
      expect(await b.client.enqueue(b.work, 2, how)).not.toHaveProperty('duplicate');
    },
  );
});

describe('a sender that stands still for longer than others wait for it', () => {
  const debouncing: EnqueueOptions = { debounce: { key: 'k', waitMs: 600_000 } };
  const throttling: EnqueueOptions = { unique: { key: 'k', during: { forMs: 600_000 } } };
  const kinds = { options, replacing, debouncing, throttling };
  const cases = Object.keys(kinds).flatMap((kind) => moments.map((moment) => [kind, ...moment] as const));

  it.each(cases)(
    '(%s) in step %i, %s its %s, leaves one job that both are told of',
    async (kind, at, when) => {
      let count = 0;
      const woken = Promise.withResolvers<void>();
      let still = false;
      const stand = async () => {
        still = true;
        await woken.promise;
      };
      const b = start(async (_, work) => {
        const mine = count++ === at;
        if (mine && when === 'before') await stand();
        const answer = await work();
        if (mine && when === 'after') await stand();
        return answer;
      });
      const how = kinds[kind as keyof typeof kinds];
      const first = b.first.enqueue(b.work, 1, how);
      await until(() => still);
      b.clock.advance(graceMs + 1_000);
      const second = await b.client.enqueue(b.work, 2, how);
      woken.resolve();
      const { id } = await first.catch(() => second); // it lost the key while it wrote it: nothing was sent
      expect(id).toBe(second.id);
      expect((await b.client.stores.records.page({ status: 'pending' })).records).toMatchObject([{ id }]);
      expect(await b.client.enqueue(b.work, 3, how)).toMatchObject({ id, duplicate: true });
    },
  );

  it("waits beside the others, where several may wait: 'running'", async () => {
    const woken = Promise.withResolvers<void>();
    let sending = false;
    const b = start(async (name, work) => {
      if (name !== 'send') return work();
      sending = true;
      await woken.promise;
      return work();
    });
    const running: EnqueueOptions = { unique: { key: 'k', during: 'running' } };
    const first = b.first.enqueue(b.work, 1, running);
    await until(() => sending);
    b.clock.advance(graceMs + 1_000);
    const { id } = await b.client.enqueue(b.work, 2, running);
    woken.resolve();
    expect((await first).id).not.toBe(id);
    expect(await b.jobs()).toBe(2);
    await b.client.cancel(id);
    const [lease] = await b.backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 0 });
    expect(lease).toBeDefined();
    expect(await b.client.enqueue(b.work, 3, running)).toMatchObject({
      id: (await first).id,
      duplicate: true,
    });
  });
});

describe('a sender that is slow', () => {
  it.each([options, replacing])('is waited for by the others, who get its job', async (how) => {
    const slow = Promise.withResolvers<void>();
    let sending = false;
    const b = start(async (name, work) => {
      if (name !== 'send') return work();
      sending = true;
      await slow.promise;
      return work();
    });
    const first = b.first.enqueue(b.work, 1, how);
    await until(() => sending);
    const others = [2, 3, 4].map((payload) => b.client.enqueue(b.work, payload, how));
    slow.resolve();
    const { id } = await first;
    for (const other of others) expect(await other).toEqual({ id, queue: 'default', duplicate: true });
    expect(await b.jobs()).toBe(1);
  });
});

describe('a step that fails', () => {
  const failing = (at: number) => {
    let count = 0;
    return start(async (_, work) => {
      if (count++ === at) throw new Error('down');
      return work();
    });
  };

  it.each([0, 1, 2])('before the job is in the queue (%i) fails the call', async (at) => {
    const b = failing(at);
    await expect(b.first.enqueue(b.work, 1, options)).rejects.toThrow('down');
    expect(await b.jobs()).toBe(0);
    b.clock.advance(at === 1 ? holdMs : 0);
    expect(await b.client.enqueue(b.work, 2, options)).not.toHaveProperty('duplicate');
  });

  it.each([3, 4])('after it (%i) is an event, and the job stands', async (at) => {
    const b = failing(at);
    const { id } = await b.first.enqueue(b.work, 1, options);
    expect(b.eventsOf('store.failed')).toMatchObject([{ during: 'marking a unique key', ids: [id] }]);
    b.clock.advance(at === 4 ? holdMs : 0);
    expect(await b.client.enqueue(b.work, 2, options)).toEqual({ id, queue: 'default', duplicate: true });
  });

  it('for one job of a list fails those that it would have stood for, too, and frees its key', async () => {
    const b = start(async (_, work) => work());
    let refuses = true;
    const enqueue: QueueBackend['enqueue'] = async (messages) => {
      const results = await b.backend.enqueue(messages.slice(refuses ? 1 : 0));
      const error = await refusal(() =>
        b.client.enqueue(b.work, {}, { unique: { key: '', during: 'waiting' } }),
      );
      return refuses ? [{ ok: false, id: messages[0]!.id, error }, ...results] : results;
    };
    const client = connect(b.app, { ...b.backend, enqueue });
    const item = (key: string) =>
      ({ job: b.work, payload: {}, options: { unique: { key, during: 'waiting' } } }) as const;
    const list = [item('a'), item('b'), item('a')] as const;
    const results = await client.enqueueMany(list);
    expect(results.map(({ ok }) => ok)).toEqual([false, true, false]);
    refuses = false;
    const again = await client.enqueueMany(list);
    expect(again.map((result) => result.ok && result.duplicate)).toEqual([false, true, true]);
  });

  it('because the key was held too long sends nothing', async () => {
    const b = start(async (name, work) => (name === 'release' ? (false as never) : work()));
    expect(await refusalText(() => b.first.enqueue(b.work, 1, options))).toBe(
      'BACKEND: Expected to hold the key "unique:default:work:k" long enough to write it.',
    );
    expect(await b.jobs()).toBe(0);
  });
});
