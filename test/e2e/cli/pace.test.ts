/** How fast a redrive goes, under a clock of the test's own. */

import { describe, expect, it } from 'vitest';
import { paceOf } from '../../../local/cli/commands/select-dead-letters.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const ids = Array.from({ length: 10 }, (_, i) => `id-${i}`);
const quiet = new AbortController().signal;

describe('paceOf()', () => {
  it('sends everything at once, without a rate', async () => {
    const pace = paceOf(undefined, 10, { clock: createVirtualClock(), signal: quiet });
    expect(pace.piecesOf(ids)).toEqual([ids]);
    await pace.next(10);
  });

  it('sends the oldest first, so many per second', async () => {
    const clock = createVirtualClock();
    const pace = paceOf(4, 10, { clock, signal: quiet });
    const pieces = pace.piecesOf(ids);
    expect(pieces.map((piece) => piece.length)).toEqual([4, 4, 2]);
    expect(pieces.flat()).toEqual(ids.toReversed());
    await pace.next(4);
    let sent = 1;
    const rest = (async () => {
      for (const piece of pieces.slice(1)) {
        await pace.next(piece.length);
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

  it('passes through a long queue 200 times at most, and keeps the rate', async () => {
    const clock = createVirtualClock();
    const pace = paceOf(1, 2_000, { clock, signal: quiet });
    const [first] = pace.piecesOf(ids);
    expect(first).toHaveLength(10);
    await pace.next(10);
    let sent = false;
    const next = pace.next(10).then(() => {
      sent = true;
    });
    clock.advance(9_999);
    await new Promise(setImmediate);
    expect(sent).toBe(false);
    clock.advance(1);
    await next;
  });

  it('waits no longer when somebody ends it', async () => {
    const stop = new AbortController();
    const pace = paceOf(1, 10, { clock: createVirtualClock(), signal: stop.signal });
    await pace.next(1);
    const waiting = pace.next(1);
    stop.abort();
    await waiting;
    await pace.next(1);
  });
});
