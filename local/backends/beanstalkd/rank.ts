/**
 * Order and time in beanstalkd's numbers. Its priority is a number of 32 bits, smallest first, and jobs of one priority go by
 * arrival; so the priority of a job is its rank: the second it becomes ready, later by an hour per level.
 */

const secondMs = 1_000;
/** Seconds are counted from here: ranks last until 2156. */
const epochMs = Date.UTC(2020, 0, 1);
const largest = 2 ** 32 - 1;

const within = (n: number): number => Math.min(largest, Math.max(0, n));

export function rankOf(readyAtMs: number, level: number, ageingMs: number): number {
  return within(Math.floor((readyAtMs - epochMs + level * ageingMs) / secondMs));
}

/** When a job of this rank became ready; `null` when another program has given it a number of its own. */
export function readyAtOf(rank: number, level: number, ageingMs: number): number | null {
  const readyAtMs = epochMs + rank * secondMs - level * ageingMs;
  return readyAtMs > epochMs ? readyAtMs : null;
}

/** Never early: a part of a second is a whole one. */
export const secondsOf = (ms: number): number => within(Math.ceil(ms / secondMs));
