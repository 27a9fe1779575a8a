import { checkQueue } from '../base/checks.ts';
import { config } from '../base/errors.ts';
import type { QueueStats } from '../contract/admin.ts';
import { adminOf } from '../kernel/enqueue/admin-of.ts';
import { eachOf, queuesOn, scoped } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { drainWorker } from '../kernel/worker/drain.ts';
import { forgetWorkerMs, workerStateOf } from '../kit/worker-state.ts';
import { askEach, joined, keepersOf, labelled } from '../routing/each.ts';
import { clearQueue } from './forget-jobs.ts';
import { change, look, type Subject } from './operation.ts';
import { administered } from './select.ts';

const unused = { ready: 0, delayed: 0, leased: 0, dead: 0, paused: false, oldestReadyMs: null };

/** The app's queues of this backend, used or not, and others that were used. */
export async function queuesOf(client: Client): Promise<readonly QueueStats[]> {
  const used = new Map((await adminOf(client).stats()).map((one) => [one.queue, one]));
  const names = new Set([...scoped(client).app.queues, ...used.keys()]);
  return [...names].map((name) => used.get(name) ?? { queue: name, ...unused });
}

const askForQueues = (client: Client) => askEach(administered(client), queuesOf);

const queue: Subject = {
  noun: 'queue',
  parameter: 'name',
  text: 'name of a queue',
  async homes(client, name) {
    const declared = eachOf(client).filter((one) => queuesOn(client.app, one.name!).includes(name));
    if (declared.length > 0) return declared;
    const { answers } = await askForQueues(client);
    return answers.filter(({ answer }) => answer.some((one) => one.queue === name)).map((one) => one.client);
  },
  async names(client, name) {
    const { queues } = client.app;
    if (queues.includes(name)) return queues;
    const { answers } = await askForQueues(client);
    return answers.flatMap(({ answer }) => answer).map((one) => one.queue);
  },
  check(client, name) {
    checkQueue(name);
    adminOf(client);
  },
};

export const queues = {
  list: look({
    summary: 'Queues with their counts',
    async run(client) {
      const { answers, ...missed } = await askForQueues(client);
      return { queues: joined({ answers }), ...missed };
    },
  }),
  pause: change({
    action: 'queue.pause',
    summary: 'Pause a queue, until it is resumed',
    subject: queue,
    run: (client, name: string) => adminOf(client).setPaused(name, true),
    done: (_, name) => `${name} is paused: running jobs end, and no other starts.`,
  }),
  resume: change({
    action: 'queue.resume',
    summary: 'Resume a paused queue',
    subject: queue,
    run: (client, name: string) => adminOf(client).setPaused(name, false),
    done: (_, name) => `${name} goes on.`,
  }),
  clear: change({
    action: 'queue.clear',
    summary: 'Remove the waiting jobs of a queue',
    subject: queue,
    run: (client, name: string) => clearQueue(client, name),
    done: (count, name) => `${count} waiting ${count === 1 ? 'job' : 'jobs'} removed from ${name}.`,
  }),
};

const worker: Subject = {
  noun: 'worker',
  parameter: 'id',
  text: 'id of a worker',
  async homes(client, id) {
    const homes: Client[] = [];
    for (const one of eachOf(client)) {
      // If a backend does not answer, another one may still have the worker.
      const ids = await seenOn(one).catch((): string[] => []);
      if (ids.includes(id)) homes.push(one);
    }
    return homes;
  },
  names: async (client) => (await Promise.all(eachOf(client).map(seenOn))).flat(),
};

const seenOn = async ({ app, stores }: Client): Promise<readonly string[]> =>
  (await stores.workers.list(app.clock.now() - forgetWorkerMs)).map(({ id }) => id);

export const workers = {
  list: look({
    summary: 'Workers with their running jobs',
    async run(client) {
      const keepers = keepersOf(eachOf(client), ({ stores }) => stores.workers);
      const now = client.app.clock.now();
      const { answers, ...missed } = await askEach(keepers, ({ stores }) =>
        stores.workers.list(now - forgetWorkerMs),
      );
      const beats = joined({ answers });
      return {
        workers: beats.map((beat) => ({ ...beat, state: workerStateOf(beat.seenAt, now) })),
        ...missed,
      };
    },
  }),
  drain: change({
    action: 'worker.drain',
    summary: 'Drain a worker: it takes no more jobs, and stops when its jobs have ended',
    subject: worker,
    run: (client, id: string) => drainWorker(client, id),
    done: 'At its next heartbeat it stops taking jobs. It stops when its running jobs have ended.',
  }),
};

export const alerts = {
  list: look({
    summary: 'Alerts as they are now',
    async run(client) {
      const { alerts } = client.app;
      if (!alerts) throw config('The app has no alerts: give createApp() some of defineAlerts().');
      // A worker evaluates them for its own backend.
      const { answers, ...missed } = await askEach(eachOf(client), (one) => alerts.states(scoped(one)));
      const times = answers.map(({ answer }) => answer.evaluatedAt ?? 0);
      return {
        alerts: answers.flatMap(({ client: one, answer }) => labelled(one, answer.alerts)),
        evaluatedAt: Math.min(...times) || null,
        ...missed,
      };
    },
  }),
};
