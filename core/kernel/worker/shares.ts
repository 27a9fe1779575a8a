/**
 * Shares the slots of a worker between its queues. A backend gives out the jobs of several queues in one order, so a long backlog in one of
 * them would take every slot. A worker therefore first asks those queues for jobs that hold less than their share, and then all of them.
 */

import { steadyNow } from '../../base/clock.ts';
import type { JobLease } from '../../contract/queue.ts';
import type { Run } from '../attempt/run.ts';
import type { Room } from './lanes.ts';
import type { WorkerState } from './state.ts';

/** A queue that had no jobs is not asked alone again for this time. */
const emptyMs = 20;

/** The request of a fetch. */
export interface Asked {
  readonly queues: readonly string[];
  readonly max: number;
  /** All queues with room are asked. Only such a fetch waits for jobs. */
  readonly isOpen: boolean;
  /** All queues are asked. Only such a fetch says that there are no jobs. */
  readonly isWhole: boolean;
  /** For how long its queues still count as empty, if each was found so. */
  readonly emptyForMs: number;
}

const leastOf = (rooms: readonly number[]): number => rooms.reduce((least, room) => Math.min(least, room));

export type Shares = ReturnType<typeof shareSlots>;

export function shareSlots(state: WorkerState) {
  const { app, settings, running } = state;
  const { clock } = app;
  const { queues } = settings;
  const emptyUntil = new Map<string, number>();
  /** Queues that had no jobs since the last open fetch. They wait for the next one: a remote queue may need longer than `emptyMs` for an answer. */
  const empty = new Set<string>();
  /** The queues that filled the last open fetch of them: they have more jobs, and the others were perhaps not reached. */
  let crowded: ReadonlySet<string> = new Set();

  function count(runs: Iterable<Run>): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { lease } of runs) counts.set(lease.queue, (counts.get(lease.queue) ?? 0) + 1);
    return counts;
  }

  return {
    /**
     * `max` is the smallest room, because the backend may answer with jobs of one queue only.
     * @param open the lanes with room, at least one @param isOpen no other lane has room
     */
    ask(open: readonly Room[], isOpen: boolean): Asked {
      const asked = open.flatMap(({ lane }) => lane.queues);
      const max = leastOf(open.map(({ room }) => room));
      const whole = { queues: asked, max, isOpen, isWhole: asked.length === queues.length, emptyForMs: 0 };
      if (queues.length === 1) return whole;
      const now = steadyNow(clock);
      if (!whole.isWhole)
        whole.emptyForMs = Math.max(0, leastOf(asked.map((queue) => (emptyUntil.get(queue) ?? 0) - now)));
      if (crowded.size === 0) return whole;
      const counts = count([...running, ...state.buffer]);
      const heldOf = (queue: string) => counts.get(queue) ?? 0;
      const mayHave = (queue: string) => !empty.has(queue) && (emptyUntil.get(queue) ?? 0) <= now;
      const short = open.flatMap(({ lane, room }) => {
        const { slots, ahead, queues: sharing } = lane.pool;
        const active = sharing.filter((queue) => heldOf(queue) > 0 || mayHave(queue));
        const share = Math.max(1, Math.floor((slots + ahead) / active.length));
        const below = lane.queues.filter(
          (queue) => mayHave(queue) && heldOf(queue) < share && !crowded.has(queue),
        );
        const missing = below.reduce((sum, queue) => sum + share - heldOf(queue), 0);
        return below.length === 0 ? [] : [{ queues: below, max: Math.min(room, missing) }];
      });
      // An empty queue with few slots must not make the fetches for the others small.
      const full = open.filter(({ lane }) => lane.queues.some(mayHave));
      const parts =
        short.length > 0 ? short : full.map(({ lane, room }) => ({ queues: lane.queues, max: room }));
      const some = parts.flatMap((part) => part.queues);
      if (some.length === 0 || some.length === asked.length) return whole;
      return {
        queues: some,
        max: leastOf(parts.map((part) => part.max)),
        isOpen: false,
        isWhole: false,
        emptyForMs: 0,
      };
    },
    answered({ queues: asked, max, isOpen, isWhole }: Asked, leases: readonly JobLease[]): void {
      if (isOpen) {
        empty.clear();
        // A backend may bring only half of a large fetch at once.
        const filling = leases.length * 2 < max ? [] : leases.map(({ queue }) => queue);
        crowded = new Set([...[...crowded].filter((queue) => !asked.includes(queue)), ...filling]);
      }
      if (isWhole || leases.length === max) return;
      const until = steadyNow(clock) + emptyMs;
      for (const queue of asked) {
        if (leases.some((lease) => lease.queue === queue)) continue;
        emptyUntil.set(queue, until);
        if (!isOpen) empty.add(queue);
      }
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
