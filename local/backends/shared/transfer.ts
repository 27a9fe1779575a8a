/** Moves the waiting jobs of a queue in memory to and from another backend. A held job counts as leased, but has no owner. */

import type { QueueAdmin } from '../../../core/contract/admin.ts';
import { adminOf } from '../../../core/kit/in-memory/admin.ts';
import { isDead, type KeptJob, waitingOf } from '../../../core/kit/in-memory/job.ts';
import type { JobTable } from '../../../core/kit/in-memory/table.ts';
import { statusOfEnd } from '../../../core/kit/records/row.ts';
import {
  type MovableAdmin,
  type MovedJob,
  positionOfMoved,
  type QueueTransfer,
} from '../../move/contract.ts';

/** The token is never that of a fetch. */
const held = { state: 'leased', token: '~move', leaseUntil: Number.POSITIVE_INFINITY } as const;
const isHeld = ({ state, token }: KeptJob): boolean => state === held.state && token === held.token;

export const movableAdmin = (table: JobTable): QueueAdmin & MovableAdmin => ({
  ...adminOf(table),
  transfer: transferOf(table),
});

function transferOf(table: JobTable): QueueTransfer {
  const { jobs, clock } = table;

  function heldOf(queue: string, id: string): KeptJob | null {
    const job = jobs.get(id);
    return job && job.message.queue === queue && isHeld(job) ? job : null;
  }

  function begin(job: KeptJob, moved: MovedJob): void {
    const { message, death, createdAt, attempts, interrupted, reports, progress } = moved;
    const now = clock.now();
    Object.assign(job, held, {
      ...{ createdAt, attempt: attempts, interrupted, reports: [...reports], progress },
      readyAt: message.notBefore ?? now,
      leasedAt: now,
      place: positionOfMoved(moved, now),
      ...(death && {
        ...{ state: statusOfEnd(death.reason), finishedAt: death.at },
        ...{ reason: death.reason, error: death.error },
      }),
    });
    if (!isDead(job)) table.leased(job);
  }

  return {
    async hold(queue, max) {
      const found = waitingOf(queue, jobs.values(), clock.now()).slice(0, max);
      for (const job of found) Object.assign(job, held, { inLine: false });
      for (const job of found) table.leased(job);
      return found.map(movedOf);
    },
    async held(queue, max) {
      const found = [...jobs.values()].filter((job) => job.message.queue === queue && isHeld(job));
      return found.slice(0, max).map(movedOf);
    },
    put: async (all) => all.map((moved) => table.add(moved.message, (job) => begin(job, moved))),
    async release(queue, ids) {
      const found = ids.flatMap((id) => heldOf(queue, id) ?? []);
      for (const job of found) table.requeue(job, job.readyAt);
      return found.length;
    },
    async remove(queue, ids) {
      return ids.map((id) => {
        const job = heldOf(queue, id);
        if (job?.cancelRequested) table.finish(job, 'cancelled', null);
        else if (job) table.drop([job]);
        return job !== null && !job.cancelRequested;
      });
    },
  };
}

function movedOf(job: KeptJob): MovedJob {
  const { message, createdAt, readyAt, attempt, interrupted, reports, progress } = job;
  return {
    message: { ...message, notBefore: readyAt },
    createdAt,
    attempts: attempt,
    interrupted,
    reports: [...reports],
    progress,
    death: null,
  };
}
