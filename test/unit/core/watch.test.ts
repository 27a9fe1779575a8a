/** `client.watch()`: a job, each time its record changed, until its end. */

import { describe, expect, it } from 'vitest';
import type { JobRecord } from '../../../core/contract/store.ts';
import { fixed } from '../../../core/kernel/app/retry.ts';
import '../../../core/kernel/enqueue/result.ts'; // loaded on demand, which may take longer than a test waits
import { pass } from '../../kit/clocks.ts';
import { bench, job, refusalText, until } from './kit.ts';

type Bench = ReturnType<typeof bench>;

/** The statuses and progress that a watch yields. */
function listen(b: Bench, id: string, signal?: AbortSignal) {
  const seen: string[] = [];
  const line = ({ status, progress }: JobRecord) => `${status}${progress ? ` ${progress.done}` : ''}`;
  const over = (async () => {
    for await (const record of b.client.watch(id, { ...(signal && { signal }) })) seen.push(line(record));
    return seen;
  })();
  over.catch(() => {});
  return { seen, over };
}

describe('watch', () => {
  it('yields each change once, and ends with the end', async () => {
    const ticks: (() => void)[] = [];
    const one = job({
      async handle(_, ctx) {
        for (const done of [1, 2]) {
          await ctx.progress(done, 2);
          await new Promise<void>((resolve) => ticks.push(resolve));
        }
      },
    });
    const b = bench({ jobs: [one] });
    const { id } = await b.client.enqueue(one, {});
    const { seen, over } = listen(b, id);
    await until(() => seen.length === 1);
    await pass(b, 5_000);
    expect(seen).toEqual(['pending']);
    const run = b.next();
    await pass(b, 1_100);
    expect(seen).toEqual(['pending', 'processing 1']);
    ticks.shift()!();
    await pass(b, 1_100);
    ticks.shift()!();
    await run;
    await pass(b, 1_100);
    expect(await over).toEqual(['pending', 'processing 1', 'processing 2', 'completed 2']);
  });

  it('goes on through a retry', async () => {
    let tries = 0;
    const one = job({
      retry: fixed(2_000),
      handle: () => (++tries === 1 ? Promise.reject(new Error('busy')) : 'done'),
    });
    const b = bench({ jobs: [one] });
    const { id } = await b.client.enqueue(one, {});
    const { seen, over } = listen(b, id);
    await until(() => seen.length === 1);
    await b.next();
    await pass(b, 2_100);
    await b.next();
    await pass(b, 1_100);
    expect(await over).toEqual(['pending', 'retrying', 'completed']);
  });

  it('yields only the end of a job that has ended', async () => {
    const one = job();
    const b = bench({ jobs: [one] });
    const { id } = await b.client.enqueue(one, {});
    await b.client.cancel(id);
    expect(await listen(b, id).over).toEqual(['cancelled']);
  });

  it('frees its timer and its listener when the caller leaves the loop', async () => {
    const one = job();
    const b = bench({ jobs: [one] });
    const { id } = await b.client.enqueue(one, {});
    let watches = 0;
    const { records } = b.client.stores;
    const watchEnd = records.watchEnd!.bind(records);
    records.watchEnd = (...args) => {
      watches++;
      const watch = watchEnd(...args);
      return {
        get hears() {
          return watch.hears;
        },
        stop() {
          watches--;
          watch.stop();
        },
      };
    };
    for await (const _ of b.client.watch(id)) break;
    expect(watches).toBe(0);
    const leaving = new AbortController();
    const { over } = listen(b, id, leaving.signal);
    await pass(b, 200);
    expect(watches).toBe(1);
    leaving.abort(new Error('gone'));
    await expect(over).rejects.toThrow('gone');
    expect(watches).toBe(0);
  });

  it('throws NOT_FOUND for an unknown job, and when the record is deleted', async () => {
    const one = job();
    const b = bench({ jobs: [one] });
    expect(await refusalText(() => listen(b, 'none').over)).toBe(
      'NOT_FOUND: The job none is not known here, or no longer kept.',
    );
    const { id } = await b.client.enqueue(one, {}, { delayMs: 60_000 });
    const { over } = listen(b, id);
    await pass(b, 100);
    await b.client.remove(id);
    await pass(b, 1_100);
    expect(await refusalText(() => over)).toMatch(/^NOT_FOUND/);
  });
});
