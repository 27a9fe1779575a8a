import type { Clock } from './clock.ts';

/** `npm exec` forwards a Ctrl-C that the terminal has already delivered: two signals within this time are one key press. */
const sameKeyPressMs = 250;

/** Returns a function to call at each signal of this process: `first`, a `copy` of that one, or a `second` one, which ends the process. */
export function signalCounter(clock: Pick<Clock, 'now'>): () => 'first' | 'copy' | 'second' {
  let firstAt: number | null = null;
  return () => {
    const now = clock.now();
    if (firstAt !== null) return now - firstAt > sameKeyPressMs ? 'second' : 'copy';
    firstAt = now;
    return 'first';
  };
}
