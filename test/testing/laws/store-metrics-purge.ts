import assert from 'node:assert/strict';
import type { MetricRow, MetricStep, MetricStore } from '../../../core/contract/derived/metrics.ts';
import { isAskedFor, metricKey } from '../../../core/kit/records/metric-rows.ts';
import { day, hour, minute } from './kit.ts';
import type { Law } from './law.ts';
import { manyRows, minuteOf, numbersOf, reads, rowAt } from './store-metrics-kit.ts';

/** Calls it until it answers 0; gives what each call removed. */
async function purgeAll(numbers: MetricStore, step: MetricStep, before: number): Promise<number[]> {
  const counts: number[] = [];
  for (;;) {
    const count = await numbers.purge(step, before);
    if (count === 0) return counts;
    counts.push(count);
  }
}
const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** Laws of stores that need a purge. */
export function metricPurgeLaws(law: Law): void {
  law('a purge removes one step before a moment, and nothing else', async (t) => {
    const [numbers] = numbersOf(t);
    const before = minuteOf(t) - (minuteOf(t) % day);
    const moments = [before - 800 * day, before - day, before - minute, before, before + minute];
    const rows = moments.flatMap((at) => [rowAt(t, { at }), rowAt(t, { at, source: '' })]);
    const hourly = [before - 3 * hour, before].map((at) => rowAt(t, { step: 'hour', at }));
    const daily = [before - 3 * day, before].map((at) => rowAt(t, { step: 'day', at }));
    await numbers!.write([...rows, ...hourly, ...daily]);

    assert.equal(sum(await purgeAll(numbers!, 'minute', before)), 6);
    await reads(numbers!, {}, rows.slice(6));
    await reads(numbers!, { step: 'hour' }, hourly);
    await reads(numbers!, { step: 'day' }, daily);
    assert.equal(sum(await purgeAll(numbers!, 'day', before - 2 * day)), 1);
    await reads(numbers!, { step: 'day' }, daily.slice(1));
    await reads(numbers!, { step: 'hour' }, hourly);
  });

  law('a purge of much takes bounded steps', async (t) => {
    const [numbers] = numbersOf(t);
    const rows = manyRows(t, 100, 30);
    await numbers!.write(rows);
    const counts = await purgeAll(numbers!, 'minute', minuteOf(t));
    assert.equal(sum(counts), rows.length - 30);
    assert.ok(Math.max(...counts) <= 1_500, `expected some 1,000 rows per call, got ${counts.join(', ')}`);
    await reads(
      numbers!,
      {},
      rows.filter(({ at }) => at === minuteOf(t)),
    );
  });

  law('two purges at once count each row once', async (t) => {
    const openings = numbersOf(t);
    await openings[0]!.write(manyRows(t, 10, 40));
    const all = openings.length === 1 ? [openings[0]!, openings[0]!] : openings;
    const counts = await Promise.all(all.map((numbers) => purgeAll(numbers, 'minute', t.now() + 1)));
    const rest = await purgeAll(openings[0]!, 'minute', t.now() + 1);
    assert.equal(sum([...counts.flat(), ...rest]), 400);
    await reads(openings[0]!, {}, []);
  });

  law('whatever is written, read and purged in turn, it is as in a plain list', async (t) => {
    const [numbers] = numbersOf(t);
    const kept = new Map<string, MetricRow>();
    let seed = 20_260_131;
    const below = (most: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * most);
    };
    const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
    const today = t.now() - (t.now() % day);
    // Around midnights near and far: a store may keep days, months or years apart.
    const moments = [0, 1, 2, 49, 50, 51, 364, 999, 1_000].flatMap((days) =>
      [-minute, 0, minute].map((ms) => today - days * day + ms),
    );
    for (let turn = 0; turn < 60; turn++) {
      const step = pick(['minute', 'hour', 'day'] as const);
      const written = Array.from({ length: below(40) }, () =>
        rowAt(t, {
          step: pick(['minute', 'hour', 'day'] as const),
          at: pick(moments),
          queue: pick(['a', 'b']),
          job: pick(['x', 'y', '']),
          source: pick(['', 'w']),
          body: `${turn} ${below(1_000)}`,
        }),
      );
      await numbers!.write(written);
      for (const row of written) kept.set(metricKey(row), row);
      if (turn % 5 === 4) {
        const before = pick(moments);
        const past = [...kept].filter(([, row]) => row.step === step && row.at < before);
        assert.equal(sum(await purgeAll(numbers!, step, before)), past.length);
        for (const [key] of past) kept.delete(key);
      }
      const asked = {
        step,
        from: pick(moments),
        to: pick(moments),
        ...(below(2) === 0 && { queue: pick(['a', 'b']) }),
        ...(below(2) === 0 && { job: pick(['x', 'y', '']) }),
      };
      const inRange = [...kept.values()].filter(({ at }) => at >= asked.from && at < asked.to);
      await reads(
        numbers!,
        asked,
        inRange.filter((row) => row.step === step && isAskedFor(row, asked)),
      );
    }
  });

  law('a row that is written again after a purge is there, and is purged again', async (t) => {
    const [numbers] = numbersOf(t);
    const late = rowAt(t);
    for (let round = 0; round < 2; round++) {
      await numbers!.write([late]);
      await reads(numbers!, {}, [late]);
      assert.deepEqual(await purgeAll(numbers!, 'minute', late.at + 1), [1]);
      await reads(numbers!, {}, []);
    }
  });

  law(
    'a purge of numbers touches no keys, records or workers, and a purge of those no numbers',
    async (t) => {
      const { keys, records, workers } = t.stores;
      const [numbers] = numbersOf(t);
      const message = await t.put();
      const hold = { state: 'running', until: t.now() + hour };
      await keys.claim('key', 'anna', hold.until);
      const daily = rowAt(t, { step: 'day' });
      await numbers!.write([rowAt(t), daily]);
      const seen = await workers.list(0);

      assert.equal(sum(await purgeAll(numbers!, 'minute', t.now() + day)), 1);
      assert.deepEqual(await keys.claim('key', 'ben', t.now() + minute), hold);
      assert.equal((await records.get(message.id))?.status, 'pending');
      assert.deepEqual(await workers.list(0), seen);

      await t.ack(await t.take());
      await t.advance(30 * day);
      for (let gone = 1; gone > 0; ) gone = await records.purge();
      assert.equal(await records.get(message.id), null);
      assert.deepEqual(await keys.claim('key', 'ben', t.now() + minute), { state: 'claimed', value: null });
      await reads(numbers!, { step: 'day' }, [daily]);
    },
    { takesTime: true },
  );
}
