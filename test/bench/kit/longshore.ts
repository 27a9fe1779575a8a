/** The measured side. Everything here goes through the public verbs: signature, schema check and fencing are on. */

import { join } from 'node:path';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { connect } from '../../../core/routing/connect.ts';
import { startWorker } from '../../../core/routing/worker.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { benchApp, enqueueAll, nowMs, payload } from './app.ts';
import { median } from './bench.ts';
import { type Host, perSecond, warmUpJobs } from './task.ts';

interface QueueInput {
  readonly path: string;
  /** `false`: a job is deleted when it is settled. */
  readonly history?: boolean;
  readonly synchronous?: 'NORMAL' | 'FULL';
  /** `false`: its store keeps no numbers. */
  readonly numbers?: boolean;
}

function openQueue({
  path,
  history = false,
  synchronous = 'NORMAL',
  numbers = true,
}: QueueInput): QueueBackend {
  const queue = sqlite({ path, synchronous, ...(history ? {} : { retention: { completedMs: 0 } }) });
  if (numbers) return queue;
  const { metrics: _, texts: __, ...stores } = queue.stores!;
  return { ...queue, stores };
}

export async function fill(input: QueueInput & { count: number; delayMs?: number }): Promise<void> {
  const { app, job } = benchApp();
  const backend = openQueue(input);
  await enqueueAll(connect(app, backend), job, input.count, input.delayMs);
  await backend.close();
}

async function warmUp(folder: string, concurrency: number, history: boolean): Promise<void> {
  const path = join(folder, `warm-up-${process.pid}.db`);
  await fill({ path, history, count: warmUpJobs });
  const backend = openQueue({ path, history });
  await drainAll(backend, warmUpJobs, concurrency);
  await backend.close();
}

/** Jobs per second of one worker: until the queue is empty, or with `only` until `count` jobs are settled. */
async function drainAll(
  backend: QueueBackend,
  count: number,
  concurrency: number,
  only = false,
): Promise<number> {
  const { app } = benchApp();
  globalThis.gc?.();
  const startedAt = performance.now();
  const until = only ? { maxJobs: count } : { untilIdle: true };
  const { counts } = await startWorker(app, { backend, concurrency, ...until }).done;
  const durationMs = performance.now() - startedAt;
  if (counts.acked !== count) throw new Error(`Expected ${count} jobs to be acked, got ${counts.acked}.`);
  return perSecond(count, durationMs);
}

export interface DrainInput extends QueueInput {
  readonly folder: string;
  readonly count: number;
  readonly concurrency: number;
  /** The queue holds more than `count` jobs, and the rest is to stay. */
  readonly only?: boolean;
}

/** Jobs per second. The queue has been filled by another process. */
export async function drain(input: DrainInput): Promise<number> {
  await warmUp(input.folder, input.concurrency, input.history ?? false);
  const backend = openQueue(input);
  const rate = await drainAll(backend, input.count, input.concurrency, input.only);
  await backend.close();
  return rate;
}

/** One of several workers on a file; says when it began and ended on the machine's clock. */
export async function drainTogether(input: DrainInput, host: Host) {
  await warmUp(input.folder, input.concurrency, false);
  const { app } = benchApp();
  const backend = openQueue(input);
  await host.waitForGo();
  const startedAt = nowMs();
  const { counts } = await startWorker(app, { backend, concurrency: input.concurrency, untilIdle: true })
    .done;
  const endedAt = nowMs();
  await backend.close();
  return { acked: counts.acked, startedAt, endedAt };
}

/** Resident megabytes of a process that has only worked. No warm-up: it would add memory of its own. */
export async function residentMb(input: DrainInput): Promise<number> {
  const backend = openQueue(input);
  await drainAll(backend, input.count, input.concurrency);
  await backend.close();
  return process.memoryUsage.rss() / 1024 / 1024;
}

/** So few that no garbage is collected meanwhile: their objects fit into the young generation. */
const garbageJobs = 500;

