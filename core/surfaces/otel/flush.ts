/** Sends telemetry before a function is frozen. */

import { checkInteger } from '../../base/checks.ts';
import { type Clock, systemClock, within } from '../../base/clock.ts';
import { warnOnce } from './warn-once.ts';

export interface FlushingOptions {
  /** Longest wait per invocation, in ms. @default 1_000 */
  readonly withinMs?: number;
  readonly testing?: { readonly clock?: Clock };
}

/**
 * Wraps a function so that each invocation waits for `flush`, for at most `withinMs`. The first error of `flush` is a warning of the
 * process; the result does not change. Example: `flushing(worker, () => provider.forceFlush())`.
 */
export function flushing<Args extends unknown[], Result>(
  handler: (...args: Args) => Promise<Result>,
  flush: () => Promise<unknown>,
  { withinMs = 1_000, testing: { clock = systemClock } = {} }: FlushingOptions = {},
): (...args: Args) => Promise<Result> {
  checkInteger('withinMs of flushing()', withinMs, 1);
  const tell = warnOnce('Telemetry was not flushed at the end of an invocation');
  const late = (): never => {
    throw new Error(`no end within ${withinMs} ms`);
  };
  return async (...args) => {
    try {
      return await handler(...args);
    } finally {
      await within(clock, withinMs, new Promise((resolve) => resolve(flush())), late).catch(tell);
    }
  };
}
