import { type Bench, contest, count, limitRow, pairs, type Row, ratioRow, type Target } from '../bench.ts';
import type { Drained, DrainInput, Place } from '../contender.ts';
import { cpuRows, pairsOf, type Round } from '../rounds.ts';
import { perSecond } from '../task.ts';
import type { Server } from './server.ts';
import type { Name } from './tasks.ts';

const jobs = 20_000;

export async function fill(bench: Bench, who: Name, place: Place, total: number, delayMs = 0): Promise<void> {
  await bench.run('send', { who, place, count: total, delayMs, chunk: 1000, inFlight: 1, untimed: true });
}

async function drainOnce(
  bench: Bench,
  server: Server,
  who: Name,
  order: Pick<DrainInput, 'concurrency' | 'cold'>,
  history = false,
): Promise<Drained> {
  return server.at(async (place) => {
    await fill(bench, who, place, jobs);
    return bench.run<Drained>('drain', { who, place, count: jobs, ...order });
  }, history);
}

const rate = ({ ran, startedAt, endedAt }: Drained): number => perSecond(ran, endedAt - startedAt);

async function drainRows(
  bench: Bench,
  server: Server,
  name: string,
  concurrency: number,
  against: Readonly<Partial<Record<Name, Target>>>,
  history = false,
): Promise<Row[]> {
  const rivals = Object.keys(against) as Name[];
  const rounds: Round<Drained>[] = await contest(bench, ['longshore', ...rivals], (who: Name) =>
    drainOnce(bench, server, who, { concurrency }, history && who === 'longshore'),
  );
  const rows = rivals.map((who) =>
    ratioRow(name, 'jobs/s', pairsOf(rounds, who, rate), against[who] ?? null, who),
  );
  return [...rows, ...cpuRows(name, rounds, ['raw', 'BullMQ'])];
}

export async function drain(bench: Bench, server: Server): Promise<Row[]> {
  const rows: Row[] = [];
  for (const concurrency of [1, 10, 50, 100]) {
    const target = { 1: [2, null], 10: [null, null] }[concurrency] ?? [3, 2];
    const against = { BullMQ: target[0]!, 'bee-queue': target[1]!, raw: null, 'raw, k = 500': null };
    rows.push(...(await drainRows(bench, server, `drain c=${concurrency}`, concurrency, against)));
  }
  return rows;
}

/** The peers keep nothing here: what it costs to keep it is ours to know. */
export function history(bench: Bench, server: Server): Promise<Row[]> {
  const against = { BullMQ: null, raw: null };
  return drainRows(bench, server, 'drain c=50, a day of history kept', 50, against, true);
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

export async function memory(bench: Bench, server: Server): Promise<Row[]> {
  const names = ['longshore', 'BullMQ', 'bee-queue', 'raw'] as const;
  const rounds = await contest(bench, names, (who) =>
    drainOnce(bench, server, who, { concurrency: 50, cold: true }),
  );
  return names.map((who) => {
    const samples = rounds.map((round) => round[who].residentMb);
    const ours = who === 'longshore';
    const name = `memory of a worker after ${count(jobs)} jobs${ours ? '' : `: ${who}`}`;
    return limitRow(name, 'MB', samples, ours ? 100 : null);
  });
}
