import { eachOf } from '../../../kernel/enqueue/backends.ts';
import { forgetWorkerMs, workerStateOf } from '../../../kit/worker-state.ts';
import { Refusal } from '../../http/problem.ts';
import type { QueueView, StoppedView, WorkerView } from '../api.ts';
import type { Run } from '../call.ts';
import { change } from './change.ts';
import {
  integer,
  membersOf,
  noAdmin,
  noLimits,
  pageQuery,
  queryOf,
  text,
  textMember,
  wrong,
} from './query.ts';

export const listQueues: Run = async ({ client, live }) => {
  const { app, backend } = client;
  if (!backend.admin) return noAdmin(backend.name);
  const { queues, error } = await live.current();
  if (error !== null && queues.length === 0)
    throw new Refusal(503, 'BACKEND', error, { headers: { 'retry-after': '5' } });
  return queues.map((one): QueueView => {
    const jobs = [...app.jobs.values()].filter(({ queue }) => queue === one.queue).map(({ name }) => name);
    return { ...one, jobs };
  });
};

export const listLimits: Run = async (endpoint, { url, visitor }) => {
  const asked = queryOf(url, { prefix: text, ...pageQuery, max: integer(1, 1_000) });
  const { client } = endpoint;
  if (!eachOf(client).some(({ stores }) => stores.limits)) return noLimits(client.backend.name);
  const { limits } = await endpoint.operatorFor(visitor);
  return limits.list(asked);
};

/** The key is in the body, because a proxy may change encoded characters in a path. */
export const resetLimit: Run = async (endpoint, call) => {
  const { key } = membersOf(call.body, 'the body', { key: textMember });
  if (key === undefined) throw wrong('the key of a limit, got none.');
  return change('limits.reset')(endpoint, { ...call, parameter: key });
};

export const listStopped: Run = async (endpoint, { visitor }) => {
  const { client } = endpoint;
  if (!eachOf(client).some(({ stores }) => stores.limits)) return noLimits(client.backend.name);
  const { jobs } = await endpoint.operatorFor(visitor);
  return (await jobs.stopped()) satisfies readonly StoppedView[];
};

export const listWorkers: Run = async ({ client: { app, stores } }) => {
  const now = app.clock.now();
  const beats = await stores.workers.list(now - forgetWorkerMs);
  return beats.map((beat): WorkerView => {
    const { jobs = [], seenAt, draining = false } = beat;
    return { ...beat, jobs, state: workerStateOf(seenAt, now), draining };
  });
};
