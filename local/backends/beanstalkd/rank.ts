/**
 * Order and time in beanstalkd's numbers. Its priority has 32 bits, the smallest comes first, and among equals the oldest.
 * Longshore uses it as a rank: the second in which a job becomes ready, an hour later per priority level.
 */

const secondMs = 1_000;
/** Ranks count seconds from here, and last until 2156. */
const epochMs = Date.UTC(2020, 0, 1);
const largest = 2 ** 32 - 1;

const within = (n: number): number => Math.min(largest, Math.max(0, n));

export function rankOf(readyAtMs: number, level: number, ageingMs: number): number {
  return within(Math.floor((readyAtMs - epochMs + level * ageingMs) / secondMs));
}

/** When a job of this rank became ready; `null` for a number that another program has chosen. */
export function readyAtOf(rank: number, level: number, ageingMs: number): number | null {
  const readyAtMs = epochMs + rank * secondMs - level * ageingMs;
  return readyAtMs > epochMs ? readyAtMs : null;
}

/** Rounded up, so that no job is early. */
export const secondsOf = (ms: number): number => within(Math.ceil(ms / secondMs));
