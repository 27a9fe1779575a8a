/** Registering whoever waits for a job: where nothing is heard nobody is registered, and they poll. */

import { describe, expect, it } from 'vitest';
import { createEndWatches } from '../../../local/backends/shared/end-watches.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const job = (id: string) => ({ id, queue: 'q' });
const turn = () => new Promise(setImmediate);

function bench(hears: boolean) {
  const clock = createVirtualClock();
  const calls: string[][] = [];
  const gone: string[][] = [];
  const source = { hears, fails: false };
  const watches = createEndWatches(clock, {
    start() {},
    hears: () => source.hears,
    async register(jobs) {
      if (source.fails) throw new Error('the server is away');
      calls.push(jobs.map(({ id }) => id));
    },
    unregister: async (ids) => void gone.push([...ids]),
  });
  const looks: string[] = [];
  const watch = (id: string) => watches.watch(job(id), () => looks.push(id));
  return { clock, calls, gone, source, watches, looks, watch };
}

describe('watches for ends', () => {
  it('register nobody while nothing is heard, as behind a pooler', async () => {
    const { clock, calls, gone, looks, watch } = bench(false);
    const a = watch('a');
    clock.advance(60_000);
    await turn();
    expect([a.hears, calls, looks]).toEqual([false, [], []]);
    a.stop();
    await turn();
    expect(gone).toEqual([]);
  });

  it('register all that wait with one call, and let each look then', async () => {
    const { calls, looks, watch } = bench(true);
    const watches = ['a', 'b', 'b'].map(watch);
    await turn();
    expect(calls).toEqual([['a', 'b']]);
    expect(looks).toEqual(['a', 'b', 'b']);
    expect(watches.every(({ hears }) => hears)).toBe(true);
  });

  it('say so when they hear no more, and register again when they do', async () => {
    const { calls, looks, source, watches, watch } = bench(true);
    const a = watch('a');
    await turn();
    source.hears = false;
    watches.changed();
    expect([a.hears, looks]).toEqual([false, ['a', 'a']]);
    source.hears = true;
    watches.changed();
    await turn();
    expect([a.hears, looks.length, calls]).toEqual([true, 3, [['a'], ['a']]]);
  });

  it('try again later when the server does not take it', async () => {
    const { clock, source, watch } = bench(true);
    source.fails = true;
    const a = watch('a');
    await turn();
    expect(a.hears).toBe(false);
    source.fails = false;
    clock.advance(10_000);
    await turn();
    expect(a.hears).toBe(true);
  });

  it('renew what is waited for, and forget it when the last one stops', async () => {
    const { clock, calls, gone, watch } = bench(true);
    const [first, second] = [watch('a'), watch('a')];
    await turn();
    clock.advance(10_000);
    await turn();
    expect(calls).toEqual([['a'], ['a']]);
    first.stop();
    await turn();
    expect(gone).toEqual([]);
    second.stop();
    await turn();
    expect(gone).toEqual([['a']]);
    clock.advance(60_000);
    await turn();
    expect(calls).toHaveLength(2);
  });
});
