import { Refusal } from '../../http/problem.ts';
import type { QueueView } from '../api.ts';
import type { Endpoint, Run } from '../call.ts';
import { change } from './change.ts';
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

export const pauseQueue: Run = change(queueIn, async ({ queues }, queue) => {
  await queues.pause(queue);
  return { message: `${queue} is paused: running jobs end, and no other begins.` };
});

export const resumeQueue: Run = change(queueIn, async ({ queues }, queue) => {
  await queues.resume(queue);
  return { message: `${queue} goes on.` };
});

export const clearQueue: Run = change(queueIn, async ({ queues }, queue) => {
  const count = await queues.clear(queue);
  return { message: `${count} waiting ${count === 1 ? 'job' : 'jobs'} removed from ${queue}.` };
});

/** A queue that was mistyped would be paused and never used. */
async function queueIn({ client, live }: Endpoint, name: string): Promise<string> {
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
