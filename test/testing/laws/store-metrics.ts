import assert from 'node:assert/strict';
import type { MetricRow } from '../../../core/contract/derived/metrics.ts';
import { metricKey } from '../../../core/kit/records/metric-rows.ts';
import { day, mail, minute, reports } from './kit.ts';
import type { Law } from './law.ts';
import { manyRows, minuteOf, numbersOf, reads, rowAt, sorted } from './store-metrics-kit.ts';

const bodies = [
  '{}',
  JSON.stringify({ 'Grüße, мир, 世界 \u{1f600}': ['é', 'e\u0301', '\u2028', '\u0000', '\ud800'] }),
  JSON.stringify(`'; DELETE FROM metrics; -- "\\" \\n %s %1$s $1 ? :a {{x}} <b>&amp;`),
  JSON.stringify([1, -0.5, 1e21, null, true, { '': [] }]),
  JSON.stringify('0123456789 \u00fc'.repeat(300)),
  ' [1, 2]\n',
];

/** Names as jobs and queues have them, close to each other in every way that a store could mistake. */
const longest = 'x'.repeat(128);
const pairs = [
  ['a', 'b'],
  ['a', 'B'],
  ['A', 'b'],
  ['a.b', 'c'],
  ['a', 'b.c'],
  ['a-b', 'c'],
  ['a_b', 'c'],
  ['a', 'b_c'],
  ['a', ''],
  ['a b', 'c'], // as another program may call them
  ['a', 'b c'],
  ['a%20b', 'c'],
  ['%', '% %25'],
  ['0', '-'],
  [longest, longest],
  [longest, longest.slice(1)],
  [`${longest.slice(1)}y`, longest],
] as const;

const sources = [
  '',
  'worker-1',
  'worker-10',
  'Worker-1',
  'host:4711/1',
  'a b  c ',
  '#|?%_\\"\'ü\u{1f600}',
  'y'.repeat(200),
];

