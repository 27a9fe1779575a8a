/** State in one DynamoDB table, for queues that keep none: a pure AWS application needs no database beside it. */

import { systemClock } from '../../../core/clock.ts';
import { config, shown } from '../../../core/errors.ts';
import { recordStore } from '../../../core/records/store.ts';
import type { Stores } from '../../../core/store.ts';
import { openDynamo } from './api.ts';
import { dynamoKeys } from './keys.ts';
import type { DynamoStoreOptions, DynamoTableOptions } from './options.ts';
import { dynamoRecords } from './records.ts';
import { dynamoTable } from './table.ts';
import { dynamoWorkers } from './workers.ts';

export type { DynamoClient, DynamoStoreOptions, DynamoTableOptions } from './options.ts';
export { type DynamoTable, dynamoTable } from './table.ts';

/** As long as the other stores. */
const defaultRetention = { completedMs: 7 * 86_400_000, deadMs: 90 * 86_400_000 };

/**
 * Opens nothing before the first use. The table must be there: see `createDynamoTable()` and `dynamoTable()`.
 * Moments are those of the processes' clocks, so hosts should agree about the time to the second.
 */
export function dynamoStore(options: DynamoStoreOptions): Stores & { close(): Promise<void> } {
  const { clock = systemClock } = options;
  const dynamo = openDynamo(checked(options, 'dynamoStore()'));
  const retention = { ...defaultRetention, ...options.retention };
  return {
    keys: dynamoKeys(dynamo, clock),
    records: recordStore(dynamoRecords(dynamo, retention), { clock, retention }),
    workers: dynamoWorkers(dynamo),
    close: () => dynamo.close(),
  };
}

/** Creates the table and waits until it can be used; for tests and for those who write no templates. */
export async function createDynamoTable(options: DynamoTableOptions): Promise<void> {
  const dynamo = openDynamo(checked(options, 'createDynamoTable()'));
  try {
    await dynamo.call('creating the table', (api) => api.create(dynamoTable(options.table)));
  } finally {
    await dynamo.close();
  }
}

function checked<T extends DynamoTableOptions>(options: T, caller: string): T {
  const { table } = options;
  if (typeof table === 'string' && /^[A-Za-z0-9_.-]{3,255}$/.test(table)) return options;
  throw config(`${caller} expects table to be the name of a table, got ${shown(table)}.`);
}
