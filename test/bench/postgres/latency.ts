import { type Bench, contest, percentile, type Row, ratioRow } from '../bench.ts';
import type { Server } from './server.ts';
import type { Name } from './tasks.ts';

/** From the call of `enqueue` to the first line of the handler of an idle worker in another process. */
export async function latency(bench: Bench, server: Server): Promise<Row[]> {
  const samples = 300;
  const names = ['longshore', 'raw with NOTIFY', 'graphile-worker'] as const;
  const rounds = await contest(bench, names, (who: Name) =>
    server.at(async (place) => {
      const input = { who, place, samples };
      const worker = bench.start<number[]>('receive', input);
      await worker.ready;
      worker.go();
      const [, latencies] = await Promise.all([bench.run('sendSpaced', input), worker.result]);
      return latencies;
    }),
  );
  return [50, 99].flatMap((percent) =>
    names.slice(1).map((who) => {
      const pairs = rounds.map(({ longshore, [who]: other }) => ({
        ours: percentile(longshore, percent),
        theirs: percentile(other, percent),
      }));
      const target = who === 'raw with NOTIFY' ? { most: 1.3 } : null;
      return ratioRow(`latency, idle worker, p${percent}`, 'ms', pairs, target, who);
    }),
  );
}
