/** Progress that is reported more often than anybody reads it, as for every row of a file: only the last report counts. */

import { setTimeout as delay } from 'node:timers/promises';

export type Progress = readonly [done: number, total: number | undefined, message: string | undefined];

const restMs = 100;
/** A store that does not answer must not undo what the handler has done. */
const patienceMs = 500;

/**
 * In the isolate: sends one report, and then nothing for `restMs`. Of the reports in between the last one follows. Each report
 * resolves with the worker's latest answer.
 */
export function createReporter(send: (progress: Progress) => Promise<boolean>) {
  let sent: Promise<boolean> | null = null;
  let waiting: Progress | null = null;
  let resting: NodeJS.Timeout | undefined;

  function next(): void {
    resting = undefined;
    if (!waiting) return;
    sent = send(waiting);
    sent.catch(() => {}); // those who wait for it hear of it
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

/** In the worker: one call at a time. Of those that come meanwhile the last is made, and all of them get its answer. */
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
