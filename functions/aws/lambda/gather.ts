/** Jobs of one invocation that go back to their queue at about the same time go together, because SQS takes ten in one request. */

import type { Clock } from '../../../core/base/clock.ts';
import { mostEntries } from '../sqs/batches.ts';

/** A job that goes back waits this long for others. */
const patienceMs = 50;

/** @param running the jobs of the invocation, with those that go back */
export function createGathering(running: ReadonlySet<unknown>, clock: Clock) {
  let waiting: (() => void)[] = [];
  let stopTimer = () => {};

  function go(): void {
    stopTimer();
    const all = waiting;
    waiting = [];
    for (const resolve of all) resolve();
  }

  /** Goes on once every running job waits, or enough for a request do. */
  function look(): void {
    if (waiting.length > 0 && waiting.length >= Math.min(mostEntries, running.size)) go();
  }

  return {
    look,
    /** Resolves for several jobs in one turn of the event loop, in which `nack` joins its calls. */
    wait(): Promise<void> {
      return new Promise((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 1) stopTimer = clock.after(patienceMs, go);
        look();
      });
    },
  };
}
