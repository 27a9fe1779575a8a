/** The faults of `longshore dev`, as its supervisor causes them: with processes, and with the time of all of them. */

import { systemClock, within } from '../../core/base/clock.ts';
import type { FaultResult } from '../../core/surfaces/dashboard/api.ts';
import type { AttemptName, Caught, WorkerCalls } from './calls.ts';
import type { Child } from './child.ts';
import { skipMs } from './fault-names.ts';

type WorkerChild = Child<WorkerCalls>;

export interface FaultPorts {
  note(text: string): void;
  /** Moves the time of what is no worker. */
  skip(ms: number): Promise<void>;
  /** `null` = it does not run. */
  worker(): WorkerChild | null;
  /** Beside the other one. `ready` is called when it runs. */
  startWorker(ready: () => void): WorkerChild;
}

/** A worker that stands still goes on then, whatever became of its job. */
const longestFreezeMs = 60_000;

export function createFaults({ note, skip: skipOthers, worker, startWorker }: FaultPorts) {
  const killed = new WeakSet<object>();
  let frozen: Child<unknown> | null = null;
  let second: WorkerChild | null = null;
  let aheadMs = 0;

  function thaw(): void {
    if (frozen === null) return;
    frozen.signal('SIGCONT');
    frozen = null;
    second?.peer.ask('thawed', null).catch(ignore);
  }

  /** Until a second worker has begun the job anew. */
  async function freeze(child: WorkerChild, attempt: AttemptName): Promise<void> {
    frozen = child;
    const ready = Promise.withResolvers<void>();
    const other = startWorker(ready.resolve);
    second = other;
    const taken = ready.promise.then(() => other.peer.ask('begins', attempt));
    const over = Promise.race([taken.catch(ignore), child.ended, other.ended]);
    await within<unknown>(systemClock, longestFreezeMs, over, ignore);
    thaw();
    const end = Promise.race([
      child.peer.ask('ends', attempt).catch(() => null),
      child.ended.then(() => null),
    ]);
    const ended = await within(systemClock, longestFreezeMs, end, () => null);
    if (ended)
      note(
        ended.settled
          ? 'The worker goes on. Its job had not been begun anew, so its end counts.'
          : `The worker goes on. It has lost the lease of ${attempt.id}: its end of attempt ${attempt.attempt} changed nothing.`,
      );
    await other.stop();
    second = null;
  }

  async function skip(first: WorkerChild): Promise<FaultResult> {
    const running = await first.peer.ask('hold', null);
    try {
      if (running > 0) {
        const jobs = running === 1 ? '1 job still runs' : `${running} jobs still run`;
        return { message: `${jobs}, and an hour would end every lease. Ask again when nothing runs.` };
      }
      aheadMs += skipMs;
      await Promise.all([first.peer.ask('skip', { ms: skipMs }), skipOthers(skipMs)]);
      return { message: 'An hour has passed.' };
    } finally {
      await first.peer.ask('free', null).catch(ignore);
    }
  }

  return {
    aheadMs: () => aheadMs,
    frozenPid: () => frozen?.pid ?? null,
    /** The worker that stands in for one that is frozen. */
    second: () => second,
    hasKilled: (child: object) => killed.has(child),
    thaw,
    caught(child: WorkerChild, { fault, id, attempt }: Caught): void {
      if (fault === 'kill') killed.add(child);
      if (fault === 'freeze') void freeze(child, { id, attempt });
    },
    async cause(name: string): Promise<FaultResult> {
      const first = worker();
      if (!first) throw new Error('No worker runs. Mend what has ended it, and save the file.');
      if (second) throw new Error('A worker stands still at the moment. Wait until it goes on.');
      return name === 'skip-hour' ? skip(first) : first.peer.ask('cause', { name });
    },
  };
}

const ignore = (): void => {};
