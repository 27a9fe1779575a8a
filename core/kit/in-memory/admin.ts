/** The administration of a queue in memory. */

import type { DeadLetters, QueueAdmin } from '../../contract/admin.ts';
import { checkReplaced } from '../body-limit.ts';
import { summaryOf } from '../records/dead-letter-pages.ts';
import { pageOf, positionIn } from '../records/filter.ts';
import { deadLetterOf, isDead, isReady, type KeptJob, peekedOf, waitingOf } from './job.ts';
import type { JobTable } from './table.ts';

export function adminOf(table: JobTable): QueueAdmin {
  const { jobs, queues, paused, clock } = table;
  const waiting = (queue: string): KeptJob[] => waitingOf(queue, jobs.values(), clock.now());

  return {
    async stats(only) {
      return (only === undefined ? [...queues] : [only]).map((queue) => {
        const mine = [...jobs.values()].filter((job) => job.message.queue === queue);
        const now = clock.now();
        const ready = mine.filter((job) => isReady(job, now));
        const oldest = Math.min(...ready.map((job) => job.readyAt));
        return {
          queue,
          ready: ready.length,
          delayed: mine.filter((job) => job.state === 'delayed' && !isReady(job, now)).length,
          leased: mine.filter((job) => job.state === 'leased').length,
          dead: mine.filter(isDead).length,
          paused: paused.has(queue),
          oldestReadyMs: ready.length > 0 ? now - oldest : null,
        };
      });
    },
    async peek(queue, max) {
      return waiting(queue).slice(0, max).map(peekedOf);
    },
    async clear(queue, gone) {
      const found = waiting(queue);
      table.drop(found);
      await gone?.(found.map(({ message }) => message.id));
      return found.length;
    },
    async setPaused(queue, isPaused) {
      queues.add(queue);
      if (isPaused) paused.add(queue);
      else paused.delete(queue);
      table.wake();
    },
    deadLetters: deadLettersOf(table),
  };
}

function deadLettersOf({ jobs, clock, maxBodyBytes, queue: requeue }: JobTable): DeadLetters {
  /** Newest first. */
  const dead = (queue: string | undefined): KeptJob[] =>
    [...jobs.values()]
      .filter((job) => isDead(job) && (queue === undefined || job.message.queue === queue))
      .sort((a, b) => b.finishedAt! - a.finishedAt! || b.seq - a.seq);

  function deadOne(id: string): KeptJob | null {
    const job = jobs.get(id);
    return job && isDead(job) ? job : null;
  }

  return {
    async list({ queue, max = 100 }) {
      return dead(queue).slice(0, max).map(deadLetterOf);
    },
    async page({ queue, max = 100, after }) {
      const [at, seq] = after === undefined ? [Infinity, 0] : positionIn(after, 'number', 'number');
      const isAfter = (job: KeptJob) => job.finishedAt! < at || (job.finishedAt === at && job.seq < seq);
      const found = dead(queue).filter(isAfter);
      const { shown, next } = pageOf(found, max, ({ finishedAt, seq }) => [finishedAt!, seq]);
      return { letters: shown.map((job) => summaryOf(deadLetterOf(job), job.message.tenantId)), next };
    },
    async get(id) {
      const job = deadOne(id);
      return job && deadLetterOf(job);
    },
    async retry(ids, replaced) {
      checkReplaced(replaced, maxBodyBytes);
      let count = 0;
      for (const id of ids) {
        const job = deadOne(id);
        if (!job) continue;
        const { facts: _, ...message } = job.message;
        const replacement = replaced?.get(id);
        if (replacement) job.message = { ...message, ...replacement };
        Object.assign(job, reopened);
        requeue(job, clock.now());
        count++;
      }
      return count;
    },
    async discard(ids) {
      return ids.filter((id) => deadOne(id) && jobs.delete(id)).length;
    },
  };
}

const reopened = {
  attempt: 0,
  interrupted: false,
  cancelRequested: false,
  finishedAt: null,
  reason: null,
  error: null,
  place: null,
} as const satisfies Partial<KeptJob>;
