import { randomUUID } from 'node:crypto';
import type { WorkerBeat, WorkerRegistry } from '../../../core/contract/store.ts';
import type { Dynamo } from './api.ts';
import { addressOf, expiry } from './table.ts';

const shelf = 'workers';
/** A worker not seen for a day is gone. */
const forgetMs = 86_400_000;
/** More than these are not listed. */
const most = 10_000;

export function dynamoWorkers(dynamo: Dynamo): WorkerRegistry {
  const pkOf = (id: string): string => `worker#${id}`;
  return {
    heartbeat: (beat) =>
      dynamo.call('writing a heartbeat', async (api) => {
        const { id, seenAt } = beat;
        const address = { shelf, address: addressOf(seenAt, id), expiresAt: expiry(seenAt + forgetMs) };
        const item = { pk: pkOf(id), version: randomUUID(), beat: JSON.stringify(beat), ...address };
        await api.replace(item);
      }),
    list: (seenSince) =>
      dynamo.call('listing workers', async (api) => {
        const found = await api.shelf({ shelf, from: addressOf(seenSince), max: most });
        if (found.length === 0) return [];
        const items = await api.read(found.map(({ pk }) => pk as string));
        const beats = items.map(({ beat }) => JSON.parse(beat as string) as WorkerBeat);
        return beats.filter(({ seenAt }) => seenAt >= seenSince).sort((a, b) => a.startedAt - b.startedAt);
      }),
    remove: (id) =>
      dynamo.call('removing a worker', async (api) => {
        await api.remove(pkOf(id));
      }),
  };
}
