import { forgetWorkerMs, workerStateOf } from '../../../kit/worker-state.ts';
import type { WorkerView } from '../api.ts';
import type { Run } from '../call.ts';

export const listWorkers: Run = async ({ client: { app, stores } }) => {
  const now = app.clock.now();
  const beats = await stores.workers.list(now - forgetWorkerMs);
  return beats.map((beat): WorkerView => {
    const { jobs = [], seenAt, draining = false } = beat;
    return { ...beat, jobs, state: workerStateOf(seenAt, now), draining };
  });
};
