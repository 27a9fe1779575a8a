/** How fast a redrive goes, under a clock of the test's own. */

import { describe, expect, it } from 'vitest';
import { paceOf } from '../../../core/operations/bulk.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const quiet = new AbortController().signal;

describe('paceOf()', () => {
  it('sends a page at once without a rate, or all that lies in a queue without pages', async () => {
    const pace = paceOf(undefined, { clock: createVirtualClock(), signal: quiet });
    expect(pace.sizeOf(null)).toBe(500);
    expect(pace.sizeOf(20_000)).toBe(Infinity);
    await pace.next(500);
  });

  it('sends so many per second', async () => {
    const clock = createVirtualClock();
    const pace = paceOf(4, { clock, signal: quiet });
    expect(pace.sizeOf(null)).toBe(4);
    await pace.next(4);
    let sent = 1;
    const rest = (async () => {
      for (const size of [4, 2]) {
        await pace.next(size);
        sent++;
      }
    })();
    for (const [passedMs, expected] of [
      [999, 1],
      [1, 2],
      [999, 2],
      [1, 3],
    ] as const) {
      clock.advance(passedMs);
      await new Promise(setImmediate);
      expect(sent).toBe(expected);
    }
    await rest;
  });

  it('sends one at a time for less than one a second', async () => {
    const clock = createVirtualClock();
    const pace = paceOf(0.5, { clock, signal: quiet });
    expect(pace.sizeOf(null)).toBe(1);
    await pace.next(1);
    let sent = false;
    const next = pace.next(1).then(() => {
      sent = true;
    });
    clock.advance(1_999);
    await new Promise(setImmediate);
    expect(sent).toBe(false);
    clock.advance(1);
    await next;
  });

  it('passes through a long queue 200 times at most', () => {
    const pace = paceOf(1, { clock: createVirtualClock(), signal: quiet });
    expect(pace.sizeOf(2_000)).toBe(10);
    expect(pace.sizeOf(20)).toBe(1);
  });

  it('waits no longer when somebody ends it', async () => {
    const stop = new AbortController();
    const pace = paceOf(1, { clock: createVirtualClock(), signal: stop.signal });
    await pace.next(1);
    const waiting = pace.next(1);
    stop.abort();
    await waiting;
    await pace.next(1);
  });
});
