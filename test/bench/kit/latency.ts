import { join } from 'node:path';
import { type Bench, limitRow, percentile, type Row } from './bench.ts';

/** From the call of `enqueue` to the first line of the handler, on an idle worker. */
export async function latency(bench: Bench): Promise<Row[]> {
  const samples = 300;
  const within: number[][] = [];
  const across: number[][] = [];
  for (let round = 0; round < bench.rounds; round++) {
    within.push(await bench.run('latencyWithin', { path: join(bench.folder(), 'queue.db'), samples }));
    const input = { path: join(bench.folder(), 'queue.db'), samples };
    const worker = bench.start<number[]>('latencyWorker', input);
    await worker.ready;
    worker.go();
    const [, latencies] = await Promise.all([bench.run('latencyProducer', input), worker.result]);
    across.push(latencies);
  }
  const row = (where: string, rounds: number[][], percent: number, most: number | null) =>
    limitRow(
      `latency, ${where}, p${percent}`,
      'ms',
      rounds.map((values) => percentile(values, percent)),
      most,
    );
  return [
    row('same process', within, 50, 1),
    row('same process', within, 99, null),
    row('other process', across, 50, 5),
    row('other process', across, 99, null),
  ];
}
