import type { QueueAdmin, QueueStats } from '../../../core/contract/admin.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { redisDeadLetters } from './dead-letters.ts';
import { readJobs } from './read-jobs.ts';
import { peekedOf } from './rows.ts';
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

export function redisAdmin(state: RedisState): QueueAdmin & MovableAdmin {
  const { link } = state;

  async function statsOf(queue: string): Promise<QueueStats> {
    const answer = await state.manage('counting', queue, 'stats', []);
    const [ready, delayed, leased, dead, paused, oldest] = answer as StatsAnswer;
    const oldestReadyMs = oldest === null || oldest === undefined ? null : Number(oldest);
    return { queue, ready, delayed, leased, dead, paused: paused === 1, oldestReadyMs };
  }

  return {
    transfer: redisTransfer(state),
    diagnose: async (request) => (await import('./diagnose.ts')).redisDiagnosis(state, request),
    async stats(only) {
      const queues = only === undefined ? await state.queues() : [only];
      return Promise.all(queues.map(statsOf));
    },
    async peek(queue, max) {
      const ids = (await state.manage('peeking', queue, 'peek', [`${max}`])) as string[];
      return (await readJobs(state, queue, ids)).map(peekedOf);
    },
    async clear(queue, gone) {
      for (let total = 0; ; ) {
        const ids = (await state.manage('clearing', queue, 'clear', [])) as string[];
        if (ids.length === 0) return total;
        total += ids.length;
        await gone?.(ids);
      }
    },
    async probe() {
      await link.send('probing', ['SET', `${state.prefix}:probe`, '1', 'PX', '1000']);
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
      state.waiters.wake(queue);
    },
    deadLetters: redisDeadLetters(state),
  };
}
