import { Refusal } from '../../http/problem.ts';
import type { QueueView } from '../api.ts';
import type { Run } from '../call.ts';
import { noAdmin } from './find.ts';

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
