/** What every simulation shares: its events and their counts, and how it ends: by its signal, by what breaks, or when nothing is left to do. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { aborted, pause } from '../waiting.ts';

export interface Around {
  /** Set for the functions, beside what the simulation itself sets. */
  readonly env?: Readonly<Record<string, string>>;
  /** Enqueues something to watch; the simulation is not idle before it has ended. */
  play?(signal: AbortSignal): Promise<void>;
  stop?(): Promise<void>;
}

export type SimulationEvent =
  /** Shown at the start: lines of a subject and a sentence. */
  | { readonly type: 'ready'; readonly lines: readonly (readonly [what: string, text: string])[] }
  | {
      readonly type: 'invoked';
      readonly queue: string;
      readonly messages: number;
      /** Of these, delivered before. */
      readonly again: number;
    }
  | {
      readonly type: 'answered';
      readonly queue: string;
      readonly done: number;
      readonly failed: number;
      readonly durationMs: number;
    }
  /** The whole batch comes back. */
  | {
      readonly type: 'failed';
      readonly queue: string;
      readonly messages: number;
      readonly error: Error;
      readonly durationMs: number;
    }
  /** `enqueued`: `null` = it does not say. */
  | { readonly type: 'ticked'; readonly enqueued: number | null; readonly error: Error | null }
  | { readonly type: 'requested'; readonly method: string; readonly path: string; readonly status: number }
  | { readonly type: 'printed'; readonly line: string }
  /** The broker has moved messages by itself, because they were delivered too often. */
  | { readonly type: 'redriven'; readonly queue: string; readonly messages: number }
  /** Lambda has taken them for a loop, and moved them to the dead letters. */
  | { readonly type: 'stopped'; readonly queue: string; readonly messages: number }
  | { readonly type: 'stopping'; readonly running: number };

export interface SimulationSummary {
  readonly reason: 'idle' | 'signal';
  readonly invocations: number;
  /** Messages given to the worker, those that came again included. */
  readonly messages: number;
  readonly done: number;
  /** Reported in `batchItemFailures`, where there is such a report. */
  readonly reportedFailed?: number;
  /** Invocations that failed as a whole. */
  readonly failedInvocations: number;
  readonly redriven: number;
  readonly ticks: number;
  /** Over HTTP, where it is simulated. */
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

/** Counts what happens on its way to `on`: only what `counts` has is counted. */
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
/** Brokers count approximately, and a job may be about to enqueue another one. So idle means idle so often in a row. */
const idleLooks = 3;

async function untilIdle(idle: () => Promise<boolean>, stopping: AbortSignal): Promise<void> {
  for (let looks = 0; looks < idleLooks && !stopping.aborted; ) {
    await pause(lookEveryMs, stopping);
    looks = (await idle()) ? looks + 1 : 0;
  }
}

/** What a simulation is given. */
export interface Frame {
  /** Temporary. */
  readonly folder: string;
  /** Aborts when the simulation shall end, for whatever reason. */
  readonly stopping: AbortSignal;
  on(event: SimulationEvent): void;
  /** Is called at the end, also of a simulation that fails, the last first. */
  later(clean: () => unknown): void;
  /** Ends it, because it makes no sense to go on. It rejects with the first such error. */
  broken(error: unknown): void;
}

/** A simulation that has started. */
export interface Activity {
  play?(signal: AbortSignal): Promise<void> | undefined;
  /** How long `terminate` and the calls under way may take together after a stop. */
  readonly drainMs: number;
  idle(): boolean | Promise<boolean>;
  /** Calls under way. */
  running(): number;
  /** What ends by itself after a stop. */
  readonly parts: readonly Promise<unknown>[];
  terminate?(): Promise<unknown>;
  queues(): SimulationSummary['queues'] | Promise<SimulationSummary['queues']>;
}

/** Starts a simulation, plays, waits for the end and lets what is under way end. Rejects with the first thing that breaks it. */
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
