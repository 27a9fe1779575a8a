import { Refusal } from '../../http/problem.ts';
import { goneAfterMs } from '../../kit/worker-state.ts';
import type { Done, QueueView } from '../api.ts';
import type { Call, Endpoint, Run } from '../call.ts';
import { knownName, noAdmin } from './find.ts';
import { noQuery } from './query.ts';

export const listQueues: Run = async ({ client, live }, { url }) => {
  noQuery(url);
  const { app, backend, stores } = client;
  if (!backend.admin) return noAdmin(backend.name);
  const { queues, error } = await live.current();
  if (error !== null && queues.length === 0) throw away(error);
  const beats = await stores.workers.list(app.clock.now() - goneAfterMs);
  return queues.map((one): QueueView => {
    const jobs = [...app.jobs.values()].filter(({ queue }) => queue === one.queue).map(({ name }) => name);
    const workers = beats.filter((beat) => beat.queues.includes(one.queue)).length;
    // Functions keep no heartbeats: where nobody is seen at all, nobody can be counted.
    return { ...one, jobs, workers: beats.length === 0 ? null : workers };
  });
};

export const pauseQueue: Run = change(async (operator, queue) => {
  await operator.queues.pause(queue);
  return { message: `${queue} is paused: running jobs end, and no other begins.` };
});

export const resumeQueue: Run = change(async (operator, queue) => {
  await operator.queues.resume(queue);
  return { message: `${queue} goes on.` };
});

export const clearQueue: Run = change(async (operator, queue) => {
  const count = await operator.queues.clear(queue);
  return { message: `${count} waiting ${count === 1 ? 'job' : 'jobs'} removed from ${queue}.` };
});

type Operator = Awaited<ReturnType<Endpoint['operatorFor']>>;

function change(act: (operator: Operator, queue: string) => Promise<Done>): Run {
  return async (endpoint: Endpoint, { visitor, parameter }: Call) => {
    const operator = await endpoint.operatorFor(visitor);
    return act(operator, await queueIn(endpoint, parameter));
  };
}

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
