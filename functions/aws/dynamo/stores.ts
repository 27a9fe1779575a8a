/** Loaded with the first key, record or heartbeat. */

import { systemClock } from '../../../core/base/clock.ts';
import { keyStore } from '../../../core/kit/records/keys.ts';
import type { OpenStores } from '../../../core/kit/records/lazy-stores.ts';
import { defaultRetention, recordStore } from '../../../core/kit/records/store.ts';
import { openDynamo } from './api.ts';
import { dynamoKeys } from './keys.ts';
import type { DynamoStoreOptions } from './options.ts';
import { dynamoRecords } from './records.ts';
import { dynamoWorkers } from './workers.ts';

export function openStores(options: DynamoStoreOptions): OpenStores {
  const { clock = systemClock } = options;
  const dynamo = openDynamo(options);
  const retention = { ...defaultRetention, ...options.retention };
  const records = recordStore(dynamoRecords(dynamo, retention), { clock, retention });
  return {
    keys: keyStore(dynamoKeys(dynamo), clock),
    records,
    writer: records.writer,
    workers: dynamoWorkers(dynamo),
    close: () => dynamo.close(),
  };
}
