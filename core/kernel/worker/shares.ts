/**
 * Shares the slots of a worker between its queues. A backend gives out the jobs of several queues in one order, so a long backlog in one of
 * them would take every slot. A worker therefore first asks those queues for jobs that hold less than their share, and then all of them.
 */

import { steadyNow } from '../../base/clock.ts';
import type { JobLease } from '../../contract/queue.ts';
import type { Run } from '../attempt/run.ts';
import type { WorkerState } from './state.ts';

/** A queue that had no jobs is not asked alone again for this time. */
const emptyMs = 20;

/** The request of a fetch. */
export interface Asked {
  readonly queues: readonly string[];
  readonly max: number;
  /** All queues are asked. Only such a fetch waits for jobs, or says that there are none. */
  readonly isWhole: boolean;
}

export type Shares = ReturnType<typeof shareSlots>;

export function shareSlots(state: WorkerState) {
  const { app, settings, running } = state;
  const { clock } = app;
  const { queues } = settings;
  const emptyUntil = new Map<string, number>();
  /** The queues that filled the last fetch of all queues: they have more jobs, and the others were perhaps not reached. */
  let crowded: ReadonlySet<string> = new Set();

  function count(runs: Iterable<Run>): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { lease } of runs) counts.set(lease.queue, (counts.get(lease.queue) ?? 0) + 1);
    return counts;
  }

  return {
    /** @param room how many jobs may be fetched @param total how many may be held, in slots and ahead */
    ask(room: number, total: number): Asked {
      const whole = { queues, max: room, isWhole: true };
      if (queues.length === 1 || crowded.size === 0) return whole;
      const now = steadyNow(clock);
      const counts = count([...running, ...state.buffer]);
      const heldOf = (queue: string) => counts.get(queue) ?? 0;
      const mayHave = queues.filter((queue) => (emptyUntil.get(queue) ?? 0) <= now);
      const active = queues.filter((queue) => heldOf(queue) > 0 || mayHave.includes(queue));
      const share = Math.max(1, Math.floor(total / active.length));
      const short = mayHave.filter((queue) => heldOf(queue) < share && !crowded.has(queue));
      if (short.length === 0) return whole;
      const missing = short.reduce((sum, queue) => sum + share - heldOf(queue), 0);
      return { queues: short, max: Math.min(room, missing), isWhole: false };
    },
    answered({ queues: asked, max, isWhole }: Asked, leases: readonly JobLease[]): void {
      // A backend may bring only half of a large fetch at once.
      if (isWhole) crowded = new Set(leases.length * 2 < max ? [] : leases.map(({ queue }) => queue));
      if (isWhole || leases.length === max) return;
      const until = steadyNow(clock) + emptyMs;
      for (const queue of asked)
        if (!leases.some((lease) => lease.queue === queue)) emptyUntil.set(queue, until);
    },
    /** Lets the queues take turns in the buffer, first the one with the fewest jobs in slots. Each keeps its own order. */
    takeTurns(buffer: readonly Run[]): Run[] {
      const inSlots = count(running);
      const lines = [...Map.groupBy(buffer, ({ lease }) => lease.queue)]
        .sort(([a], [b]) => (inSlots.get(a) ?? 0) - (inSlots.get(b) ?? 0))
        .map(([, runs]) => runs);
      const longest = Math.max(...lines.map(({ length }) => length));
      return Array.from({ length: longest }, (_, i) => lines.flatMap((line) => line[i] ?? [])).flat();
    },
  };
}
