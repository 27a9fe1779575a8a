/**
 * When to tell waiting workers of new jobs. To tell costs something (a NOTIFY serialises the commits of the whole database), so
 * each queue is rung at most once per gap: by the first call, and once more at the end of the gap for all that came in it.
 */

export interface Ringer {
  /** Whether the call at hand shall ring, for itself and for all that is owed; if not, it owes one when it has ended well, and if so when it has failed. */
  due(name: string): boolean;
  owe(name: string): void;
  /** Rings what is still owed. */
  close(): Promise<void>;
}

/** Where nobody shall be rung. */
export const silence: Ringer = { due: () => false, owe() {}, close: async () => {} };

/** @param ring may fail: workers look by themselves, too */
export function createRinger(gapMs: number, ring: (names: readonly string[]) => Promise<unknown>): Ringer {
  const rungAt = new Map<string, number>();
  const owed = new Set<string>();
  let timer: NodeJS.Timeout | null = null;

  function stopTimer(): void {
    if (timer) clearTimeout(timer);
    timer = null;
  }

  async function flush(): Promise<void> {
    stopTimer();
    if (owed.size === 0) return;
    const names = [...owed];
    owed.clear();
    const now = performance.now();
    for (const name of names) rungAt.set(name, now);
    await ring(names).catch(() => {});
  }

  return {
    due(name) {
      const now = performance.now();
      if (now - (rungAt.get(name) ?? Number.NEGATIVE_INFINITY) < gapMs) return false;
      rungAt.set(name, now);
      // A ring of its own would be a transaction of its own: where calls come all the time, none is needed.
      if (owed.delete(name) && owed.size === 0) stopTimer();
      return true;
    },
    owe(name) {
      owed.add(name);
      timer ??= setTimeout(flush, gapMs);
    },
    close: flush,
  };
}
