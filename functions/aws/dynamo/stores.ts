/** Keys, records, workers and the other stores in the table. */

import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../core/base/clock.ts';
import type { Stores, WorkerRegistry } from '../../../core/contract/store.ts';
import { batchStore } from '../../../core/kit/records/batches.ts';
import { endOf, type KeyTable, keyStore, type StoredKey } from '../../../core/kit/records/keys.ts';
import { defaultRetention, recordStore } from '../../../core/kit/records/store.ts';
import { workerRegistry } from '../../../core/kit/records/worker-registry.ts';
import { forgetWorkerMs } from '../../../core/kit/worker-state.ts';
import { type Dynamo, openDynamo } from './api.ts';
import { dynamoAudit } from './audit.ts';
import { dynamoLimits } from './limits.ts';
import { dynamoMetrics } from './metrics.ts';
import type { DynamoStoreOptions } from './options.ts';
import { dynamoRecords } from './records.ts';
import { dynamoSchedules } from './schedules.ts';
import { expiry, sortKeyOf } from './sort-keys.ts';
import { dynamoSteps } from './steps.ts';
import { partitionKey, sortKey } from './table.ts';
import { dynamoTexts } from './texts.ts';

export function openStores(options: DynamoStoreOptions): Stores & Required<Pick<Stores, 'close'>> {
  const { clock = systemClock } = options;
  const dynamo = openDynamo(options);
  const retention = { ...defaultRetention, ...options.retention };
  return {
    keys: keyStore(keysIn(dynamo), clock),
    records: recordStore(dynamoRecords(dynamo, retention), { clock, retention }),
    workers: workersIn(dynamo),
    metrics: dynamoMetrics(dynamo),
    audit: dynamoAudit(dynamo),
    limits: dynamoLimits(dynamo, clock),
    steps: dynamoSteps(dynamo),
    batches: batchStore(dynamoTexts(dynamo, 'batch', 'lo'), clock),
    schedules: dynamoSchedules(dynamo),
    load: async () => void (await dynamo.api()),
    close: dynamo.close,
  };
}

function keysIn(dynamo: Dynamo): KeyTable {
  const pkOf = (key: string): string => `key#${key}`;
  const during = 'writing a key';
  return {
    async read(key) {
      const [item] = await dynamo.call(during, (api) => api.read([pkOf(key)]));
      if (!item) return null;
      return { stored: JSON.parse(item.key as string) as StoredKey, version: item.version as string };
    },
    write: (key, stored, over) =>
      dynamo.call(during, (api) => {
        const item = { pk: pkOf(key), version: randomUUID(), key: JSON.stringify(stored) };
        return api.write({ ...item, expiresAt: expiry(endOf(stored)) }, over);
      }),
    remove: (key, version) => dynamo.call(during, (api) => api.remove(pkOf(key), version)),
  };
}

/** A list of workers shows no more than these. */
const mostWorkers = 10_000;
const mostTries = 5;

function workersIn(dynamo: Dynamo): WorkerRegistry {
  const pkOf = (id: string): string => `worker#${id}`;
  const partition = 'workers';
  return workerRegistry({
    write: ({ id, seenAt }, beat) =>
      dynamo.call('writing a heartbeat', async (api) => {
        const item = {
          pk: pkOf(id),
          version: randomUUID(),
          beat,
          [partitionKey]: partition,
          [sortKey]: sortKeyOf(seenAt, id),
          expiresAt: expiry(seenAt + forgetWorkerMs), // DynamoDB removes it then
        };
        // A put leaves nothing of what was there, so the first one takes no mark away.
        if (await api.write(item, { without: 'drain' })) return false;
        return api.write({ ...item, drain: 1 });
      }),
    drain: (id) =>
      dynamo.call('asking a worker to drain', async (api) => {
        // A heartbeat may come between.
        for (let tries = 0; tries < mostTries; tries++) {
          const [item] = await api.read([pkOf(id)]);
          if (!item) return false;
          const marked = { ...item, version: randomUUID(), drain: 1 };
          if (await api.write(marked, item.version as string)) return true;
        }
        throw new Error(`lost ${mostTries} races with its heartbeats`);
      }),
    read: (seenSince) =>
      dynamo.call('listing workers', async (api) => {
        const found = await api.query({ partition, from: sortKeyOf(seenSince), max: mostWorkers });
        const items = await api.read(found.map(({ pk }) => pk as string));
        return items.map(({ beat }) => beat as string);
      }),
    remove: (id) => dynamo.call('removing a worker', (api) => api.remove(pkOf(id))),
  });
}
