import { forgetWorkerMs, workerStateOf } from '../../kit/worker-state.ts';
import type { Done, WorkerView } from '../api.ts';
import type { Run } from '../call.ts';
import { knownName } from './find.ts';
import { noQuery } from './query.ts';

export const listWorkers: Run = async ({ client }, { url }) => {
  noQuery(url);
  const { app, stores } = client;
  const now = app.clock.now();
  const beats = await stores.workers.list(now - forgetWorkerMs);
  return beats.map((beat): WorkerView => {
    const { jobs = [], seenAt, draining = false } = beat;
    return { ...beat, jobs, state: workerStateOf(seenAt, now), draining };
  });
};

export const drainWorker: Run = async (endpoint, { url, visitor, parameter }) => {
  noQuery(url);
  const { app, stores } = endpoint.client;
  const beats = await stores.workers.list(app.clock.now() - forgetWorkerMs);
  const ids = beats.map(({ id }) => id);
  const id = knownName('worker', parameter, ids);
  await (await endpoint.operatorFor(visitor)).workers.drain(id);
  return {
    message:
      'It hears of it with its next heartbeat: then it takes no more jobs, and stops when its own have ended.',
  } satisfies Done;
};
