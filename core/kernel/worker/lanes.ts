/** Lanes of a worker: queues that share slots. A queue with slots of its own is a lane; queues without are one lane together. */

import { steadyNow } from '../../base/clock.ts';
import type { Run } from '../attempt/run.ts';
import { type Ahead, measureAhead } from './ahead.ts';
import type { WorkerState } from './state.ts';

export interface Lane {
  readonly queues: readonly string[];
  readonly slots: number;
  /** Measured per lane, because the jobs of each take another time. */
  readonly measured: Ahead;
  /** Jobs in its slots. */
  running: number;
  /** Places that are kept for the answers of running refills. */
  promised: number;
  /** How many jobs it may hold ahead, by the last fetch. */
  ahead: number;
}

/** How many more jobs of a lane may be fetched, at least 1. */
export interface Room {
  readonly lane: Lane;
  readonly room: number;
}

export function createLanes(state: WorkerState) {
  const { app, settings, running } = state;
  const { concurrency, prefetch, aheadMs } = settings;
  const laneOf = (queues: readonly string[], slots: number): Lane => ({
    queues,
    slots,
    measured: measureAhead({
      most: Math.floor((prefetch * slots) / concurrency),
      concurrency: slots,
      withinMs: aheadMs,
    }),
    running: 0,
    promised: 0,
    ahead: 0,
  });
  const all = settings.slots
    ? [...settings.slots].map(([queue, slots]) => laneOf([queue], slots))
    : [laneOf(settings.queues, concurrency)];
  const byQueue = new Map(all.flatMap((lane) => lane.queues.map((queue) => [queue, lane] as const)));
  const of = (run: Run): Lane => byQueue.get(run.lease.queue) ?? all[0]!;
  const isFull = (run: Run): boolean => {
    const lane = of(run);
    return lane.running >= lane.slots;
  };
  const within = (runs: Iterable<Run>, lane: Lane): Run[] => [...runs].filter((run) => of(run) === lane);

  return {
    all,
    of,
    isFull,
    named: (queues: readonly string[]): ReadonlySet<Lane> =>
      new Set(queues.map((queue) => byQueue.get(queue)!)),
    /** The place in the buffer of the first job that has a free slot. */
    firstFree: (buffer: readonly Run[]): number =>
      all.length === 1 ? 0 : buffer.findIndex((run) => !isFull(run)),
    /** The lanes with room. @param isLow only those that hold so few jobs ahead that a fetch is large enough to be cheap: half, or none */
    rooms(isLow: boolean): Room[] {
      const now = steadyNow(app.clock);
      const alone = all.length === 1;
      return all.flatMap((lane) => {
        lane.ahead = lane.measured.most(alone ? running : within(running, lane), now);
        const waiting = alone ? state.buffer.length : within(state.buffer, lane).length;
        const room = lane.slots + lane.ahead - lane.running - waiting - lane.promised;
        return room <= 0 || (isLow && waiting > 0 && waiting * 2 > lane.ahead) ? [] : [{ lane, room }];
      });
    },
    fetched(ms: number, count: number, max: number): void {
      for (const { measured } of all) measured.fetched(ms, count, max);
    },
    /** How many jobs may be held ahead of all slots. */
    ahead: (): number => all.reduce((sum, lane) => sum + lane.ahead, 0),
  };
}
