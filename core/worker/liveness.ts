/** Whether a worker lives, by when it was last seen: one rule for the command line, metrics and alerts. */

/** Three heartbeats. */
export const healthyWithinMs = 15_000;
export const goneAfterMs = 60_000;

/** `unhealthy`: some heartbeats are missing, but it may come back. */
export type WorkerLiveness = 'healthy' | 'unhealthy' | 'gone';

export function workerStateOf(seenAt: number, now: number): WorkerLiveness {
  const silentMs = now - seenAt;
  if (silentMs <= healthyWithinMs) return 'healthy';
  return silentMs <= goneAfterMs ? 'unhealthy' : 'gone';
}
