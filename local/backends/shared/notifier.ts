/**
 * Decides when to notify waiting workers of new jobs. A NOTIFY serialises the commits of the whole database, so a queue gets one for the
 * first call of a gap, and one at the end of the gap for all other calls in it.
 */

export interface Notifier {
  /**
   * Whether this call notifies, for itself and for all earlier calls that are owed. If `false`, the caller calls `owe` after it has
   * succeeded; if `true`, after it has failed.
   */
  mayNotify(queue: string): boolean;
  owe(queue: string): void;
  /** Sends the notifications that are still owed. */
  close(): Promise<void>;
}

/** For queues whose workers do not listen. */
export const noNotifier: Notifier = { mayNotify: () => false, owe() {}, close: async () => {} };

/** @param notify may fail, because workers also poll */
export function createNotifier(
  gapMs: number,
  notify: (queues: readonly string[]) => Promise<unknown>,
): Notifier {
  const notifiedAt = new Map<string, number>();
  const owed = new Set<string>();
  let timer: NodeJS.Timeout | null = null;

  function stopTimer(): void {
    if (timer) clearTimeout(timer);
    timer = null;
  }

  async function flush(): Promise<void> {
    stopTimer();
    if (owed.size === 0) return;
    const queues = [...owed];
    owed.clear();
    const now = performance.now();
    for (const queue of queues) notifiedAt.set(queue, now);
    await notify(queues).catch(() => {});
  }

  return {
    mayNotify(queue) {
      const now = performance.now();
      if (now - (notifiedAt.get(queue) ?? Number.NEGATIVE_INFINITY) < gapMs) return false;
      notifiedAt.set(queue, now);
      // The NOTIFY of this call covers the owed ones. A separate NOTIFY would be another transaction.
      if (owed.delete(queue) && owed.size === 0) stopTimer();
      return true;
    },
    owe(queue) {
      owed.add(queue);
      timer ??= setTimeout(flush, gapMs);
    },
    close: flush,
  };
}

/** Writes, and decides for each queue whether the write itself notifies. @param write gets the queues to notify */
export async function notifying<T>(
  notifier: Notifier,
  queues: ReadonlySet<string>,
  write: (notified: readonly string[]) => Promise<T>,
): Promise<T> {
  const notified: string[] = [];
  const owed: string[] = [];
  for (const queue of queues) (notifier.mayNotify(queue) ? notified : owed).push(queue);
  const result = await write(notified).catch((error) => {
    for (const queue of notified) notifier.owe(queue);
    throw error;
  });
  for (const queue of owed) notifier.owe(queue);
  return result;
}
