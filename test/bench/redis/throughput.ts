import { type Bench, count, pairs, type Row, ratioRow } from '../kit/bench.ts';
import type { Drained, Place } from '../kit/contender.ts';
import { drainRows, fill, memoryRows, rate } from '../kit/network.ts';
import type { Server } from './server.ts';

const cpu = { raw: null, BullMQ: null };

export async function drain(bench: Bench, server: Server): Promise<Row[]> {
  const rows: Row[] = [];
  for (const concurrency of [1, 10, 50, 100]) {
    const target = { 1: [2, null], 10: [null, null] }[concurrency] ?? [3, 2];
    const against = { BullMQ: target[0]!, 'bee-queue': target[1]!, raw: null, 'raw, k = 500': null };
    rows.push(
      ...(await drainRows(bench, server, { name: `drain c=${concurrency}`, concurrency, against, cpu })),
    );
  }
  return rows;
}

/** The peers keep nothing here: what it costs to keep it is ours to know. */
export function history(bench: Bench, server: Server): Promise<Row[]> {
  const against = { BullMQ: null, raw: null };
  const keeps = (who: string): boolean => who === 'longshore';
  const name = 'drain c=50, a day of history kept';
  return drainRows(bench, server, { name, concurrency: 50, against, keeps, cpu });
}

const taken = 10_000;
const pending = 300_000;

/** Taking 10k jobs must not get slower because many others wait in the same queue, now or later. */
export async function backlog(bench: Bench, server: Server): Promise<Row[]> {
  const who = 'longshore';
  const take = async (place: Place): Promise<number> => {
    const input = { who, place, count: taken, concurrency: 50, only: true };
    return rate(await bench.run<Drained>('drain', input));
  };
  const measured = (waiting: number, delayMs: number) =>
    server.at(async (place) => {
      await fill(bench, who, place, waiting, delayMs);
      return pairs(bench, async () => {
        const other = { ...place, schema: `${place.schema}_shallow` };
        await fill(bench, who, other, taken);
        const theirs = await take(other);
        await fill(bench, who, place, taken);
        return { theirs, ours: await take(place) };
      });
    });
  const behind = await measured(pending, 0);
  const between = await measured(pending / 3, 3_600_000);
  return [
    ratioRow(`drain with ${count(pending)} pending`, 'jobs/s', behind, 0.8, 'shallow'),
    ratioRow(`drain with ${count(pending / 3)} delayed in front`, 'jobs/s', between, 0.8, 'shallow'),
  ];
}

export const memory = (bench: Bench, server: Server): Promise<Row[]> =>
  memoryRows(bench, server, 100, ['BullMQ', 'bee-queue', 'raw']);
