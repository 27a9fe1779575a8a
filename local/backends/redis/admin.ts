import type { QueueAdmin, QueueStats } from '../../../core/contract/admin.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { readJobs } from './read-jobs.ts';
import { deadLetterOf, peekedOf } from './rows.ts';
import { slices } from './slices.ts';
import type { RedisState } from './state.ts';
import { redisTransfer } from './transfer.ts';

type StatsAnswer = [
  ready: number,
  delayed: number,
  leased: number,
  dead: number,
  paused: number,
  oldest: string | null,
];

const mostPerCall = 1_000;

export function redisAdmin(state: RedisState): QueueAdmin & MovableAdmin {
  const { link } = state;

  async function statsOf(queue: string): Promise<QueueStats> {
    const answer = await state.manage('counting', queue, 'stats', []);
    const [ready, delayed, leased, dead, paused, oldest] = answer as StatsAnswer;
    const oldestReadyMs = oldest === null || oldest === undefined ? null : Number(oldest);
    return { queue, ready, delayed, leased, dead, paused: paused === 1, oldestReadyMs };
  }

  /** In every queue: an id does not say which one has the dead letter. */
  async function inAll(during: string, action: string, ids: readonly string[]): Promise<number> {
    const queues = await state.queues();
    const wanted = [...new Set(ids)];
    let total = 0;
    for (const some of slices(wanted, mostPerCall)) {
      const counts = await Promise.all(
        queues.map((queue) => state.manage(during, queue, action, [state.channel(queue), ...some])),
      );
      for (const count of counts as number[]) total += count;
    }
    return total;
  }

  return {
    transfer: redisTransfer(state),
    async stats(only) {
      const queues = only === undefined ? await state.queues() : [only];
      return Promise.all(queues.map(statsOf));
    },
    async peek(queue, max) {
      const ids = (await state.manage('peeking', queue, 'peek', [`${max}`])) as string[];
      return (await readJobs(state, queue, ids)).map(peekedOf);
    },
    async clear(queue) {
      for (let total = 0; ; ) {
        const count = (await state.manage('clearing', queue, 'clear', [])) as number;
        total += count;
        if (count === 0) return total;
      }
    },
    async pause(queue) {
      await state.register(queue);
      await link.send('pausing', ['HSET', `${state.base(queue)}:info`, 'paused', '1']);
    },
    async resume(queue) {
      await state.register(queue);
      await link.send('resuming', ['HDEL', `${state.base(queue)}:info`, 'paused']);
      const channel = state.channel(queue);
      if (channel !== '') await link.send('resuming', ['PUBLISH', channel, '']);
      state.waiters.wake();
    },
    deadLetters: {
      async list({ queue, max = 100 }) {
        const queues = queue === undefined ? await state.queues() : [queue];
        const lists = await Promise.all(
          queues.map(async (name) => {
            const range = ['ZRANGE', `${state.base(name)}:dead`, '0', `${max - 1}`, 'REV'];
            return readJobs(state, name, (await link.send('listing', range)) as string[], 'whole');
          }),
        );
        const found = lists.flat().filter(({ finishedAt }) => finishedAt !== null);
        found.sort((a, b) => b.finishedAt! - a.finishedAt! || (a.arrival < b.arrival ? 1 : -1));
        return found.slice(0, max).map(deadLetterOf);
      },
      async retry(ids) {
        const count = await inAll('retrying', 'retry', ids);
        if (count > 0) state.waiters.wake();
        return count;
      },
      discard: (ids) => inAll('discarding', 'discard', ids),
    },
  };
}
