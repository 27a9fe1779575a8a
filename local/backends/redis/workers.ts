import type { WorkerRegistry } from '../../../core/contract/store.ts';
import { workerRegistry } from '../../../core/kit/records/worker-registry.ts';
import type { RedisState } from './state.ts';

/** At one heartbeat. */
const mostForgotten = '100';

export function redisWorkers({ link, prefix }: Pick<RedisState, 'link' | 'prefix'>): WorkerRegistry {
  const beats = `${prefix}:{workers}:beats`;
  const seen = `${prefix}:{workers}:seen`;

  const remove = (...ids: string[]) => {
    const during = 'removing a worker';
    return Promise.all([
      link.send(during, ['HDEL', beats, ...ids]),
      link.send(during, ['ZREM', seen, ...ids]),
    ]);
  };

  return workerRegistry({
    async write({ id, seenAt }, text, goneBefore) {
      const during = 'writing a heartbeat';
      const findGone = ['ZRANGEBYSCORE', seen, '-inf', `(${goneBefore}`, 'LIMIT', '0', mostForgotten];
      const [, , gone] = await Promise.all([
        link.send(during, ['HSET', beats, id, text]),
        link.send(during, ['ZADD', seen, `${seenAt}`, id]),
        link.send(during, findGone),
      ]);
      if ((gone as string[]).length > 0) await remove(...(gone as string[]));
    },
    async read(seenSince) {
      const during = 'listing workers';
      const ids = (await link.send(during, ['ZRANGEBYSCORE', seen, `${seenSince}`, '+inf'])) as string[];
      if (ids.length === 0) return [];
      const texts = (await link.send(during, ['HMGET', beats, ...ids])) as (string | null)[];
      return texts.filter((text) => text !== null);
    },
    remove,
  });
}
