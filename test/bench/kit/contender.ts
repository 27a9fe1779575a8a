/**
 * One shape for everybody who takes part in a comparison over a network: Longshore, its peers and plain SQL. So the
 * tasks below treat them alike, and what makes a contender fast or slow is in a file of its own.
 */

import { nowMs } from './app.ts';
import { type Cpu, createStopwatch, type Stopwatch } from './stopwatch.ts';
import { type Host, perSecond, warmUpJobs } from './task.ts';

/** Where a contender keeps its jobs. Tables are made by whoever opens a place first. */
export interface Place {
  readonly url: string;
  readonly schema: string;
  /** Settled jobs are kept for a day; else they are deleted, where the contender can do that. */
  readonly history?: boolean;
  /** The server's main process, if it runs on this machine: its CPU time is then reported. */
  readonly serverPid: number | null;
}

export interface WorkOrder {
  readonly concurrency: number;
  /** Jobs to settle. */
  readonly count: number;
  /** Stop there, although more are waiting. No peer is asked that. */
  readonly only: boolean;
  /** Others drain the same queue: stop when it is empty, whoever emptied it. */
  readonly together: boolean;
}

export interface Opened {
  /** @param at handed to the handler, on the clock of `nowMs()` */
  sendOne(n: number, at: number): Promise<unknown>;
  sendMany(from: number, count: number, delayMs: number): Promise<unknown>;
  /** Starts the watch when it could claim its first job, stops it when the last one is settled; returns how many it ran. */
  work(order: WorkOrder, watch: Stopwatch): Promise<number>;
  /** An idle worker that is told of new jobs; the function returned stops it. */
  listen(handle: (at: number) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export type Contender = (place: Place, host: Host) => Promise<Opened>;

/** Reads counters of the server. Called while no contender is connected; returns a function that reads how much they have grown. */
export type CountServerWork = (place: Place) => Promise<() => Promise<Readonly<Record<string, number>>>>;

export interface SendInput {
  readonly place: Place;
  readonly count: number;
  /** Jobs per call: 1, or as many as one statement should carry. */
  readonly chunk: number;
  /** Calls under way at the same time. */
  readonly inFlight: number;
  readonly delayMs?: number;
  /** Nobody looks at the result. */
  readonly untimed?: boolean;
}

export interface DrainInput extends Partial<WorkOrder> {
  readonly place: Place;
  readonly concurrency: number;
  readonly count: number;
  /** No warm-up, which would need memory of its own. */
  readonly cold?: boolean;
  /** Report what the server counts. Nobody else may use it meanwhile. */
  readonly counted?: boolean;
}

export interface Sent extends Cpu {
  readonly perSecond: number;
}

export interface Drained extends Cpu {
  /** Jobs that this process ran. */
  readonly ran: number;
  /** On the clock of `nowMs()`. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Resident memory of the process afterwards. */
  readonly residentMb: number;
  /** Per job, by the name of the server's counter, from before the contender connects until it has disconnected. */
  readonly counted: Readonly<Record<string, number>>;
}

/** As many as are measured: after 2,000 a worker still takes half as much CPU time again as after 20,000. */
const warmUpDrained = 20_000;
/** A sender is compiled in full only after some thousand calls; a web app has done with that long ago. */
const warmUpSends = 10_000;

export async function send(open: Contender, input: SendInput, host: Host): Promise<Sent> {
  const { place, count, chunk, inFlight, delayMs = 0, untimed = false } = input;
  const sendAll = async ({ sendOne, sendMany }: Opened, total: number): Promise<void> => {
    let next = 0;
    const sender = async (): Promise<void> => {
      while (next < total) {
        const from = next;
        next += chunk;
        await (chunk === 1 ? sendOne(from, 0) : sendMany(from, Math.min(chunk, total - from), delayMs));
      }
    };
    await Promise.all(Array.from({ length: inFlight }, sender));
  };
  if (!untimed) await elsewhere(open, place, host, (opened) => sendAll(opened, warmUpSends));
  const opened = await open(place, host);
  const watch = createStopwatch(count, place.serverPid);
  globalThis.gc?.();
  watch.start();
  await sendAll(opened, count);
  watch.stop();
  await opened.close();
  const { startedAt, endedAt, ...cpu } = watch.read();
  return { perSecond: perSecond(count, endedAt - startedAt), ...cpu };
}

export async function drain(
  open: Contender,
  input: DrainInput,
  host: Host,
  countServerWork?: CountServerWork,
): Promise<Drained> {
  const { place, concurrency, count, only = false, together = false, cold = false } = input;
  if (!cold) await warmUp(open, place, host, concurrency, warmUpDrained);
  const growth = input.counted ? await countServerWork?.(place) : undefined;
  const opened = await open(place, host);
  const watch = createStopwatch(count, place.serverPid);
  globalThis.gc?.();
  if (together) await host.waitForGo();
  const ran = await opened.work({ concurrency, count, only, together }, watch);
  const residentMb = process.memoryUsage.rss() / 1024 / 1024;
  await opened.close();
  if (!together && ran !== count) throw new Error(`Expected ${count} jobs to be run, got ${ran}.`);
  const counted = Object.entries((await growth?.()) ?? {}).map(([name, much]) => [name, much / ran] as const);
  return { ran, residentMb, ...watch.read(), counted: Object.fromEntries(counted) };
}

async function warmUp(
  open: Contender,
  place: Place,
  host: Host,
  concurrency: number,
  count: number,
): Promise<void> {
  await elsewhere(open, place, host, async (opened) => {
    for (let sent = 0; sent < count; sent += 1_000) await opened.sendMany(sent, 1_000, 0);
    await opened.work({ concurrency, count, only: false, together: false }, createStopwatch(count, null));
  });
}

/** Compiles what is measured afterwards, on tables that nobody else sees. */
async function elsewhere(
  open: Contender,
  place: Place,
  host: Host,
  use: (opened: Opened) => Promise<void>,
): Promise<void> {
  const opened = await open({ ...place, schema: `${place.schema}_warm_${process.pid}` }, host);
  await use(opened);
  await opened.close();
}

export interface LatencyInput {
  readonly place: Place;
  readonly samples: number;
}

/**
 * The first ones find connections, plans and listeners that are not ready, and what only a worker that waits runs is not compiled
 * before: the first 300 take a tenth longer than those that follow.
 */
const dropped = 300;

/** Milliseconds from the call that sends to the first line of the handler, in the order of arrival. */
export async function receive(
  open: Contender,
  { place, samples }: LatencyInput,
  host: Host,
): Promise<number[]> {
  const latencies: number[] = [];
  const all = Promise.withResolvers<void>();
  await warmUp(open, place, host, 1, warmUpJobs);
  const opened = await open(place, host);
  const stop = await opened.listen((at) => {
    if (latencies.push(nowMs() - at) === samples + dropped) all.resolve();
  });
  await host.waitForGo();
  await all.promise;
  await stop();
  await opened.close();
  return latencies.slice(dropped);
}

/** Spaced so that the worker is idle again, and not in step with any polling. */
export async function sendSpaced(
  open: Contender,
  { place, samples }: LatencyInput,
  host: Host,
): Promise<void> {
  await elsewhere(open, place, host, async ({ sendOne }) => {
    for (let n = 0; n < warmUpJobs; n++) await sendOne(n, 0);
  });
  const opened = await open(place, host);
  await host.waitForGo();
  for (let n = 0; n < samples + dropped; n++) {
    await new Promise((resolve) => setTimeout(resolve, 8 + ((n * 7) % 11)));
    await opened.sendOne(n, nowMs());
  }
  await opened.close();
}

/** What the child processes of a suite can be asked to do. */
export function tasksOf<Name extends string>(
  contenders: Readonly<Record<Name, Contender>>,
  countServerWork?: CountServerWork,
) {
  const of =
    <Input, Result>(
      task: (open: Contender, input: Input, host: Host, count?: CountServerWork) => Promise<Result>,
    ) =>
    (input: Input & { readonly who: Name }, host: Host): Promise<Result> =>
      task(contenders[input.who], input, host, countServerWork);
  return { drain: of(drain), receive: of(receive), send: of(send), sendSpaced: of(sendSpaced) };
}
