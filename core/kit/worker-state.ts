/** What a heartbeat says of its worker, for everybody who shows or counts workers. */

import type { WorkerBeat } from '../contract/store.ts';

export type WorkerHealth = 'healthy' | 'unhealthy' | 'gone';

/** Workers write every 5 seconds: two heartbeats may be late. */
export const healthyWithinMs = 15_000;
/** Seen no longer ago, it may be blocked or cut off; after that it is taken for dead. */
export const goneAfterMs = 60_000;
/** Removed from the registry with the heartbeat of another worker. */
export const forgetWorkerMs = 300_000;

export function workerStateOf(seenAt: number, now: number): WorkerHealth {
  const agoMs = now - seenAt;
  return agoMs <= healthyWithinMs ? 'healthy' : agoMs <= goneAfterMs ? 'unhealthy' : 'gone';
}

/**
 * Slots are those of healthy workers: what a silent one ran when it was last seen may run elsewhere by now, and would be counted twice.
 * @param beats of workers that are not gone
 */
export function workerTotals(beats: readonly WorkerBeat[], now: number) {
  const healthy = beats.filter(({ seenAt }) => workerStateOf(seenAt, now) === 'healthy');
  const sum = (of: 'running' | 'concurrency') => healthy.reduce((total, beat) => total + beat[of], 0);
  return {
    healthy: healthy.length,
    unhealthy: beats.length - healthy.length,
    running: sum('running'),
    concurrency: sum('concurrency'),
  };
}

/** As the heartbeats tell it; a worker names 20 of its jobs. One that died may still name a job that runs elsewhere by now. */
export function runnerOf(beats: readonly WorkerBeat[], id: string) {
  const named = beats.flatMap((beat) => {
    const job = beat.jobs?.find((one) => one.id === id);
    return job ? [{ beat, job }] : [];
  });
  return named.sort((a, b) => b.job.startedAt - a.job.startedAt)[0] ?? null;
}
