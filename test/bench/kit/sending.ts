import { join } from 'node:path';
import { type Bench, type Pair, type Row, ratioRow } from './bench.ts';

interface Comparison {
  readonly ours: string;
  readonly raw: string;
  readonly count: number;
  readonly synchronous: 'NORMAL' | 'FULL';
  /** Pairs per round: a disk that others use too flushes fast now and slowly a second later. */
  readonly times?: number;
}

async function compared(bench: Bench, { ours, raw, count, synchronous, times = 1 }: Comparison) {
  const theirRate = () => bench.run<number>(raw, { folder: bench.folder(), count, synchronous });
  const ourRate = () => {
    const folder = bench.folder();
    return bench.run<number>(ours, { folder, path: join(folder, 'queue.db'), count, synchronous });
  };
  const measured: Pair[] = [];
  for (let i = 0; i < bench.rounds * times; i++) {
    // The order changes from pair to pair, so that whoever comes second has no advantage.
    const before = i % 2 === 0 ? await theirRate() : await ourRate();
    const after = i % 2 === 0 ? await ourRate() : await theirRate();
    measured.push(i % 2 === 0 ? { theirs: before, ours: after } : { ours: before, theirs: after });
  }
  return measured;
}

export async function bulk(bench: Bench): Promise<Row[]> {
  const what = { ours: 'bulk', raw: 'rawBulk', count: 40_000, synchronous: 'NORMAL' } as const;
  return [ratioRow('enqueue in chunks of 1000, NORMAL', 'jobs/s', await compared(bench, what), 0.25, 'raw')];
}

export async function single(bench: Bench): Promise<Row[]> {
  const what = { ours: 'single', raw: 'rawSingle' } as const;
  const normal = await compared(bench, { ...what, count: 20_000, synchronous: 'NORMAL' });
  const full = await compared(bench, { ...what, count: 2_000, synchronous: 'FULL', times: 4 });
  return [
    ratioRow('enqueue one at a time, NORMAL', 'jobs/s', normal, 0.5, 'raw'),
    ratioRow('enqueue one at a time, FULL', 'jobs/s', full, 0.85, 'raw'),
  ];
}
