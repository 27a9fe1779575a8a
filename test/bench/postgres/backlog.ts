import { type Bench, count, type Pair, pairs, type Row, ratioRow } from '../kit/bench.ts';
import type { Drained, Place } from '../kit/contender.ts';
import { type BenchServer, fill, rate } from '../kit/network.ts';

const taken = 10_000;
const pending = 500_000;
const future = 100_000;

/**
 * Taking 10k jobs must not get slower because many others wait in the same queue. Nobody tells the planner about
 * them either: the tables are analysed when the server does it by itself, or not at all.
 */
export async function backlog(bench: Bench, server: BenchServer): Promise<Row[]> {
  const who = 'longshore';
  const take = async (place: Place): Promise<number> => {
    const input = { who, place, count: taken, concurrency: 50, only: true };
    return rate(await bench.run<Drained>('drain', input));
  };
  const shallow = (): Promise<number> =>
    server.at(async (place) => {
      await fill(bench, who, place, taken);
      return take(place);
    });

  const behind = (): Promise<Pair[]> =>
    server.at(async (place) => {
      await fill(bench, who, place, pending + bench.rounds * taken);
      return pairs(bench, async () => ({ theirs: await shallow(), ours: await take(place) }));
    });
  const between = (): Promise<Pair[]> =>
    server.at(async (place) => {
      await fill(bench, who, place, future, 3_600_000);
      return pairs(bench, async () => {
        const theirs = await shallow();
        await fill(bench, who, place, taken);
        return { theirs, ours: await take(place) };
      });
    });
  return [
    ratioRow(`drain with ${count(pending)} pending`, 'jobs/s', await behind(), 0.8, 'shallow'),
    ratioRow(`drain with ${count(future)} delayed in front`, 'jobs/s', await between(), 0.8, 'shallow'),
  ];
}
