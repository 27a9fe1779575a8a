/** Shared by all simulations: events and counts, and the end: by a signal, by an error, or when no jobs are left. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { aborted, pause } from '../waiting.ts';

export interface Around {
  /** Environment variables for the functions, in addition to those of the simulation. */
  readonly env?: Readonly<Record<string, string>>;
  /** Enqueues example jobs. The simulation is not idle before this has ended. */
  play?(signal: AbortSignal): Promise<void>;
  stop?(): Promise<void>;
}

export type SimulationEvent =
  /** Lines to show at the start, each with a subject and a sentence. */
  | { readonly type: 'ready'; readonly lines: readonly (readonly [what: string, text: string])[] }
  | {
      readonly type: 'invoked';
      readonly queue: string;
      readonly messages: number;
      /** How many of these messages were delivered before. */
      readonly again: number;
    }
  | {
      readonly type: 'answered';
      readonly queue: string;
      readonly done: number;
      readonly failed: number;
      readonly durationMs: number;
    }
  /** The invocation failed, so the whole batch will be delivered again. */
  | {
      readonly type: 'failed';
      readonly queue: string;
      readonly messages: number;
      readonly error: Error;
      readonly durationMs: number;
    }
  /** `enqueued`: number of jobs, `null` = unknown. */
  | { readonly type: 'ticked'; readonly enqueued: number | null; readonly error: Error | null }
  | { readonly type: 'requested'; readonly method: string; readonly path: string; readonly status: number }
  | { readonly type: 'printed'; readonly line: string }
  /** The broker moved messages to the dead letters, because they were delivered too often. */
  | { readonly type: 'redriven'; readonly queue: string; readonly messages: number }
  /** Lambda detected a recursive loop and moved the messages to the dead letters. */
  | { readonly type: 'stopped'; readonly queue: string; readonly messages: number }
  | { readonly type: 'stopping'; readonly running: number };

export interface SimulationSummary {
  readonly reason: 'idle' | 'signal';
  readonly invocations: number;
  /** Messages given to the worker, including repeated deliveries. */
  readonly messages: number;
  readonly done: number;
  /** Messages reported in `batchItemFailures`, if the service has such a report. */
  readonly reportedFailed?: number;
  /** Invocations that failed as a whole. */
  readonly failedInvocations: number;
  readonly redriven: number;
  readonly ticks: number;
  /** HTTP requests, if HTTP is simulated. */
  readonly requests?: number;
  /** By queue, at the end. */
  readonly queues: Readonly<Record<string, QueueCounts>>;
  readonly durationMs: number;
}

export interface QueueCounts {
  readonly ready: number;
  readonly delayed: number;
  /** Received and not deleted: running, or waiting for a retry. */
  readonly hidden: number;
  readonly dead: number;
}

type Counts = {
  -readonly [K in keyof SimulationSummary as SimulationSummary[K] extends number | undefined
    ? K
    : never]: SimulationSummary[K];
};

/** Passes events to `on`, and counts those that have a member in `counts`. */
function counting(
  counts: Omit<Counts, 'durationMs'>,
  on: (event: SimulationEvent) => void,
): (event: SimulationEvent) => void {
  return (event) => {
    if (event.type === 'invoked') {
      counts.invocations++;
      counts.messages += event.messages;
    } else if (event.type === 'answered') {
      counts.done += event.done;
      if (counts.reportedFailed !== undefined) counts.reportedFailed += event.failed;
    } else if (event.type === 'failed') counts.failedInvocations++;
    else if (event.type === 'redriven' || event.type === 'stopped') counts.redriven += event.messages;
    else if (event.type === 'ticked') counts.ticks++;
    else if (event.type === 'requested' && counts.requests !== undefined) counts.requests++;
    on(event);
  };
}

const lookEveryMs = 250;
/** Brokers count approximately, and a job may be about to enqueue another one. So idle means idle this often in a row. */
const idleLooks = 3;

async function untilIdle(idle: () => Promise<boolean>, stopping: AbortSignal): Promise<void> {
  for (let looks = 0; looks < idleLooks && !stopping.aborted; ) {
    await pause(lookEveryMs, stopping);
    looks = (await idle()) ? looks + 1 : 0;
  }
}

/** The environment of a simulation. */
export interface Frame {
  /** A temporary folder. */
  readonly folder: string;
  /** Aborts when the simulation must end, for any reason. */
  readonly stopping: AbortSignal;
  on(event: SimulationEvent): void;
  /** Registers a function to call at the end, even after a failure. The last one registered is called first. */
  later(clean: () => unknown): void;
  /** Ends the simulation, which rejects with the first such error. */
  broken(error: unknown): void;
}

/** A simulation that has started. */
export interface Activity {
  play?(signal: AbortSignal): Promise<void> | undefined;
  /** How long `terminate` and the running calls may take together after a stop. */
  readonly drainMs: number;
  idle(): boolean | Promise<boolean>;
  /** Number of running calls. */
  running(): number;
  /** Parts that end by themselves after a stop. */
  readonly parts: readonly Promise<unknown>[];
  terminate?(): Promise<unknown>;
  queues(): SimulationSummary['queues'] | Promise<SimulationSummary['queues']>;
}

/** Starts a simulation, runs `play`, waits for the end and lets running calls finish. Rejects with the first error. */
export async function simulated(
  { name, exitWhenIdle, on: tell }: { name: string; exitWhenIdle: boolean; on(event: SimulationEvent): void },
  counted: Pick<SimulationSummary, 'reportedFailed' | 'requests'>,
  outer: AbortSignal,
  start: (frame: Frame) => Promise<Activity>,
): Promise<SimulationSummary> {
  const startedAt = Date.now();
  const counts = {
    invocations: 0,
    messages: 0,
    done: 0,
    failedInvocations: 0,
    redriven: 0,
    ticks: 0,
    ...counted,
  };
  const on = counting(counts, tell);
  const cleanUp: (() => unknown)[] = [];
  const controller = new AbortController();
  const stopping = AbortSignal.any([outer, controller.signal]);
  let failure: unknown = null;
  const broken = (error: unknown): void => {
    failure ??= error;
    controller.abort();
  };
  const folder = await mkdtemp(join(tmpdir(), `longshore-${name}-`));
  cleanUp.push(() => rm(folder, { recursive: true, force: true }));
  try {
    const activity = await start({ folder, stopping, on, broken, later: (clean) => cleanUp.push(clean) });
    let played = false;
    const playing = Promise.resolve(activity.play?.(stopping)).then(() => {
      played = true;
    }, broken);
    if (exitWhenIdle) await untilIdle(async () => played && activity.idle(), stopping).catch(broken);
    else await aborted(stopping);
    const reason = stopping.aborted ? 'signal' : 'idle';
    controller.abort();
    if (reason === 'signal' && failure === null) on({ type: 'stopping', running: activity.running() });
    const ended = Promise.all([...activity.parts, playing, activity.terminate?.()]);
    if (failure === null) await Promise.race([ended, sleep(activity.drainMs, null, { ref: false })]);
    if (failure !== null) throw failure;
    return { reason, ...counts, queues: await activity.queues(), durationMs: Date.now() - startedAt };
  } finally {
    for (const clean of cleanUp.reverse()) await clean();
  }
}