/** What a job costs with a backend that costs next to nothing. */
export async function coreAttempt({
  count,
  concurrency,
}: {
  count: number;
  concurrency: number;
}): Promise<{ us: number; garbageBytes: number }> {
  const { app, job } = benchApp();
  const backend = memory({ retention: { completedMs: 0 } });
  const client = connect(app, backend);
  /** How much `read` grows while a worker drains this number of jobs. */
  const growth = async (jobs: number, read: () => number): Promise<number> => {
    await enqueueAll(client, job, jobs);
    globalThis.gc?.();
    const before = read();
    await startWorker(app, { backend, concurrency, untilIdle: true }).done;
    return read() - before;
  };
  const cpuUs = (): number => {
    const { user, system } = process.cpuUsage();
    return user + system;
  };
  const times: number[] = [];
  for (let i = 0; i < 10; i++) times.push((await growth(count, cpuUs)) / count);
  const us = median(times.slice(5)); // compiled by then
  const heapBytes = (): number => process.memoryUsage().heapUsed;
  // The difference, because a worker takes some memory to start.
  const garbage: number[] = [];
  for (let i = 0; i < 20; i++) {
    const few = await growth(garbageJobs, heapBytes);
    garbage.push(((await growth(2 * garbageJobs, heapBytes)) - few) / garbageJobs);
  }
  return { us, garbageBytes: median(garbage) };
}

interface SendInput extends QueueInput {
  readonly folder: string;
  readonly count: number;
}

export async function bulk(input: SendInput): Promise<number> {
  await fill({ path: join(input.folder, 'warm-up.db'), count: warmUpJobs });
  const { app, job } = benchApp();
  const backend = openQueue(input);
  const client = connect(app, backend);
  globalThis.gc?.();
  const startedAt = performance.now();
  await enqueueAll(client, job, input.count);
  const rate = perSecond(input.count, performance.now() - startedAt);
  await backend.close();
  return rate;
}

export async function single(input: SendInput): Promise<number> {
  const { app, job } = benchApp();
  const send = async (path: string, count: number): Promise<number> => {
    const backend = openQueue({ ...input, path });
    const client = connect(app, backend);
    const startedAt = performance.now();
    for (let n = 0; n < count; n++) await client.enqueue(job, payload(n));
    const rate = perSecond(count, performance.now() - startedAt);
    await backend.close();
    return rate;
  };
  await send(join(input.folder, 'warm-up.db'), warmUpJobs);
  return send(input.path, input.count);
}

/** An idle worker; answers with the milliseconds from `enqueue` to the handler, in the order of arrival. */
export async function latencyWorker({ path, samples }: { path: string; samples: number }, host: Host) {
  const latencies: number[] = [];
  const all = Promise.withResolvers<void>();
  const { app } = benchApp(({ at }) => {
    if (latencies.push(nowMs() - at) === samples) all.resolve();
  });
  const backend = openQueue({ path });
  const worker = startWorker(app, { backend });
  await host.waitForGo();
  await all.promise;
  await worker.stop();
  await backend.close();
  return latencies;
}

/** Spaced so that the worker is idle again, and not in step with its polling. */
export async function latencyProducer({ path, samples }: { path: string; samples: number }): Promise<void> {
  const { app, job } = benchApp();
  const backend = openQueue({ path });
  await sendSpaced(samples, async (n) => connect(app, backend).enqueue(job, payload(n, nowMs())));
  await backend.close();
}

export async function latencyWithin({ path, samples }: { path: string; samples: number }): Promise<number[]> {
  const latencies: number[] = [];
  const { app, job } = benchApp(({ at }) => latencies.push(nowMs() - at));
  const backend = openQueue({ path });
  const client = connect(app, backend);
  const worker = startWorker(app, { backend });
  await sendSpaced(samples, async (n) => client.enqueue(job, payload(n, nowMs())));
  await worker.stop();
  await backend.close();
  if (latencies.length !== samples) throw new Error(`Expected ${samples} jobs, ${latencies.length} ran.`);
  return latencies;
}

async function sendSpaced(samples: number, send: (n: number) => Promise<unknown>): Promise<void> {
  for (let n = 0; n < samples; n++) {
    await new Promise((resolve) => setTimeout(resolve, 8 + ((n * 7) % 11)));
    await send(n);
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
}