export function metricLaws(law: Law): void {
  law('numbers come back to the letter', async (t) => {
    const numbers = numbersOf(t);
    const rows = bodies.map((body, n) => rowAt(t, { source: `worker-${n}`, body }));
    for (const row of rows) await numbers[0]!.write([row]);
    for (const opening of numbers) await reads(opening, {}, rows);
  });

  law('nothing is written by a write of nothing, nor read where nothing is', async (t) => {
    const [numbers] = numbersOf(t);
    await numbers!.write([]);
    for (const step of ['minute', 'hour', 'day'] as const) await reads(numbers!, { step }, []);
  });

  law('the same write twice changes nothing', async (t) => {
    const [numbers] = numbersOf(t);
    const rows = [rowAt(t), rowAt(t, { job: 'other' })];
    await numbers!.write(rows);
    await numbers!.write(rows);
    await reads(numbers!, {}, rows);
  });

  law('a row is written over by one of the same key, and by no other', async (t) => {
    const [numbers] = numbersOf(t);
    const first = rowAt(t);
    const others: Partial<MetricRow>[] = [
      { at: first.at - minute },
      { queue: reports },
      { job: 'invoice.print' },
      { source: 'worker-2' },
    ];
    const neighbours = others.map((change, n) => ({ ...first, ...change, body: `{"n":${n}}` }));
    const hourly = { ...first, step: 'hour', body: '{"of":"hour"}' } as const;
    await numbers!.write([first, ...neighbours, hourly]);
    const next = { ...first, body: '{"v":1,"done":8}' };
    await numbers!.write([next]);
    await reads(numbers!, {}, [next, ...neighbours]);
    await reads(numbers!, { step: 'hour' }, [hourly]);
  });

  law('of two rows of one key in one write the last one stays', async (t) => {
    const [numbers] = numbersOf(t);
    const rows = [1, 2, 3].map((done) => rowAt(t, { body: `{"done":${done}}` }));
    await numbers!.write([...rows, rowAt(t, { source: 'worker-2' }), rows[1]!]);
    await reads(numbers!, {}, [rows[1]!, rowAt(t, { source: 'worker-2' })]);
  });

  law('a range of time has its first moment and not its last', async (t) => {
    const [numbers] = numbersOf(t);
    const last = minuteOf(t);
    const moments = [last - 40 * day, last - day, last - 2 * minute, last - minute, last];
    const rows = moments.map((at) => rowAt(t, { at }));
    await numbers!.write(rows);
    await reads(numbers!, {}, rows);
    for (const [from, at] of moments.entries()) {
      for (const [to, end] of moments.entries())
        await reads(numbers!, { from: at, to: end }, rows.slice(from, to));
      await reads(numbers!, { from: at + 1 }, rows.slice(from + 1));
      await reads(numbers!, { to: at + 1 }, rows.slice(0, from + 1));
    }
  });

  law('steps are kept apart', async (t) => {
    const [numbers] = numbersOf(t);
    const at = t.now() - (t.now() % day);
    const rows = (['minute', 'hour', 'day'] as const).map((step) =>
      rowAt(t, { step, at, body: `["${step}"]` }),
    );
    await numbers!.write(rows);
    for (const row of rows) await reads(numbers!, { step: row.step, from: at, to: at + 1 }, [row]);
  });

  law('numbers are read by queue, by job and by both, whatever the names', async (t) => {
    const [numbers] = numbersOf(t);
    const rows = pairs.map(([queue, job], n) => rowAt(t, { queue, job, body: `${n}` }));
    await numbers!.write(rows);
    await reads(numbers!, {}, rows);
    for (const { queue, job } of [...rows, { queue: 'none', job: 'none' }]) {
      await reads(
        numbers!,
        { queue },
        rows.filter((row) => row.queue === queue),
      );
      await reads(
        numbers!,
        { job },
        rows.filter((row) => row.job === job),
      );
      await reads(
        numbers!,
        { queue, job },
        rows.filter((row) => row.queue === queue && row.job === job),
      );
    }
  });

  law('each source has numbers of its own', async (t) => {
    const [numbers] = numbersOf(t);
    const rows = sources.map((source, n) => rowAt(t, { source, body: `${n}` }));
    await numbers!.write(rows);
    await reads(numbers!, { queue: mail, job: 'invoice.send' }, rows);
  });

  law('thousands of rows are written and read', async (t) => {
    const [numbers] = numbersOf(t);
    const names = { queue: longest, job: longest, source: longest };
    const long = manyRows(t, 1_000, 1).map((row) => ({ ...row, ...names }));
    const rows = [...manyRows(t, 30, 90), ...long];
    await numbers!.write(rows);
    await reads(numbers!, {}, rows);
    await reads(numbers!, { queue: longest }, long);
    const { at, queue, job } = rows[150]!;
    await reads(
      numbers!,
      { from: at - 5 * minute, to: at, queue, job },
      rows.filter(
        (row) => row.at >= at - 5 * minute && row.at < at && row.queue === queue && row.job === job,
      ),
    );
  });

  law('two that write the same rows at once end with those of one of them, row by row', async (t) => {
    const openings = numbersOf(t);
    const keys = manyRows(t, 3, 40);
    const by = (writer: string) => keys.map((row) => ({ ...row, body: JSON.stringify({ writer }) }));
    for (let round = 0; round < 3; round++) {
      const writers = ['anna', 'ben', 'cem', 'dora'];
      await Promise.all(
        writers.map((writer, n) => {
          const rows = by(`${writer} ${round}`);
          return openings[n % openings.length]!.write(n % 2 === 0 ? rows : rows.reverse());
        }),
      );
      const found = await openings[0]!.read({ step: 'minute', from: 0, to: Number.MAX_SAFE_INTEGER });
      assert.deepEqual(sorted(found).map(metricKey), sorted(keys).map(metricKey));
      const allowed = new Set(writers.map((writer) => JSON.stringify({ writer: `${writer} ${round}` })));
      for (const { body } of found) assert.ok(allowed.has(body), `expected a row of this round, got ${body}`);
    }
  });

  law('two that write their own rows at once end with all of them', async (t) => {
    const openings = numbersOf(t);
    const written = ['anna', 'ben', 'cem', 'dora'].map((source) =>
      manyRows(t, 3, 10).map((row) => ({ ...row, source })),
    );
    await Promise.all(written.map((rows, n) => openings[n % openings.length]!.write(rows)));
    await reads(openings[0]!, {}, written.flat());
  });
}
