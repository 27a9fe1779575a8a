/** Thins out progress reports: a handler may report for every row of a file, but only the last report counts. */

import { setTimeout as delay } from 'node:timers/promises';

export type Progress = readonly [done: number, total: number | undefined, message: string | undefined];

const restMs = 100;
/** `flush` waits this long: a store that does not answer must not fail a handler that has succeeded. */
const patienceMs = 500;

/**
 * In the isolate: sends a report at most every `restMs`. Later reports replace the one that waits. Each report resolves with the
 * worker's latest answer.
 */
export function createReporter(send: (progress: Progress) => Promise<boolean>) {
  let sent: Promise<boolean> | null = null;
  let waiting: Progress | null = null;
  let resting: NodeJS.Timeout | undefined;

  function next(): void {
    resting = undefined;
    if (!waiting) return;
    sent = send(waiting);
    sent.catch(() => {}); // the callers of report() get the error
    waiting = null;
    resting = setTimeout(next, restMs).unref();
  }
  return {
    report(...progress: Progress): Promise<boolean> {
      waiting = progress;
      if (!resting) next();
      return sent!;
    },
    /** Resolves when the last report has been answered. */
    async flush(): Promise<void> {
      if (!sent) return;
      clearTimeout(resting);
      next();
      clearTimeout(resting);
      await Promise.race([sent.catch(() => {}), delay(patienceMs, undefined, { ref: false })]);
    },
  };
}

/** In the worker: one call at a time. Calls that come meanwhile become one call with the last arguments, and share its answer. */
export function lastOnly<Args extends readonly unknown[], Answer>(
  work: (...args: Args) => Promise<Answer>,
): (...args: Args) => Promise<Answer> {
  let running: Promise<unknown> = Promise.resolve();
  let next: { args: Args; readonly answer: Promise<Answer> } | null = null;
  return (...args) => {
    if (next) next.args = args;
    else {
      const answer = running.then(() => {
        const { args: last } = next!;
        next = null;
        const working = work(...last);
        running = working.catch(() => {});
        return working;
      });
      next = { args, answer };
    }
    return next.answer;
  };
}
