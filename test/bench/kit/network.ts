/** What is measured alike on every server: to fill it, to drain it, to send one by one, the way to an idle worker, memory. */

import {
  type Bench,
  contest,
  count,
  limitRow,
  percentile,
  type Row,
  ratioRow,
  type Target,
} from './bench.ts';
import type { Drained, DrainInput, Place, Sent } from './contender.ts';
import { countedRows, cpuRows, pairsOf, type Round } from './rounds.ts';
import { perSecond } from './task.ts';

export interface BenchServer {
  /** Runs `use` with a place that nobody has used, and removes it. */
  at<T>(use: (place: Place) => Promise<T>, history?: boolean): Promise<T>;
  stop(): Promise<void>;
}

/** Contenders, by the names of the suite's tasks, each with what is to be reached against it. */
export type Against = Readonly<Record<string, Target>>;

export const drained = 20_000;

export const rate = ({ ran, startedAt, endedAt }: Drained): number => perSecond(ran, endedAt - startedAt);

export async function fill(
  bench: Bench,
  who: string,
  place: Place,
  total: number,
  delayMs = 0,
): Promise<void> {
  await bench.run('send', { who, place, count: total, delayMs, chunk: 1000, inFlight: 1, untimed: true });
}

async function drainOnce(
  bench: Bench,
  server: BenchServer,
  who: string,
  order: Pick<DrainInput, 'concurrency' | 'cold' | 'counted'>,
  history = false,
): Promise<Drained> {
  return server.at(async (place) => {
    await fill(bench, who, place, drained);
    return bench.run<Drained>('drain', { who, place, count: drained, ...order });
  }, history);
}

export interface Drains {
  readonly name: string;
  readonly concurrency: number;
  readonly against: Against;
  /** Who keeps a day of settled jobs. */
  readonly keeps?: (who: string) => boolean;
  /** With whom the CPU time is compared too, and the most that both ends together may take, as a ratio. */
  readonly cpu?: Readonly<Record<string, number | null>>;
  /** What the server counts per job is compared too. @default false */
  readonly counted?: boolean;
}

export async function drainRows(bench: Bench, server: BenchServer, drains: Drains): Promise<Row[]> {
  const { name, concurrency, against, keeps = () => false, cpu = {}, counted = false } = drains;
  const rivals = Object.keys(against);
  const rounds: Round<Drained>[] = await contest(bench, ['longshore', ...rivals], (who) =>
    drainOnce(bench, server, who, { concurrency, counted }, keeps(who)),
  );
  const rows = rivals.map((who) =>
    ratioRow(name, 'jobs/s', pairsOf(rounds, who, rate), against[who] ?? null, who),
  );
  return [...rows, ...cpuRows(name, rounds, cpu), ...countedRows(name, rounds, rivals)];
}

export interface Sends {
  readonly name: string;
  readonly count: number;
  readonly chunk: number;
  readonly inFlight: number;
  readonly against: Against;
  readonly cpu?: Readonly<Record<string, number | null>>;
}

export async function sendRows(bench: Bench, server: BenchServer, sends: Sends): Promise<Row[]> {
  const { name, against, cpu = {}, ...how } = sends;
  const rivals = Object.keys(against);
  const rounds: Round<Sent>[] = await contest(bench, ['longshore', ...rivals], (who) =>
    server.at((place) => bench.run<Sent>('send', { who, place, ...how })),
  );
  const rates = rivals.map((who) => {
    const pairs = pairsOf(rounds, who, (sent) => sent.perSecond);
    return ratioRow(name, 'jobs/s', pairs, against[who] ?? null, who);
  });
  return [...rates, ...cpuRows(name, rounds, cpu)];
}

const samples = 300;

/**
 * From the call of `enqueue` to the first line of the handler of an idle worker in another process.
 * @param mostMs what the median may be at most, where that is a target
 */
export async function latencyRows(
  bench: Bench,
  server: BenchServer,
  against: Against,
  mostMs: number | null = null,
): Promise<Row[]> {
  const rivals = Object.keys(against);
  const rounds: Round<number[]>[] = await contest(bench, ['longshore', ...rivals], (who) =>
    server.at(async (place) => {
      const input = { who, place, samples };
      // The sender first: a graphile-worker stops when anybody migrates any schema of its database.
      const sender = bench.start('sendSpaced', input);
      await sender.ready;
      const worker = bench.start<number[]>('receive', input);
      await worker.ready;
      worker.go();
      sender.go();
      const [, latencies] = await Promise.all([sender.result, worker.result]);
      return latencies;
    }),
  );
  const rows = [50, 99].flatMap((percent) =>
    rivals.map((who) => {
      const pairs = pairsOf(rounds, who, (latencies) => percentile(latencies, percent));
      return ratioRow(`latency, idle worker, p${percent}`, 'ms', pairs, against[who] ?? null, who);
    }),
  );
  if (mostMs === null) return rows;
  const medians = rounds.map(({ longshore }) => percentile(longshore!, 50));
  return [limitRow('latency, idle worker, p50', 'ms', medians, mostMs), ...rows];
}

/** Of processes that have only worked. */
export async function memoryRows(
  bench: Bench,
  server: BenchServer,
  mostMb: number,
  rivals: readonly string[],
): Promise<Row[]> {
  const rounds: Round<Drained>[] = await contest(bench, ['longshore', ...rivals], (who) =>
    drainOnce(bench, server, who, { concurrency: 50, cold: true }),
  );
  return ['longshore', ...rivals].map((who) => {
    const megabytes = rounds.map((round) => round[who]!.residentMb);
    const ours = who === 'longshore';
    const name = `memory of a worker after ${count(drained)} jobs${ours ? '' : `: ${who}`}`;
    return limitRow(name, 'MB', megabytes, ours ? mostMb : null);
  });
}
