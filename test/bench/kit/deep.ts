/** A very deep queue: what a job costs at the front of it, and what operators ask meanwhile. */

import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { RecordFilter } from '../../../core/contract/store.ts';
import { type Bench, count, limitRow, pairs, type Row, ratioRow } from './bench.ts';
import type { Drained, Place } from './contender.ts';
import { type BenchServer, fill } from './network.ts';

const who = 'longshore';
const taken = 10_000;
const shallow = 1_000;
/** Of one child process, which has three minutes. */
const perFill = 1_000_000;
const longestMs = 200;

const filters: Readonly<Record<string, RecordFilter>> = {
  all: {},
  waiting: { status: 'pending' },
  running: { status: 'processing' },
  'dead letters': { status: 'failed' },
  'of a queue': { queue: 'bench' },
  'of a job': { job: 'bench.noop' },
  'of a job that has none': { job: 'nothing' },
};

/** Ms of each call of an operator, `bench.rounds` times. */
export async function operatorRows(bench: Bench, backend: QueueBackend, depth: number): Promise<Row[]> {
  const { admin, stores } = backend;
  const lists = Object.entries(filters).map(
    ([name, filter]) => [`jobs list: ${name}`, () => stores!.records.page({ ...filter, max: 50 })] as const,
  );
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    'counts of all queues': () => admin!.stats(),
    'counts of the queue': () => admin!.stats('bench'),
    'a peek': () => admin!.peek('bench', 50),
    ...Object.fromEntries(lists),
  };
  const rows: Row[] = [];
  for (const [name, call] of Object.entries(calls)) {
    const samples: number[] = [];
    for (let round = 0; round < bench.rounds; round++) {
      const began = performance.now();
      await call();
      samples.push(performance.now() - began);
    }
    rows.push(limitRow(`${count(depth)} waiting: ${name}`, 'ms', samples, longestMs));
  }
  return rows;
}

/** What a job costs at the front of a queue of this depth, beside one of a thousand. */
export function deep(
  bench: Bench,
  server: BenchServer,
  open: (place: Place) => QueueBackend,
  depth: number,
): Promise<Row[]> {
  const take = (place: Place) =>
    bench.run<Drained>('drain', { who, place, count: taken, concurrency: 50, only: true });
  return server.at(async (place) => {
    for (let n = 0; n < depth; n += perFill) {
      bench.note(`  ${count(n)} of ${count(depth)} …`);
      await fill(bench, who, place, Math.min(perFill, depth - n));
    }
    const backend = open(place);
    const rows = await operatorRows(bench, backend, depth);
    await backend.close();
    let others = 0;
    const both = await pairs(bench, async () => {
      const other = { ...place, schema: `${place.schema}_shallow_${++others}` };
      await fill(bench, who, other, taken + shallow);
      const theirs = await take(other);
      await fill(bench, who, place, taken);
      return { theirs, ours: await take(place) };
    });
    const row = (name: string, cost: (drained: Drained) => number) => {
      const measured = both.map(({ ours, theirs }) => ({ ours: cost(ours), theirs: cost(theirs) }));
      const title = `${count(depth)} waiting: ${name} of a job`;
      return ratioRow(title, 'µs', measured, { most: 1.3 }, `${count(shallow)} waiting`);
    };
    return [
      ...rows,
      row('time', ({ startedAt, endedAt }) => ((endedAt - startedAt) * 1_000) / taken),
      row('CPU', ({ clientCpuUs, serverCpuUs }) => clientCpuUs + serverCpuUs!),
    ];
  });
}
