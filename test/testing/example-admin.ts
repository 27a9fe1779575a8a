/** The administration of the example: dead letters, queues, waiting jobs, and moving a backlog. */

import type { Clock } from '../../core/base/clock.ts';
import type {
  DeadLetter,
  DeadLetters,
  PendingJobs,
  QueueAdmin,
  WaitingChange,
  WaitingJob,
} from '../../core/contract/admin.ts';
import type { JobStatus } from '../../core/contract/outcome.ts';
import type { SendResult } from '../../core/contract/queue.ts';
import { checkBody, checkReplaced, tooLarge } from '../../core/kit/body-limit.ts';
import { summaryOf } from '../../core/kit/records/dead-letter-pages.ts';
import { pageOf, positionIn } from '../../core/kit/records/filter.ts';
import { reschedule } from '../../core/kit/records/reschedule.ts';
import * as rules from '../../core/kit/records/row.ts';
import {
  type MovableAdmin,
  type MovedJob,
  positionOfMoved,
  type QueueTransfer,
} from '../../local/move/contract.ts';
import { ageingMs, type ExampleJobs, held, type Job, maxBodyBytes } from './example-jobs.ts';

export function exampleAdmin(state: ExampleJobs, clock: Clock) {
  const { jobs, queues, paused, all, find, put, drop, queue, newJob, wake } = state;
  const { groupOf, isWaiting, isReady, comeForward, listWaiting } = state;

  const heldIn = (name: string, ids?: readonly string[]): Job[] =>
    all().filter(
      ({ message, lease }) =>
        lease?.token === held && message.queue === name && (!ids || ids.includes(message.id)),
    );
  const waitsAgain = ({ record }: Job): rules.RecordRow => ({
    ...record,
    status: record.attempt > 0 ? 'retrying' : 'pending',
  });
  const cancelled = (one: Job): Job => ({ ...one, record: rules.cancel(waitsAgain(one), clock.now()).row! });

  /** Moves a backlog. A held job counts as leased, but has no owner. */
  const transfer: QueueTransfer = {
    async hold(name, max) {
      const found = listWaiting(name).slice(0, max);
      for (const { message } of found) {
        const one = find(message.id)!;
        const record = { ...one.record, status: 'processing', owner: held } as const;
        const lease = { token: held, until: Number.POSITIVE_INFINITY };
        jobs.put(message.id, { ...one, record, lease, stands: groupOf(one) === null });
      }
      comeForward();
      return found.map(movedOf);
    },
    held: async (name, max) => heldIn(name).slice(0, max).map(movedOf),
    put: async (moved) => moved.map(insert),
    async release(name, ids) {
      const found = heldIn(name, ids);
      for (const one of found)
        if (one.record.cancelRequested) put(cancelled(one));
        else queue({ ...one, record: waitsAgain(one) }, one.readyAt);
      return found.length;
    },
    async remove(name, ids) {
      return ids.map((id) => {
        const [one] = heldIn(name, [id]);
        if (one?.record.cancelRequested) put(cancelled(one));
        else if (one) drop([one]);
        return one !== undefined && !one.record.cancelRequested;
      });
    },
  };

  function insert(moved: MovedJob): SendResult {
    const { message, death, createdAt, attempts: attempt, reports: attempts, progress, interrupted } = moved;
    const error = tooLarge(message.body, maxBodyBytes);
    if (error) return { ok: false, id: message.id, error };
    queues.add(message.queue);
    if (find(message.id)) return { ok: true, id: message.id, duplicate: true };
    const one = newJob(message, message.notBefore ?? clock.now());
    const end = { finishedAt: death?.at ?? null, reason: death?.reason ?? null, error: death?.error ?? null };
    const status: JobStatus = death ? rules.statusOfEnd(death.reason) : 'processing';
    const record = { ...one.record, ...end, createdAt, attempt, attempts, progress, status, owner: held };
    const lease = { token: held, until: Number.POSITIVE_INFINITY };
    put({
      ...one,
      record,
      lease,
      interrupted,
      place: positionOfMoved(moved, clock.now()),
      stands: message.group === null,
    });
    return { ok: true, id: message.id, duplicate: false };
  }

  const dead = (name: string | undefined): Job[] =>
    all()
      .filter(({ message, record }) => rules.isDead(record) && (name === undefined || message.queue === name))
      .sort((a, b) => b.record.finishedAt! - a.record.finishedAt! || b.seq - a.seq);
  const deadOne = (id: string): Job | null => {
    const one = find(id);
    return one && rules.isDead(one.record) ? one : null;
  };

  const deadLetters: DeadLetters = {
    list: async ({ queue: name, max = 100 }) => dead(name).slice(0, max).map(deadLetterOf),
    async page({ queue: name, max = 100, after }) {
      const [at, before] = after === undefined ? [Infinity, 0] : positionIn(after, 'number', 'number');
      const found = dead(name).filter(
        ({ seq, record: { finishedAt } }) => finishedAt! < at || (finishedAt === at && seq < before),
      );
      const { shown, next } = pageOf(found, max, ({ record, seq }) => [record.finishedAt!, seq]);
      return { letters: shown.map((one) => summaryOf(deadLetterOf(one), one.message.tenantId)), next };
    },
    async get(id) {
      const one = deadOne(id);
      return one && deadLetterOf(one);
    },
    async retry(ids, replaced) {
      checkReplaced(replaced, maxBodyBytes);
      let count = 0;
      for (const one of ids.flatMap((id) => deadOne(id) ?? [])) {
        if (!deadOne(one.message.id)) continue; // named twice
        const { facts: _, ...rest } = one.message;
        const replacement = replaced?.get(rest.id);
        const message = replacement ? { ...rest, ...replacement } : one.message;
        const record = rules.retried(one.record, clock.now(), replacement);
        queue({ ...one, message, record, place: null, interrupted: false }, clock.now());
        count++;
      }
      return count;
    },
    discard: async (ids) => ids.filter((id) => deadOne(id) && jobs.remove(id)).length,
  };

  const admin: QueueAdmin & MovableAdmin = {
    deadLetters,
    transfer,
    async stats(only) {
      return (only === undefined ? [...queues] : [only]).map((name) => {
        const mine = all().filter(({ message }) => message.queue === name);
        const ready = mine.filter((job) => isWaiting(job) && isReady(job));
        return {
          queue: name,
          ready: ready.length,
          delayed: mine.filter(isWaiting).length - ready.length,
          leased: mine.filter(({ lease }) => lease !== null).length,
          dead: dead(name).length,
          paused: paused.has(name),
          oldestReadyMs:
            ready.length > 0 ? clock.now() - Math.min(...ready.map(({ readyAt }) => readyAt)) : null,
        };
      });
    },
    async peek(name, max) {
      return listWaiting(name)
        .slice(0, max)
        .map(({ message: { id, queue, job, priority }, readyAt, record: { attempt } }) => {
          return { id, queue, job, priority, readyAt, attempt };
        });
    },
    async clear(name, gone) {
      const found = listWaiting(name);
      drop(found);
      await gone?.(found.map(({ message }) => message.id));
      return found.length;
    },
    async setPaused(name, isPaused) {
      queues.add(name);
      if (isPaused) paused.add(name);
      else paused.delete(name);
      wake();
    },
  };

  const waitingOne = ({ queue: name, id }: WaitingJob): Job | null => {
    const one = find(id);
    return one && isWaiting(one) && one.message.queue === name ? one : null;
  };

  function change(job: WaitingJob, how: WaitingChange): boolean {
    const one = waitingOne(job);
    if (!one || one.message.body !== (how.expectedBody ?? one.message.body)) return false;
    const { message, readyAt, rank } = one;
    const { createdAt } = one.record;
    const { facts, ...rest } = message;
    const { priority, ...next } = reschedule(
      { priority: rest.priority, createdAt, readyAt, rank },
      how,
      clock.now(),
      ageingMs,
    );
    const { body = rest.body } = how;
    const told = how.body === undefined ? facts : how.facts;
    const record = { ...rules.changed(one.record, clock.now(), how)!, runAt: next.readyAt };
    const changed = { ...rest, body, priority, ...(told && { facts: told }) };
    queue({ ...one, message: changed, record }, next.readyAt, next.rank);
    return true;
  }

  const pending: PendingJobs = {
    async change(some, how) {
      checkBody(how.body, maxBodyBytes);
      return some.map((job) => change(job, how));
    },
    async remove(job) {
      const one = waitingOne(job);
      if (one) drop([one]);
      return one !== null;
    },
    read: async (job) => waitingOne(job)?.message.body ?? null,
  };

  return { admin, pending };
}

function deadLetterOf({ message: { id, queue, job, body }, record }: Job): DeadLetter {
  const { reason, error, attempt, finishedAt } = record;
  return { id, queue, job, body, reason: reason!, error: error ?? '', attempt, diedAt: finishedAt! };
}

function movedOf({ message, readyAt, interrupted, record }: Job): MovedJob {
  const { createdAt, attempt: attempts, attempts: reports, progress } = record;
  const waits = { message: { ...message, notBefore: readyAt }, death: null };
  return { ...waits, createdAt, attempts, interrupted, reports, progress };
}
