import { join } from 'node:path';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import type { Driver } from '../sqlite/plainjob.ts';
import { type Bench, count, limitRow, type Pair, pairs, type Row, ratioRow } from './bench.ts';
import { operatorRows } from './deep.ts';
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

const taken = 10_000;

const take = (bench: Bench, queue: { path: string }): Promise<number> =>
  bench.run('drain', { ...queue, folder: bench.folder(), count: taken, concurrency: 50, only: true });

/** @param more jobs that wait behind those that are taken */
async function takeOfFew(bench: Bench, more: number): Promise<number> {
  const queue = { path: join(bench.folder(), 'queue.db') };
  await bench.run('fill', { ...queue, count: taken + more });
  return take(bench, queue);
}

/** What operators ask of a million jobs that wait, and what one of them costs. */
export async function deep(bench: Bench): Promise<Row[]> {
  const queue = { path: join(bench.folder(), 'deep.db') };
  await bench.run('fill', { ...queue, count: 1_000_000 });
  const backend = sqlite(queue.path);
  const rows = await operatorRows(bench, backend, 1_000_000);
  await backend.close();
  const rates = await pairs(bench, async () => {
    const theirs = await takeOfFew(bench, 1_000);
    await bench.run('fill', { ...queue, count: taken });
    return { theirs, ours: await take(bench, queue) };
  });
  const usOf = (perSecond: number) => 1e6 / perSecond;
  const times = rates.map(({ ours, theirs }) => ({ ours: usOf(ours), theirs: usOf(theirs) }));
  return [
    ...rows,
    ratioRow(`${count(1_000_000)} waiting: time of a job`, 'µs', times, { most: 1.3 }, '1,000 waiting'),
  ];
}

/** Taking 10k jobs must not get slower because many others wait in the same queue. */
export async function backlog(bench: Bench): Promise<Row[]> {
  const folder = bench.folder();
  const behindMany = { path: join(folder, 'deep.db') };
  await bench.run('fill', { ...behindMany, count: 500_000 + bench.rounds * taken });
  const future = { path: join(folder, 'future.db') };
  await bench.run('fill', { ...future, count: 100_000, delayMs: 3_600_000 });

  const behind = await pairs(bench, async () => ({
    theirs: await takeOfFew(bench, 0),
    ours: await take(bench, behindMany),
  }));
  const between = await pairs(bench, async () => {
    const theirs = await takeOfFew(bench, 0);
    await bench.run('fill', { ...future, count: taken });
    return { theirs, ours: await take(bench, future) };
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
    limitRow('CPU of one attempt in the core, memory backend', 'µs', times, 5),
    limitRow('garbage of one attempt, memory backend', 'bytes', garbage, 4096),
  ];
}
