import { type Bench, contest, type Row, ratioRow, type Task } from '../kit/bench.ts';
import type { Drained } from '../kit/contender.ts';
import { type BenchServer, drainRows, fill, drained as jobs, memoryRows } from '../kit/network.ts';
import { perSecond } from '../kit/task.ts';
import type { Name } from './tasks.ts';

export async function drain(bench: Bench, server: BenchServer): Promise<Row[]> {
  const rows: Row[] = [];
  for (const concurrency of [1, 10, 50, 100]) {
    const many = concurrency >= 10;
    const against = {
      'graphile-worker': many ? 1.2 : null,
      raw: null,
      'raw, k = 500': null,
      'pg-boss': many ? 1.3 : null,
    };
    const cpu = many ? { 'graphile-worker': 1, 'pg-boss': null, 'raw, k = 500': null } : {};
    const name = `drain c=${concurrency}`;
    const counted = concurrency === 50;
    rows.push(...(await drainRows(bench, server, { name, concurrency, against, cpu, counted })));
  }
  return rows;
}

export async function history(bench: Bench, server: BenchServer): Promise<Row[]> {
  const rows: Row[] = [];
  for (const concurrency of [50, 100]) {
    const name = `drain c=${concurrency}, a day of history kept`;
    const against = { 'graphile-worker': 0.8, 'pg-boss': null };
    const cpu = { 'graphile-worker': null };
    const keeps = (): boolean => true;
    rows.push(...(await drainRows(bench, server, { name, concurrency, against, keeps, cpu })));
  }
  return rows;
}

/** Two worker processes on one queue. */
export async function workers(bench: Bench, server: BenchServer): Promise<Row[]> {
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
  const names = ['longshore', 'graphile-worker', 'pg-boss', 'raw', 'raw, k = 500'] as const;
  const rounds = await contest(bench, names, both);
  return names.slice(1).map((who) => {
    const measured = rounds.map((round) => ({ ours: round.longshore, theirs: round[who] }));
    const target = who === 'graphile-worker' ? 1.2 : who === 'pg-boss' ? 1.3 : null;
    return ratioRow('drain c=50, two worker processes', 'jobs/s', measured, target, who);
  });
}

export const memory = (bench: Bench, server: BenchServer): Promise<Row[]> =>
  memoryRows(bench, server, 100, ['graphile-worker', 'raw']);
