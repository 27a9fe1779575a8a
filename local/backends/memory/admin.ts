import type { QueueAdmin } from '../../../core/contract/admin.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { before, deadLetterOf, type Entry, isDead, peekedOf } from './entry.ts';
import type { MemoryState } from './state.ts';
import { memoryTransfer } from './transfer.ts';

export function memoryAdmin(state: MemoryState, maxBodyBytes: number): QueueAdmin & MovableAdmin {
  const { entries, clock, paused } = state;
  const all = (): Entry[] => [...entries.values()];
  /** `delayed` becomes `ready` at the next fetch, so listings compare with the clock. */
  const isReady = (entry: Entry): boolean =>
    entry.state === 'ready' || (entry.state === 'delayed' && entry.readyAt <= clock.now());
  const isWaiting = (entry: Entry): boolean => entry.state === 'ready' || entry.state === 'delayed';

  return {
    transfer: memoryTransfer(state, maxBodyBytes),
    async stats(only) {
      const queues = only === undefined ? [...state.readyLists.keys()] : [only];
      return queues.map((queue) => {
        const mine = all().filter((entry) => entry.message.queue === queue);
        const ready = mine.filter(isReady);
        const oldest = Math.min(...ready.map((entry) => entry.readyAt));
        return {
          queue,
          ready: ready.length,
          delayed: mine.filter((entry) => isWaiting(entry) && !isReady(entry)).length,
          leased: mine.filter((entry) => entry.state === 'leased').length,
          dead: mine.filter(isDead).length,
          paused: paused.has(queue),
          oldestReadyMs: ready.length > 0 ? clock.now() - oldest : null,
        };
      });
    },
    async peek(queue, max) {
      const waiting = all().filter((entry) => entry.message.queue === queue && isWaiting(entry));
      const order = (a: Entry, b: Entry): number => (before(a, b) ? -1 : 1);
      const ready = waiting.filter(isReady).sort(order);
      const delayed = waiting.filter((entry) => !isReady(entry)).sort((a, b) => a.readyAt - b.readyAt);
      return [...ready, ...delayed].slice(0, max).map(peekedOf);
    },
    async clear(queue) {
      const waiting = all().filter((entry) => entry.message.queue === queue && isWaiting(entry));
      for (const entry of waiting) {
        entry.state = 'cancelled'; // so that its item in the ready list is stale
        entries.delete(entry.message.id);
      }
      return waiting.length;
    },
    async pause(queue) {
      state.readyListOf(queue);
      paused.add(queue);
    },
    async resume(queue) {
      paused.delete(queue);
      state.wake();
    },
    deadLetters: {
      async list({ queue, max = 100 }) {
        return all()
          .filter((entry) => isDead(entry) && (queue === undefined || entry.message.queue === queue))
          .sort((a, b) => b.finishedAt! - a.finishedAt! || b.seq - a.seq)
          .slice(0, max)
          .map(deadLetterOf);
      },
      async retry(ids) {
        let count = 0;
        for (const id of ids) {
          const entry = entries.get(id);
          if (!entry || !isDead(entry)) continue;
          entry.attempt = 0;
          entry.interrupted = false;
          entry.cancelRequested = false;
          entry.finishedAt = null;
          entry.reason = null;
          entry.error = null;
          state.queue(entry, clock.now());
          count++;
        }
        return count;
      },
      async discard(ids) {
        let count = 0;
        for (const id of ids) {
          const entry = entries.get(id);
          if (entry && isDead(entry) && entries.delete(id)) count++;
        }
        return count;
      },
    },
  };
}
