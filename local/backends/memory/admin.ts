import type { QueueAdmin } from '../../../core/contract/admin.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { memoryDeadLetters } from './dead-letters.ts';
import { type Entry, isDead, isReady, peekedOf, waitingOf } from './entry.ts';
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
    async pause(queue) {
      state.readyListOf(queue);
      paused.add(queue);
    },
    async resume(queue) {
      paused.delete(queue);
      state.wake();
    },
    deadLetters: memoryDeadLetters(state, maxBodyBytes),
  };
}
