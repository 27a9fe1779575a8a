/**
 * Lanes of a worker. A lane is fetched as a whole: a queue with slots of its own, a queue that is left out while its limits are full, or all
 * other queues together. The lanes of a pool share its slots.
 */

import { steadyNow } from '../../base/clock.ts';
import type { Run } from '../attempt/run.ts';
import { type Ahead, measureAhead } from './ahead.ts';
import type { WorkerState } from './state.ts';

export interface Pool {
  readonly slots: number;
  readonly queues: readonly string[];
  /** Jobs in its slots. */
  running: number;
  /** Places that are kept for the answers of running refills. */
  promised: number;
  /** How many jobs its lanes may hold ahead, by the last fetch. */
  ahead: number;
}

export interface Lane {
  readonly queues: readonly string[];
  readonly pool: Pool;
  /** Measured per lane, because the jobs of each take another time. */
  readonly measured: Ahead;
  /** The queue whose jobs may find their limits full; `null` = none. No more of them are held ahead than may begin. */
  readonly bound: string | null;
  promised: number;
}

/** How many more jobs of a lane may be fetched, at least 1. */
export interface Room {
  readonly lane: Lane;
  readonly room: number;
}

export function createLanes(state: WorkerState) {
  const { app, settings, bounds, running } = state;
  const { concurrency, prefetch, aheadMs } = settings;

  function laneOf(queues: readonly string[], bound: string | null, pool: Pool): Lane {
    const most = Math.floor((prefetch * pool.slots) / concurrency);
    const measured = measureAhead({ most, concurrency: pool.slots, withinMs: aheadMs });
    return { queues, pool, measured, bound, promised: 0 };
  }

  function lanesOf(queues: readonly string[], slots: number): Lane[] {
    const pool: Pool = { slots, queues, running: 0, promised: 0, ahead: 0 };
    const others = queues.filter((queue) => !bounds.queues.has(queue));
    const alone = queues.filter((queue) => bounds.queues.has(queue));
    const lanes = alone.map((queue) => laneOf([queue], queue, pool));
    return others.length > 0 ? [...lanes, laneOf(others, null, pool)] : lanes;
  }

  const all = settings.slots
    ? [...settings.slots].flatMap(([queue, slots]) => lanesOf([queue], slots))
    : lanesOf(settings.queues, concurrency);
  const pools = new Set(all.map(({ pool }) => pool));
  const byQueue = new Map(all.flatMap((lane) => lane.queues.map((queue) => [queue, lane] as const)));
  const of = (run: Run): Lane => byQueue.get(run.lease.queue) ?? all[0]!;
  const isFull = (run: Run): boolean => {
    const { pool } = of(run);
    return pool.running >= pool.slots;
  };
  const count = (runs: Iterable<Run>, isMeant: (run: Run) => boolean): number => {
    let found = 0;
    for (const run of runs) if (isMeant(run)) found++;
    return found;
  };

  /** How many more jobs of the lane its limits leave room for, up to `most` or more. */
  function roomAtLimits(lane: Lane, most: number): number {
    if (lane.bound === null) return most;
    const room = bounds.room(lane.bound, lane.promised);
    // Most jobs that are held need not be looked at while a limit is far from full.
    if (room - state.buffer.length - running.size >= most) return most;
    const isAsking = (run: Run) => !run.hasSlots && !run.began && run.waitsFor === null && of(run) === lane;
    return room - count(state.buffer, isAsking) - count(running, isAsking);
  }

  return {
    all,
    of,
    isFull,
    isRunning: (lane: Lane): boolean => count(running, (run) => of(run) === lane) > 0,
    named: (queues: readonly string[]): ReadonlySet<Lane> =>
      new Set(queues.map((queue) => byQueue.get(queue)!)),
    /** The place in the buffer of the first job that has a free slot. */
    firstFree: (buffer: readonly Run[]): number =>
      pools.size === 1 ? 0 : buffer.findIndex((run) => !isFull(run)),
    /** The lanes with room. @param isLow only those that hold so few jobs ahead that a fetch is large enough to be cheap: half, or none */
    rooms(isLow: boolean): Room[] {
      const now = steadyNow(app.clock);
      for (const pool of pools) pool.ahead = 0;
      for (const { pool, measured } of all) {
        const runs = pools.size === 1 ? running : [...running].filter((run) => of(run).pool === pool);
        pool.ahead = Math.max(pool.ahead, measured.most(runs, now));
      }
      return all.flatMap((lane) => {
        const { pool } = lane;
        const waiting =
          pools.size === 1 ? state.buffer.length : count(state.buffer, (run) => of(run).pool === pool);
        const free = pool.slots + pool.ahead - pool.running - waiting - pool.promised;
        if (free <= 0 || (isLow && waiting > 0 && waiting * 2 > pool.ahead)) return [];
        const room = Math.min(free, roomAtLimits(lane, free));
        return room <= 0 ? [] : [{ lane, room }];
      });
    },
    /** When a queue that is left out because its limits are full may be asked again; `Infinity` = none is left out. By the steady clock. */
    opensAt(): number {
      const full = all.filter((lane) => roomAtLimits(lane, 1) <= 0);
      return Math.min(...full.map(({ bound }) => bounds.opensAt(bound!)));
    },
    /** Called when a handler has ended, before it leaves its slot. */
    attempted(run: Run): void {
      const { measured, pool } = of(run);
      const othersWait =
        pools.size === 1 ? state.buffer.length > 0 : state.buffer.some((other) => of(other).pool === pool);
      measured.attempted(steadyNow(app.clock) - run.since, othersWait ? pool.running : null);
    },
    fetched(ms: number, count: number, max: number): void {
      for (const { measured } of all) measured.fetched(ms, count, max);
    },
    /** How many jobs may be held ahead of all slots. */
    ahead: (): number => [...pools].reduce((sum, pool) => sum + pool.ahead, 0),
  };
}
