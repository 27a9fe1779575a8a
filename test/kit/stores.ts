/** What the tests of several stores share. */

import type { Clock } from '../../core/base/clock.ts';
import type { AttemptEnd, RecordedJob, Stores } from '../../core/contract/store.ts';
import type { StoreBench } from '../testing/laws/store-alone.ts';

/** Two connections to one place, and what remains to be done once they are closed. */
export function pair(open: () => Stores, after: () => unknown = () => {}): StoreBench {
  const [stores, peer] = [open(), open()];
  return {
    stores,
    peer,
    async close() {
      await stores.close?.();
      await peer.close?.();
      await after();
    },
  };
}

/** Makes jobs, and the ends of their attempts, now. */
export function jobMaker(clock: Clock) {
  let ids = 0;
  return {
    newJob(id = `job-${++ids}`): RecordedJob {
      const at = clock.now();
      return { id, queue: 'mail', job: 'send', tenantId: null, priority: 5, createdAt: at, runAt: at };
    },
    ended(attempt: number, how: Partial<AttemptEnd> & { output?: string } = {}): AttemptEnd {
      const { output = null, ...rest } = how;
      const at = clock.now();
      const report = { attempt, startedAt: at, endedAt: at, outcome: 'acked', error: null, output } as const;
      return { report, counted: true, runAt: null, reason: null, error: null, ...rest };
    },
  };
}
