import { join } from 'node:path';
import type { Driver } from '../sqlite/plainjob.ts';
import { type Bench, count, limitRow, type Pair, pairs, type Row, ratioRow } from './bench.ts';
import type { DrainInput } from './longshore.ts';

const jobs = 20_000;

async function drainOnce(
  bench: Bench,
  concurrency: number,
  history: boolean,
  numbers = true,
): Promise<number> {
  const folder = bench.folder();
  const queue = { path: join(folder, 'queue.db'), history };
  await bench.run('fill', { ...queue, count: jobs });
  return bench.run('drain', { ...queue, numbers, folder, count: jobs, concurrency });
}

/** Drains against plainjob as it ships, which has the target, and on the same driver as ours by an adapter. */
async function drainRow(
  bench: Bench,
  concurrency: number,
  history: boolean,
  least: number | null,
): Promise<Row[]> {
  const shipped: Pair[] = [];
  const adapted: Pair[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    const plainjob = (driver: Driver) =>
      bench.run<number>('plainjob', { folder: bench.folder(), driver, count: jobs, concurrency });
    const before = await plainjob('better-sqlite3');
    const ours = await drainOnce(bench, concurrency, history);
    const after = await plainjob('node:sqlite');
    shipped.push({ ours, theirs: before });
    adapted.push({ ours, theirs: after });
  }
  const name = `drain c=${concurrency}, ${history ? 'history kept' : 'deleted when settled'}`;
  return [
    ratioRow(name, 'jobs/s', shipped, least, 'plainjob as it ships'),
    ratioRow(name, 'jobs/s', adapted, null, 'plainjob on node:sqlite'),
  ];
}

const drainRows = (history: boolean, least: number) => async (bench: Bench) => {
  const rows: Row[] = [];
  for (const concurrency of [1, 10, 50, 100]) {
    rows.push(...(await drainRow(bench, concurrency, history, concurrency >= 50 ? least : null)));
  }
  return rows;
};

export const drain = drainRows(false, 4);
export const history = drainRows(true, 3);

/** What counting attempts costs. Each round measures both sides twice, in turns, because they differ by less than a run does. */
export async function numbers(bench: Bench): Promise<Row[]> {
  const both = async () => ({
    ours: await drainOnce(bench, 50, false),
    theirs: await drainOnce(bench, 50, false, false),
  });
  const measured = [...(await pairs(bench, both)), ...(await pairs(bench, both))];
  return [ratioRow('drain c=50, numbers kept', 'jobs/s', measured, 0.97, 'no numbers')];
}

/** Two worker processes on one file, compared with one. */
export async function workers(bench: Bench): Promise<Row[]> {
  const concurrency = 50;
  const measured = await pairs(bench, async () => {
    const theirs = await drainOnce(bench, concurrency, false);
    const folder = bench.folder();
    const path = join(folder, 'queue.db');
    await bench.run('fill', { path, count: jobs });
    const input: DrainInput = { path, folder, count: jobs, concurrency };
    const both = [1, 2].map(() =>
      bench.start<{ acked: number; startedAt: number; endedAt: number }>('drainTogether', input),
    );
    await Promise.all(both.map(({ ready }) => ready));
    for (const { go } of both) go();
    const ends = await Promise.all(both.map(({ result }) => result));
    const acked = ends.reduce((sum, end) => sum + end.acked, 0);
    if (acked !== jobs) throw new Error(`Expected two workers to ack ${jobs} jobs, got ${acked}.`);
    const durationMs =
      Math.max(...ends.map(({ endedAt }) => endedAt)) - Math.min(...ends.map(({ startedAt }) => startedAt));
    return { ours: (jobs / durationMs) * 1000, theirs };
  });
  return [ratioRow('drain c=50, two worker processes', 'jobs/s', measured, null, 'one worker')];
}

/** Taking 10k jobs must not get slower because many others wait in the same queue. */
export async function backlog(bench: Bench): Promise<Row[]> {
  const taken = 10_000;
  const concurrency = 50;
  const taking = async (queue: { path: string }, folder: string): Promise<number> =>
    bench.run('drain', { ...queue, folder, count: taken, concurrency, only: true });
  const shallow = async (): Promise<number> => {
    const folder = bench.folder();
    const queue = { path: join(folder, 'queue.db') };
    await bench.run('fill', { ...queue, count: taken });
    return taking(queue, folder);
  };
  const folder = bench.folder();
  const deep = { path: join(folder, 'deep.db') };
  await bench.run('fill', { ...deep, count: 500_000 + bench.rounds * taken });
  const future = { path: join(folder, 'future.db') };
  await bench.run('fill', { ...future, count: 100_000, delayMs: 3_600_000 });

  const behind = await pairs(bench, async () => ({
    theirs: await shallow(),
    ours: await taking(deep, folder),
  }));
  const between = await pairs(bench, async () => {
    const theirs = await shallow();
    await bench.run('fill', { ...future, count: taken });
    return { theirs, ours: await taking(future, folder) };
  });
  return [
    ratioRow(`drain with ${count(500_000)} pending`, 'jobs/s', behind, 0.8, 'shallow'),
    ratioRow(`drain with ${count(100_000)} delayed in front`, 'jobs/s', between, 0.8, 'shallow'),
  ];
}

/** What the core alone costs: the memory backend takes next to nothing. */
export async function core(bench: Bench): Promise<Row[]> {
  const samples: { us: number; garbageBytes: number }[] = [];
  for (let round = 0; round < bench.rounds; round++)
    samples.push(await bench.run('coreAttempt', { count: jobs, concurrency: 50 }));
  const times = samples.map(({ us }) => us);
  const garbage = samples.map(({ garbageBytes }) => garbageBytes);
  return [
    limitRow('one attempt in the core, memory backend', 'µs', times, 5),
    limitRow('garbage of one attempt, memory backend', 'bytes', garbage, 4096),
  ];
}
