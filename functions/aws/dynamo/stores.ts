/** What is loaded with the first key, record or heartbeat. */

import { systemClock } from '../../../core/clock.ts';
import { recordStore } from '../../../core/records/store.ts';
import { openDynamo } from './api.ts';
import { dynamoKeys } from './keys.ts';
import type { DynamoStoreOptions } from './options.ts';
import { dynamoRecords } from './records.ts';
import { dynamoWorkers } from './workers.ts';

/** As long as the other stores. */
const defaultRetention = { completedMs: 7 * 86_400_000, deadMs: 90 * 86_400_000 };

export function openStores(options: DynamoStoreOptions) {
  const { clock = systemClock } = options;
  const dynamo = openDynamo(options);
  const retention = { ...defaultRetention, ...options.retention };
  const records = recordStore(dynamoRecords(dynamo, retention), { clock, retention });
  return {
    keys: dynamoKeys(dynamo, clock),
    records,
    writer: records.writer,
    workers: dynamoWorkers(dynamo),
    close: () => dynamo.close(),
  };
}

export type OpenStores = ReturnType<typeof openStores>;
