/** How a simulation ends: by its signal, by what breaks, or when nothing is left to do. */

import { pause } from '../waiting.ts';

export type CleanUp = (() => unknown)[];

/** After `run`, also when it fails, calls the functions it has put on the list, the last first. */
export async function cleaningUp<T>(run: (cleanUp: CleanUp) => Promise<T>): Promise<T> {
  const cleanUp: CleanUp = [];
  try {
    return await run(cleanUp);
  } finally {
    for (const clean of cleanUp.reverse()) await clean();
  }
}

export interface Ending {
  /** Aborted when it is to stop. */
  readonly signal: AbortSignal;
  stop(): void;
  /** Stops, because it makes no sense to go on. */
  broken(error: unknown): void;
  /** The first one it was broken by; `null` = it is not. */
  readonly failure: unknown;
}

/** @param outer stops it too */
export function endingAt(outer: AbortSignal, cleanUp: CleanUp): Ending {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  let failure: unknown = null;
  outer.addEventListener('abort', stop);
  cleanUp.push(() => outer.removeEventListener('abort', stop));
  if (outer.aborted) stop();
  return {
    signal: controller.signal,
    stop,
    broken(error) {
      failure ??= error;
      stop();
    },
    get failure() {
      return failure;
    },
  };
}

const lookEveryMs = 250;
/** Brokers count approximately, and a job may be about to enqueue another one. So idle means idle so often in a row. */
const idleLooks = 3;

export async function untilIdle(
  idle: () => boolean | Promise<boolean>,
  stopping: AbortSignal,
): Promise<void> {
  for (let looks = 0; looks < idleLooks && !stopping.aborted; ) {
    await pause(lookEveryMs, stopping);
    looks = (await idle()) ? looks + 1 : 0;
  }
}
