/** What people who run jobs do, in one place: the page, the command line and programs call the same verbs. */

import { checkQueue, isName } from '../base/checks.ts';
import { config } from '../base/errors.ts';
import { faultOf, isKept } from '../base/text.ts';
import { closeBreaker } from '../features/limits/breaker.ts';
import { limitsFor, pauseJob, resumeJob } from '../features/limits/pause.ts';
import { stoppedJobs } from '../features/limits/stopped-jobs.ts';
import { scheduleNamed } from '../features/schedules/cursor.ts';
import { adminOf, deadLettersOf } from '../kernel/enqueue/admin-of.ts';
import { keepsSchedules } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { drainWorker } from '../kernel/worker/drain.ts';
import { audited } from './audit.ts';
import { bind } from './bind.ts';
import { edit } from './edit.ts';
import { clearQueue } from './forget-jobs.ts';
import { groupsOf } from './groups.ts';
import type { OperatorHost } from './host.ts';
import { cancel, promote, remove, runAgain, update } from './jobs.ts';
import * as limits from './limits.ts';
import { pageOfItems } from './select.ts';
import { discard, retry } from './settle.ts';
import { show } from './show.ts';
import { operations } from './table.ts';
import type { Operator, OperatorAction, OperatorIdentity } from './types.ts';

/** Throws `CONFIG` unless `identity` says who acts and from where. */
export function createOperator(client: Client, identity: OperatorIdentity): Operator {
  const { actor, from } = identity;
  for (const [name, text] of Object.entries({ actor, from }))
    if (!isKept(text)) throw config(`createOperator() expects ${name} to be a text ${faultOf(text)}.`);
  const host: OperatorHost = { client, identity: { actor, from } };
  const selected = () => ({ app: client.app, deadLetters: deadLettersOf(client) });

  async function atQueue<T>(action: OperatorAction, queue: string, work: () => Promise<T>): Promise<T> {
    checkQueue(queue);
    adminOf(client);
    return audited(host, action, queue, async (record) => {
      const result = await work();
      if (typeof result === 'number') record(result);
      return result;
    });
  }

  /** Throws `OPTION` for a name that no schedule has, in code or made at run time. */
  async function checkSchedule(name: string): Promise<void> {
    const isInCode = client.app.schedules.some((one) => one.name === name);
    if (!isInCode && !(keepsSchedules(client) && isName(name) && (await client.schedules.get(name))))
      scheduleNamed(client.app, name);
  }

  /** @param unchanged the note of a change that changed nothing */
  async function change(
    action: OperatorAction,
    name: string,
    verb: (client: Client, name: string) => Promise<boolean>,
    unchanged: string,
  ): Promise<void> {
    if (action.startsWith('schedule.')) await checkSchedule(name);
    else limitsFor(client, name);
    await audited(host, action, name, async (record) => {
      if (await verb(client, name)) record(1);
      else record(0, unchanged);
    });
  }

  function runStored(name: string): Promise<string> {
    return audited(host, 'schedule.run', name, async (record) => {
      const id = await client.schedules.runNow(name);
      record(1, `enqueued as ${id}`);
      return id;
    });
  }

  return {
    identity: host.identity,
    deadLetters: {
      page: async (filter, page) => pageOfItems(selected(), filter, page),
      groups: async (filter, max) => groupsOf(selected(), filter, max),
      show: (id) => show(client, id),
      retry: (selection, options) => retry(host, selection, options),
      edit: (id, options) => edit(host, id, options),
      discard: async (selection, options) => discard(host, selection, options),
    },
    jobs: {
      cancel: (ids) => cancel(host, ids),
      runAgain: (id) => runAgain(host, id),
      promote: (ids) => promote(host, ids),
      update: (id, change) => update(host, id, change),
      remove: (ids) => remove(host, ids),
      pause: (job) => change('job.pause', job, pauseJob, 'It was paused already.'),
      resume: (job) => change('job.resume', job, resumeJob, 'It was not paused.'),
      closeBreaker: (job) => change('job.close-breaker', job, closeBreaker, 'It had no failures.'),
      stopped: () => stoppedJobs(client),
    },
    limits: {
      list: (filter) => limits.list(host, filter),
      reset: (key) => limits.reset(host, key),
    },
    batches: bind(host, operations.batches),
    chains: bind(host, operations.chains),
    queues: {
      pause: (queue) => atQueue('queue.pause', queue, () => adminOf(client).pause(queue)),
      resume: (queue) => atQueue('queue.resume', queue, () => adminOf(client).resume(queue)),
      clear: (queue) => atQueue('queue.clear', queue, () => clearQueue(client, queue)),
    },
    schedules: {
      async run(name) {
        await checkSchedule(name);
        const inCode = client.app.schedules.find((one) => one.name === name);
        if (!inCode) return runStored(name);
        const { job, payload } = inCode;
        return audited(host, 'schedule.run', name, async (record) => {
          // No moment's key: its own moment stays to be enqueued.
          const idempotencyKey = `schedule-run:${name}@${client.app.newId()}`;
          const { id, duplicate } = await client.enqueue(job, payload, { idempotencyKey, name });
          if (duplicate) record(0, `job ${id} stands for it`);
          else record(1, `enqueued as ${id}`);
          return id;
        });
      },
      pause: (name) =>
        change('schedule.pause', name, (one) => one.schedules.pause(name), 'It was paused already.'),
      resume: (name) =>
        change('schedule.resume', name, (one) => one.schedules.resume(name), 'It was not paused.'),
      upsert: (definition) =>
        audited(host, 'schedule.upsert', String(definition?.name), async (record) => {
          const made = await client.schedules.upsert(definition);
          record(1, `${made.timing}, job ${made.job}`);
          return made;
        }),
      remove: (name) =>
        audited(host, 'schedule.remove', name, async (record) => {
          const isGone = await client.schedules.remove(name);
          record(isGone ? 1 : 0);
          return isGone;
        }),
    },
    events: {
      async emit(event, payload, options) {
        const { key = null } = options ?? {};
        const { checkEvent } = await import('../features/steps/emit.ts');
        checkEvent(event, key);
        const target = key === null ? event : `${event} with key ${JSON.stringify(key)}`;
        return audited(host, 'event.emit', target, async (record) => {
          const reached = await client.emit(event, payload, options);
          record(reached);
          return reached;
        });
      },
    },
    workers: { drain: (id) => audited(host, 'worker.drain', id, () => drainWorker(client, id)) },
    async audit(page = {}) {
      const { audit } = client.stores;
      if (audit) return audit.page(page);
      throw config(`Backend "${client.backend.name}" keeps no audit log. Give it a store that does.`);
    },
  };
}
