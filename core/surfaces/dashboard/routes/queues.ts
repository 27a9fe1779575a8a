import { eachOf, jobsOn } from '../../../kernel/enqueue/backends.ts';
import { Refusal } from '../../http/problem.ts';
import type { OfOne, QueueView, Rows, StoppedView, WorkerView } from '../api.ts';
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
  const { app, backend, name } = client;
  const all = eachOf(client);
  if (!all.some((one) => one.backend.admin)) return noAdmin(backend.name);
  const { queues, error, unavailable } = await live.current();
  if (error !== null && queues.length === 0)
    throw new Refusal(503, 'BACKEND', error, { headers: { 'retry-after': '5' } });
  const isShown = (one: string | undefined) => client.backends !== undefined || one === name;
  const rows = queues.flatMap((one): OfOne<QueueView>[] => {
    if (!isShown(one.backend)) return [];
    const own = one.backend === undefined ? [...app.jobs.values()] : jobsOn(app, one.backend);
    return [{ ...one, jobs: own.filter(({ queue }) => queue === one.queue).map((job) => job.name) }];
  });
  const missed = unavailable?.filter((one) => isShown(one.backend)) ?? [];
  return { rows, ...(missed.length > 0 && { unavailable: missed }) } satisfies Rows<QueueView>;
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
  const { stopped: rows, ...missed } = await jobs.stopped();
  return { rows, ...missed } satisfies Rows<StoppedView>;
};

export const listWorkers: Run = async (endpoint, { visitor }) => {
  const { workers } = await endpoint.operatorFor(visitor);
  const { workers: found, ...missed } = await workers.list();
  const rows = found.map((one) => ({ ...one, jobs: one.jobs ?? [], draining: one.draining ?? false }));
  return { rows, ...missed } satisfies Rows<WorkerView>;
};
