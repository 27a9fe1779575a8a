import { expect, it } from 'vitest';
import type { MetricFilter } from '../../../core/contract/derived/metrics.ts';
import { queueRates } from '../../../core/features/metrics/rates.ts';
import { newTally, packTally } from '../../../core/features/metrics/tally.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';

const minute = Date.UTC(2026, 0, 15, 12);
const body = (done: number, dead: number) => packTally({ ...newTally(), done, dead });

it('reads two minutes once for all queues, and again only when workers may have written more', async () => {
  const store = memoryStore().metrics!;
  const row = { step: 'minute', at: minute, queue: 'mail', job: 'send', source: 'a' } as const;
  await store.write([
    { ...row, body: body(20, 0) },
    { ...row, source: 'b', body: body(10, 3) },
    { ...row, at: minute - 60_000, body: body(60, 0) },
    { ...row, at: minute - 120_000, body: body(1_000, 0) },
    { ...row, queue: 'pdf', body: body(3, 0) },
  ]);
  const reads: MetricFilter[] = [];
  let isAway = false;
  const metrics = {
    ...store,
    read(filter: MetricFilter) {
      reads.push(filter);
      return isAway ? Promise.reject(new Error('away')) : store.read(filter);
    },
  };
  const rates = queueRates({ stores: { metrics } as never });
  const queues = ['mail', 'pdf', ...Array.from({ length: 100 }, (_, i) => `q${i}`)];
  const now = minute + 30_000;
  const found = await rates(queues, now);
  expect(found!.get('mail')).toEqual({
    donePerMinute: 60,
    failedPerMinute: 2,
    retriedPerMinute: 0,
    waitP95Ms: null,
  });
  expect(found!.get('pdf')).toMatchObject({ donePerMinute: 2 });
  expect(found!.get('q99')).toMatchObject({ donePerMinute: 0 });
  expect(reads).toEqual([{ step: 'minute', from: minute - 60_000, to: now + 1 }]);
  expect(await rates(queues, now + 9_999)).toBe(found);
  isAway = true;
  await expect(rates(queues, now + 10_000)).rejects.toThrow('away');
  await expect(rates(queues, now + 10_001)).rejects.toThrow('away'); // it does not pass old numbers off as new
  expect(reads).toHaveLength(3);
});
