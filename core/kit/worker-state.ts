/** The state of a worker by its heartbeat, for all code that shows or counts workers. */

import type { WorkerBeat } from '../contract/store.ts';

export type WorkerHealth = 'healthy' | 'unhealthy' | 'gone';

/** Workers write every 5 seconds: two heartbeats may be late. */
export const healthyWithinMs = 15_000;
/** Up to this age of its heartbeat a worker may be blocked or cut off; after that it counts as dead. */
export const goneAfterMs = 60_000;
/** The registry forgets a worker whose heartbeat is this old. */
export const forgetWorkerMs = 300_000;

export function workerStateOf(seenAt: number, now: number): WorkerHealth {
  const agoMs = now - seenAt;
  return agoMs <= healthyWithinMs ? 'healthy' : agoMs <= goneAfterMs ? 'unhealthy' : 'gone';
}

/**
 * Counts the slots of healthy workers only: the jobs of a silent worker may run elsewhere by now, and would be counted twice.
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

/** The worker that runs a job, by the heartbeats, which name 20 jobs each. A dead worker may name a job that runs elsewhere by now. */
export function runnerOf(beats: readonly WorkerBeat[], id: string) {
  const named = beats.flatMap((beat) => {
    const job = beat.jobs?.find((one) => one.id === id);
    return job ? [{ beat, job }] : [];
  });
  return named.sort((a, b) => b.job.startedAt - a.job.startedAt)[0] ?? null;
}
