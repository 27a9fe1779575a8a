import { forgetWorkerMs, workerStateOf } from '../../../kit/worker-state.ts';
import type { WorkerView } from '../api.ts';
import type { Endpoint, Run } from '../call.ts';
import { knownName } from './find.ts';

export const listWorkers: Run = async (endpoint) => {
  const beats = await beatsOf(endpoint);
  const now = endpoint.client.app.clock.now();
  return beats.map((beat): WorkerView => {
    const { jobs = [], seenAt, draining = false } = beat;
    return { ...beat, jobs, state: workerStateOf(seenAt, now), draining };
  });
};

const beatsOf = ({ client: { app, stores } }: Endpoint) =>
  stores.workers.list(app.clock.now() - forgetWorkerMs);

export async function workerIn(endpoint: Endpoint, given: string): Promise<string> {
  const ids = (await beatsOf(endpoint)).map(({ id }) => id);
  return knownName('worker', given, ids);
}
