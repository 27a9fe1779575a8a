import { randomUUID } from 'node:crypto';
import type { WorkerRegistry } from '../../../core/contract/store.ts';
import { forgetWorkerMs, workerRegistry } from '../../../core/kit/worker-registry.ts';
import type { Dynamo } from './api.ts';
import { expiry, partitionKey, sortKey, sortKeyOf } from './table.ts';

const partition = 'workers';
/** A list shows no more than these. */
const most = 10_000;
const pkOf = (id: string): string => `worker#${id}`;

export function dynamoWorkers(dynamo: Dynamo): WorkerRegistry {
  return workerRegistry({
    write: ({ id, seenAt }, beat) =>
      dynamo.call('writing a heartbeat', (api) =>
        api.replace({
          pk: pkOf(id),
          version: randomUUID(),
          beat,
          [partitionKey]: partition,
          [sortKey]: sortKeyOf(seenAt, id),
          expiresAt: expiry(seenAt + forgetWorkerMs), // DynamoDB removes it then
        }),
      ),
    read: (seenSince) =>
      dynamo.call('listing workers', async (api) => {
        const found = await api.query({ partition, from: sortKeyOf(seenSince), max: most });
        const items = await api.read(found.map(({ pk }) => pk as string));
        return items.map(({ beat }) => beat as string);
      }),
    remove: (id) => dynamo.call('removing a worker', (api) => api.remove(pkOf(id))),
  });
}
