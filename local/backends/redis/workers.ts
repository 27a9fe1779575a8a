import type { WorkerRegistry } from '../../../core/contract/store.ts';
import { workerRegistry } from '../../../core/kit/records/worker-registry.ts';
import type { RedisState } from './state.ts';

/** At one heartbeat. */
const mostForgotten = '100';

export function redisWorkers({ link, prefix }: Pick<RedisState, 'link' | 'prefix'>): WorkerRegistry {
  const beats = `${prefix}:{workers}:beats`;
  const seen = `${prefix}:{workers}:seen`;
  /** Those that are to drain. */
  const drain = `${prefix}:{workers}:drain`;

  const remove = (...ids: string[]) => {
    const during = 'removing a worker';
    return Promise.all([
      link.send(during, ['HDEL', beats, ...ids]),
      link.send(during, ['ZREM', seen, ...ids]),
      link.send(during, ['SREM', drain, ...ids]),
    ]);
  };

  return workerRegistry({
    async write({ id, seenAt }, text, goneBefore) {
      const during = 'writing a heartbeat';
      const findGone = ['ZRANGEBYSCORE', seen, '-inf', `(${goneBefore}`, 'LIMIT', '0', mostForgotten];
      const [, , gone, asked] = await Promise.all([
        link.send(during, ['HSET', beats, id, text]),
        link.send(during, ['ZADD', seen, `${seenAt}`, id]),
        link.send(during, findGone),
        link.send(during, ['SISMEMBER', drain, id]),
      ]);
      if ((gone as string[]).length > 0) await remove(...(gone as string[]));
      return asked === 1;
    },
    async read(seenSince) {
      const during = 'listing workers';
      const ids = (await link.send(during, ['ZRANGEBYSCORE', seen, `${seenSince}`, '+inf'])) as string[];
      if (ids.length === 0) return [];
      const texts = (await link.send(during, ['HMGET', beats, ...ids])) as (string | null)[];
      return texts.filter((text) => text !== null);
    },
    remove,
    async drain(id) {
      const during = 'asking a worker to drain';
      // In this order, so that the mark of a worker that goes meanwhile does not stay.
      await link.send(during, ['SADD', drain, id]);
      if ((await link.send(during, ['HEXISTS', beats, id])) === 1) return true;
      await link.send(during, ['SREM', drain, id]);
      return false;
    },
  });
}
