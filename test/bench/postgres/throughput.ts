import { type Bench, contest, limitRow, type Row, ratioRow, type Target, type Task } from '../bench.ts';
import type { Drained, DrainInput, Place } from '../contender.ts';
import { perSecond } from '../task.ts';
import { cpuRows, pairsOf, type Round } from './rows.ts';
import type { Server } from './server.ts';
import type { Name } from './tasks.ts';

const jobs = 20_000;

export async function fill(bench: Bench, who: Name, place: Place, count: number, delayMs = 0): Promise<void> {
  await bench.run('send', { who, place, count, delayMs, chunk: 1000, inFlight: 1, untimed: true });
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

/** Whoever has a target comes right before or after ours. */
async function drainRows(
  bench: Bench,
  server: Server,
  { name, concurrency, history = false, against, cpu = [] }: Drains,
): Promise<Row[]> {
  const rivals = Object.keys(against) as Name[];
  const rounds: Round<Drained>[] = await contest(bench, ['longshore', ...rivals], (who) =>
    drainOnce(bench, server, who, { concurrency }, history),
  );
  const rows = rivals.map((who) =>
    ratioRow(name, 'jobs/s', pairsOf(rounds, who, rate), against[who] ?? null, who),
  );
  return [...rows, ...cpuRows(name, rounds, cpu)];
}

interface Drains {
  readonly name: string;
  readonly concurrency: number;
  readonly history?: boolean;
  readonly against: Readonly<Partial<Record<Name, Target>>>;
  /** With whom the CPU time is compared too. */
  readonly cpu?: readonly Name[];
}

export async function drain(bench: Bench, server: Server): Promise<Row[]> {
  const rows: Row[] = [];
  for (const concurrency of [1, 10, 50, 100]) {
    const many = concurrency >= 50;
    const against = {
      'graphile-worker': many ? 1.2 : null,
      raw: null,
      'raw, k = 500': null,
      'pg-boss': null,
    };
    const cpu: Name[] = many ? ['graphile-worker', 'raw, k = 500'] : [];
    const name = `drain c=${concurrency}`;
    rows.push(...(await drainRows(bench, server, { name, concurrency, against, cpu })));
  }
  return rows;
}

export async function history(bench: Bench, server: Server): Promise<Row[]> {
  const rows: Row[] = [];
  for (const concurrency of [50, 100]) {
    const name = `drain c=${concurrency}, a day of history kept`;
    const against = { 'graphile-worker': 0.8, 'pg-boss': null };
    const cpu: Name[] = ['graphile-worker'];
    rows.push(...(await drainRows(bench, server, { name, concurrency, history: true, against, cpu })));
  }
  return rows;
}

/** Two worker processes on one queue. */
export async function workers(bench: Bench, server: Server): Promise<Row[]> {
  const both = async (who: Name): Promise<number> =>
    server.at(async (place) => {
      await fill(bench, who, place, jobs);
      const input = { who, place, count: jobs, concurrency: 50, together: true };
      const tasks: Task<Drained>[] = [];
      // One after the other: a graphile-worker stops when anybody migrates any schema of its database.
      for (let i = 0; i < 2; i++) {
        const task = bench.start<Drained>('drain', input);
        await task.ready;
        tasks.push(task);
      }
      for (const { go } of tasks) go();
      const ends = await Promise.all(tasks.map(({ result }) => result));
      const ran = ends.reduce((sum, end) => sum + end.ran, 0);
      if (ran !== jobs) throw new Error(`Expected two workers (${who}) to run ${jobs} jobs, got ${ran}.`);
      const startedAt = Math.min(...ends.map((end) => end.startedAt));
      return perSecond(jobs, Math.max(...ends.map(({ endedAt }) => endedAt)) - startedAt);
    });
  const names = ['longshore', 'graphile-worker', 'raw', 'raw, k = 500'] as const;
  const rounds = await contest(bench, names, both);
  return names.slice(1).map((who) => {
    const measured = rounds.map((round) => ({ ours: round.longshore, theirs: round[who] }));
    const target = who === 'graphile-worker' ? 1.2 : null;
    return ratioRow('drain c=50, two worker processes', 'jobs/s', measured, target, who);
  });
}

export async function memory(bench: Bench, server: Server): Promise<Row[]> {
  const names = ['longshore', 'graphile-worker', 'raw'] as const;
  const rounds = await contest(bench, names, (who) =>
    drainOnce(bench, server, who, { concurrency: 50, cold: true }),
  );
  return names.map((who) => {
    const samples = rounds.map((round) => round[who].residentMb);
    const ours = who === 'longshore';
    const name = `memory of a worker after ${jobs.toLocaleString('en')} jobs${ours ? '' : `: ${who}`}`;
    return limitRow(name, 'MB', samples, ours ? 100 : null);
  });
}
