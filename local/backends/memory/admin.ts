import type { DeadLetters, QueueAdmin } from '../../../core/contract/admin.ts';
import { checkReplaced } from '../../../core/kit/body-limit.ts';
import { summaryOf } from '../../../core/kit/records/dead-letter-pages.ts';
import { pageOf, positionIn } from '../../../core/kit/records/filter.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { deadLetterOf, type Entry, isDead, isReady, peekedOf, waitingOf } from './entry.ts';
import type { MemoryState } from './state.ts';
import { memoryTransfer } from './transfer.ts';

export function memoryAdmin(state: MemoryState, maxBodyBytes: number): QueueAdmin & MovableAdmin {
  const { entries, clock, paused } = state;
  const all = (): Entry[] => [...entries.values()];
  const waiting = (queue: string): Entry[] => waitingOf(queue, entries.values(), clock.now());

  return {
    transfer: memoryTransfer(state, maxBodyBytes),
    async stats(only) {
      const queues = only === undefined ? [...state.readyLists.keys()] : [only];
      return queues.map((queue) => {
        const mine = all().filter((entry) => entry.message.queue === queue);
        const now = clock.now();
        const ready = mine.filter((entry) => isReady(entry, now));
        const oldest = Math.min(...ready.map((entry) => entry.readyAt));
        return {
          queue,
          ready: ready.length,
          delayed: mine.filter((entry) => entry.state === 'delayed' && !isReady(entry, now)).length,
          leased: mine.filter((entry) => entry.state === 'leased').length,
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
      const entries = waiting(queue);
      state.drop(entries);
      await gone?.(entries.map(({ message }) => message.id));
      return entries.length;
    },
    async setPaused(queue, isPaused) {
      state.readyListOf(queue);
      if (isPaused) paused.add(queue);
      else paused.delete(queue);
      state.wake();
    },
    deadLetters: memoryDeadLetters(state, maxBodyBytes),
  };
}

function memoryDeadLetters(state: MemoryState, maxBodyBytes: number): DeadLetters {
  const { entries, clock } = state;

  /** Newest first. */
  const dead = (queue: string | undefined): Entry[] =>
    [...entries.values()]
      .filter((entry) => isDead(entry) && (queue === undefined || entry.message.queue === queue))
      .sort((a, b) => b.finishedAt! - a.finishedAt! || b.seq - a.seq);

  function deadOne(id: string): Entry | null {
    const entry = entries.get(id);
    return entry && isDead(entry) ? entry : null;
  }

  return {
    async list({ queue, max = 100 }) {
      return dead(queue).slice(0, max).map(deadLetterOf);
    },
    async page({ queue, max = 100, after }) {
      const [at, seq] = after === undefined ? [Infinity, 0] : positionIn(after, 'number', 'number');
      const isAfter = (entry: Entry) =>
        entry.finishedAt! < at || (entry.finishedAt === at && entry.seq < seq);
      const found = dead(queue).filter(isAfter);
      const { shown, next } = pageOf(found, max, ({ finishedAt, seq }) => [finishedAt!, seq]);
      return {
        letters: shown.map((entry) => summaryOf(deadLetterOf(entry), entry.message.tenantId)),
        next,
      };
    },
    async get(id) {
      const entry = deadOne(id);
      return entry && deadLetterOf(entry);
    },
    async retry(ids, replaced) {
      checkReplaced(replaced, maxBodyBytes);
      let count = 0;
      for (const id of ids) {
        const entry = deadOne(id);
        if (!entry) continue;
        const { facts: _, ...message } = entry.message;
        const replacement = replaced?.get(id);
        if (replacement) entry.message = { ...message, ...replacement };
        entry.attempt = 0;
        entry.interrupted = false;
        entry.cancelRequested = false;
        entry.finishedAt = null;
        entry.reason = null;
        entry.error = null;
        entry.place = null;
        state.queue(entry, clock.now());
        count++;
      }
      return count;
    },
    async discard(ids) {
      return ids.filter((id) => deadOne(id) && entries.delete(id)).length;
    },
  };
}
