/** Transfers waiting jobs to and from another backend. A held entry counts as leased, but has no owner. */

import type { SendResult } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { statusOfEnd } from '../../../core/kit/records/row.ts';
import { type MovedJob, positionOfMoved, type QueueTransfer } from '../../move/contract.ts';
import { type Entry, newEntry, waitingOf } from './entry.ts';
import type { MemoryState } from './state.ts';

/** Never the token of a fetch. */
const heldToken = '~move';
const isHeld = (entry: Entry): boolean => entry.state === 'leased' && entry.token === heldToken;

export function memoryTransfer(state: MemoryState, maxBodyBytes: number): QueueTransfer {
  const { entries, clock } = state;

  function heldOf(queue: string, id: string): Entry | null {
    const entry = entries.get(id);
    return entry && entry.message.queue === queue && isHeld(entry) ? entry : null;
  }

  const cancel = (entry: Entry): void => state.finish(entry, 'cancelled', null);

  function insert(job: MovedJob): SendResult {
    const { message, death } = job;
    const { id, body, queue } = message;
    const error = tooLarge(body, maxBodyBytes);
    if (error) return { ok: false, id, error };
    state.readyListOf(queue);
    if (entries.has(id)) return { ok: true, id, duplicate: true };
    const now = clock.now();
    const entry: Entry = {
      ...newEntry(state.nextSeq(), message, now),
      createdAt: job.createdAt,
      state: death ? statusOfEnd(death.reason) : 'leased',
      readyAt: message.notBefore ?? now,
      attempt: job.attempts,
      token: heldToken,
      leaseUntil: Number.POSITIVE_INFINITY,
      leasedAt: now,
      interrupted: job.interrupted,
      finishedAt: death?.at ?? null,
      reports: [...job.reports],
      progress: job.progress,
      reason: death?.reason ?? null,
      error: death?.error ?? null,
      place: positionOfMoved(job, now),
    };
    entries.set(id, entry);
    if (message.group !== null && !death) state.groups.lease(entry, now);
    return { ok: true, id, duplicate: false };
  }

  return {
    async hold(queue, max) {
      const held = waitingOf(queue, entries.values(), clock.now()).slice(0, max);
      for (const entry of held) Object.assign(entry, { state: 'leased', token: heldToken, lined: null });
      for (const entry of held) if (entry.message.group !== null) state.groups.lease(entry, clock.now());
      return held.map(movedOf);
    },
    async held(queue, max) {
      const held = [...entries.values()].filter((entry) => entry.message.queue === queue && isHeld(entry));
      return held.slice(0, max).map(movedOf);
    },
    async put(jobs) {
      return jobs.map(insert);
    },
    async release(queue, ids) {
      const held = ids.flatMap((id) => heldOf(queue, id) ?? []);
      for (const entry of held) {
        if (entry.cancelRequested) cancel(entry);
        else state.queue(entry, entry.readyAt);
      }
      return held.length;
    },
    async remove(queue, ids) {
      return ids.map((id) => {
        const entry = heldOf(queue, id);
        if (entry?.cancelRequested) cancel(entry);
        else if (entry) state.drop([entry]);
        return entry !== null && !entry.cancelRequested;
      });
    },
  };
}

function movedOf(entry: Entry): MovedJob {
  const { message, createdAt, readyAt, attempt, interrupted, reports, progress } = entry;
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
