/** How a simulation ends: by its signal, by what breaks, or when nothing is left to do. */

import { setTimeout as sleep } from 'node:timers/promises';
import { aborted, pause } from '../waiting.ts';
import type { SimulationEvent, SimulationSummary } from './events.ts';

export type CleanUp = (() => unknown)[];

/** `run`, which afterwards, also when it fails, calls the functions it has put on the list, the last first. */
export function cleaningUp<Args extends readonly unknown[], T>(
  run: (cleanUp: CleanUp, ...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  return async (...args) => {
    const cleanUp: CleanUp = [];
    try {
      return await run(cleanUp, ...args);
    } finally {
      for (const clean of cleanUp.reverse()) await clean();
    }
  };
}

/** @param outer stops it too */
export function endingAt(outer: AbortSignal) {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  let failure: unknown = null;
  return {
    signal: AbortSignal.any([outer, controller.signal]),
    stop,
    /** Stops, because it makes no sense to go on. */
    broken(error: unknown): void {
      failure ??= error;
      stop();
    },
    /** What it was broken by first; `null` = it is not. */
    get failure(): unknown {
      return failure;
    },
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

interface Activity {
  play(signal: AbortSignal): Promise<void> | undefined;
  readonly exitWhenIdle: boolean;
  /** How long `terminate` and the calls under way may take together after a stop. */
  readonly drainMs: number;
  idle(): boolean | Promise<boolean>;
  /** Calls under way. */
  running(): number;
  /** What ends by itself after a stop. */
  readonly parts: readonly Promise<unknown>[];
  terminate?(): Promise<unknown>;
  on(event: SimulationEvent): void;
}

/** Plays, waits for the end and lets what is under way end. Rejects with what it was broken by. */
export async function untilEnded(
  ending: ReturnType<typeof endingAt>,
  activity: Activity,
): Promise<SimulationSummary['reason']> {
  const { signal: stopping, broken } = ending;
  let played = false;
  const playing = Promise.resolve(activity.play(stopping)).then(() => {
    played = true;
  }, broken);
  if (activity.exitWhenIdle) await untilIdle(async () => played && activity.idle(), stopping).catch(broken);
  else await aborted(stopping);
  const reason = stopping.aborted ? 'signal' : 'idle';
  ending.stop();
  if (reason === 'signal' && ending.failure === null)
    activity.on({ type: 'stopping', running: activity.running() });
  const ended = Promise.all([...activity.parts, playing, activity.terminate?.()]);
  if (ending.failure === null) await Promise.race([ended, sleep(activity.drainMs, null, { ref: false })]);
  if (ending.failure !== null) throw ending.failure;
  return reason;
}
