import type { WorkerBeat, WorkerRegistry } from '../../../core/contract/store.ts';
import type { RedisState } from './index.ts';

/** A worker not seen for a day is gone; it is forgotten at the next heartbeat of another. */
const forgetMs = 86_400_000;
const mostForgotten = 100;

export function redisWorkers({ link, prefix }: Pick<RedisState, 'link' | 'prefix'>): WorkerRegistry {
  const beats = `${prefix}:{workers}:beats`;
  const seen = `${prefix}:{workers}:seen`;

  return {
    async heartbeat(beat) {
      const during = 'writing a heartbeat';
      const since = `(${beat.seenAt - forgetMs}`;
      const [, , old] = (await Promise.all([
        link.send(during, ['HSET', beats, beat.id, JSON.stringify(beat)]),
        link.send(during, ['ZADD', seen, `${beat.seenAt}`, beat.id]),
        link.send(during, ['ZRANGEBYSCORE', seen, '-inf', since, 'LIMIT', '0', `${mostForgotten}`]),
      ])) as [unknown, unknown, string[]];
      if (old.length === 0) return;
      await Promise.all([
        link.send(during, ['HDEL', beats, ...old]),
        link.send(during, ['ZREM', seen, ...old]),
      ]);
    },
    async list(seenSince) {
      const during = 'listing workers';
      const ids = (await link.send(during, ['ZRANGEBYSCORE', seen, `${seenSince}`, '+inf'])) as string[];
      if (ids.length === 0) return [];
      const texts = (await link.send(during, ['HMGET', beats, ...ids])) as (string | null)[];
      return texts
        .flatMap((text) => (text === null ? [] : [JSON.parse(text) as WorkerBeat]))
        .sort((a, b) => a.startedAt - b.startedAt);
    },
    async remove(id) {
      const during = 'removing a worker';
      await Promise.all([link.send(during, ['HDEL', beats, id]), link.send(during, ['ZREM', seen, id])]);
    },
  };
}
