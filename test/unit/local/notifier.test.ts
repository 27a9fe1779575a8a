import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createNotifier } from '../../../local/backends/shared/notifier.ts';

const gapMs = 5;

describe('a notifier', () => {
  const rings: string[][] = [];
  let notifier: ReturnType<typeof createNotifier>;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    rings.length = 0;
    notifier = createNotifier(gapMs, async (names) => rings.push([...names]));
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** One call that ends well; returns whether it rang itself. */
  function call(name: string): boolean {
    const due = notifier.mayNotify(name);
    if (!due) notifier.owe(name);
    return due;
  }

  it('rings with the first call, and once for all that come in the gap', async () => {
    expect(call('a')).toBe(true);
    expect([call('a'), call('a'), call('b')]).toEqual([false, false, true]);
    expect(rings).toEqual([]);
    await vi.advanceTimersByTimeAsync(gapMs);
    expect(rings).toEqual([['a']]);
  });

  it('needs none of its own where calls go on: the next call that may notify does so for what is owed', async () => {
    let own = 0;
    for (let at = 0; at < 20 * gapMs; at++) {
      if (call('a')) own++;
      await vi.advanceTimersByTimeAsync(1);
    }
    expect([own, rings]).toEqual([20, []]);
    await vi.advanceTimersByTimeAsync(gapMs);
    expect(rings).toEqual([['a']]); // the last gap's
  });

  it('keeps what one queue is owed while another rings', async () => {
    call('a');
    call('a');
    await vi.advanceTimersByTimeAsync(2);
    call('b');
    await vi.advanceTimersByTimeAsync(gapMs);
    expect(rings).toEqual([['a']]);
  });

  it('rings what is owed when it closes, and takes no harm from a failure', async () => {
    notifier = createNotifier(gapMs, () => Promise.reject(new Error('away')));
    call('a');
    call('a');
    await notifier.close();
    await notifier.close();
  });
});
