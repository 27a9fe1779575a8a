import type { WorkerState } from './state.ts';

/** Makes the jobs of workers that died ready again. Resolves with how many there were. */
export async function reap({ id, app, settings }: WorkerState): Promise<number> {
  let total = 0;
  for (const queue of settings.queues) {
    const count = await settings.backend.reapExpired(queue);
    if (count > 0) app.events.emit({ type: 'worker.reaped', worker: id, queue, count });
    total += count;
  }
  return total;
}
