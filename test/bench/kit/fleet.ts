/**
 * What a fleet asks of a server: idle workers, and workers of which one gets each job. The workers of a fleet share four processes, and each
 * has a backend, and so connections, of its own.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Worker } from '../../../core/kernel/worker/state.ts';
import { connect } from '../../../core/routing/connect.ts';
import { startWorker } from '../../../core/routing/worker.ts';
import { benchApp, nowMs, payload } from './app.ts';
import { type Bench, count, limitRow, percentile, type Row } from './bench.ts';
import type { Place } from './contender.ts';
import type { BenchServer } from './network.ts';
import { serverCpuMs } from './stopwatch.ts';
import type { Host } from './task.ts';

export interface Usage {
  /** Statements or commands so far. */
  readonly statements: number;
  readonly connections: number;
  /** Rows read so far; `null` = the server does not count them. */
  readonly rows: number | null;
}

const processes = 4;
const sizes = [8, 48, 200];
const settleMs = 15_000;
const idleMs = 30_000;
const jobs = 400;
const betweenJobsMs = 20;

interface FleetInput {
  readonly place: Place;
  readonly workers: number;
}

/** The task of a child process. Returns the ms from each `enqueue` to its handler, in this process. */
export const fleetOf = (open: (place: Place) => QueueBackend) => async (input: FleetInput, host: Host) => {
  const latencies: number[] = [];
  const all: { backend: QueueBackend; worker: Worker }[] = [];
  while (all.length < input.workers) {
    const backend = open(input.place);
    await backend.admin!.stats(); // one after another: two cores cannot open hundreds of connections at once
    const { app } = benchApp(({ at }) => latencies.push(nowMs() - at));
    all.push({ backend, worker: startWorker(app, { backend }) });
  }
  await host.waitForGo();
  await Promise.all(all.map(({ worker }) => worker.stop()));
  await Promise.all(all.map(({ backend }) => backend.close()));
  return latencies;
};

/** @param mostIdle statements a second of an idle worker */
export async function fleets(
  bench: Bench,
  server: BenchServer & Pick<Fleet, 'usage'>,
  open: Fleet['open'],
  mostIdle: number,
): Promise<Row[]> {
  const { usage } = server;
  const rows: Row[] = [];
  for (const size of sizes)
    rows.push(...(await server.at((place) => fleet({ bench, place, open, usage, size, mostIdle }))));
  return rows;
}

interface Fleet {
  readonly bench: Bench;
  readonly place: Place;
  readonly size: number;
  readonly mostIdle: number;
  open(place: Place): QueueBackend;
  usage(): Promise<Usage>;
}

async function fleet({ bench, place, size, mostIdle, open, usage }: Fleet): Promise<Row[]> {
  const sender = open(place);
  await sender.admin!.stats(); // makes the tables
  const tasks = Array.from({ length: processes }, () =>
    bench.start<number[]>('fleet', { place, workers: size / processes }),
  );
  await Promise.all(tasks.map(({ ready }) => ready));
  await delay(settleMs);
  const used = async (during: () => Promise<unknown>) => {
    const [before, cpuBefore] = [await usage(), serverCpuMs(place.serverPid)];
    await during();
    const [after, cpuAfter] = [await usage(), serverCpuMs(place.serverPid)];
    return {
      statements: after.statements - before.statements,
      rows: after.rows === null ? null : after.rows - before.rows!,
      cpuMs: cpuBefore === null ? null : cpuAfter! - cpuBefore,
    };
  };
  const idle = await used(() => delay(idleMs));
  const { connections } = await usage();
  const { app, job } = benchApp();
  const client = connect(app, sender);
  const busy = await used(async () => {
    for (let n = 0; n < jobs; n++) {
      await client.enqueue(job, payload(n, nowMs()));
      await delay(betweenJobsMs);
    }
  });
  await delay(1_000);
  for (const { go } of tasks) go();
  const latencies = (await Promise.all(tasks.map(({ result }) => result))).flat();
  if (latencies.length !== jobs) throw new Error(`Expected ${jobs} runs, got ${latencies.length}.`);
  await client.close();
  const each = (total: number | null, most: number | null, name: string, unit: string) =>
    total === null ? [] : [limitRow(`${count(size)} workers: ${name}`, unit, [total], most)];
  const idleSeconds = idleMs / 1_000;
  return [
    ...each(idle.statements / idleSeconds / size, mostIdle, 'statements of each, idle', 'a second'),
    ...each(idle.rows && idle.rows / idle.statements, null, 'rows read by each statement, idle', 'rows'),
    ...each(idle.cpuMs && idle.cpuMs / idleSeconds / size, null, 'CPU of the server for each, idle', 'ms/s'),
    ...each(connections / size, null, 'connections of each', 'connections'),
    ...each(busy.statements / jobs, null, 'statements for a job that comes alone', 'statements'),
    ...each(busy.cpuMs && busy.cpuMs / jobs, null, 'CPU of the server for such a job', 'ms'),
    ...each(percentile(latencies, 50), null, 'latency of such a job, p50', 'ms'),
    ...each(percentile(latencies, 99), null, 'latency of such a job, p99', 'ms'),
  ];
}
