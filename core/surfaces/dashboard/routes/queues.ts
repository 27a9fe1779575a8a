import { Refusal } from '../../http/problem.ts';
import type { QueueView } from '../api.ts';
import type { Endpoint, Run } from '../call.ts';
import { knownName, noAdmin } from './find.ts';

export const listQueues: Run = async ({ client, live }) => {
  const { app, backend } = client;
  if (!backend.admin) return noAdmin(backend.name);
  const { queues, error } = await live.current();
  if (error !== null && queues.length === 0) throw away(error);
  return queues.map((one): QueueView => {
    const jobs = [...app.jobs.values()].filter(({ queue }) => queue === one.queue).map(({ name }) => name);
    return { ...one, jobs };
  });
};

/** A queue that was mistyped would be paused and never used. */
export async function queueIn({ client, live }: Endpoint, name: string): Promise<string> {
  if (client.app.queues.includes(name)) return name;
  const { queues, error } = await live.current();
  if (error !== null) throw away(error);
  return knownName(
    'queue',
    name,
    queues.map(({ queue }) => queue),
  );
}

const away = (error: string): Refusal =>
  new Refusal(503, 'BACKEND', error, { headers: { 'retry-after': '5' } });
