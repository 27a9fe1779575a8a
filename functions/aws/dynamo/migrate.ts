/** `longshore migrate`: creates a missing table. An existing one is checked and not changed: it belongs to a template. */

import { config } from '../../../core/base/errors.ts';
import { openDynamo } from './api.ts';
import type { DynamoTableOptions } from './options.ts';
import { dynamoTable, indexName, partitionKey, sortKey } from './table.ts';

const version = 1;
const wanted = ['table.pk', `${indexName}.${partitionKey}`, `${indexName}.${sortKey}`];

/** Throws `CONFIG` for a table of another kind. */
export async function migrateTable(
  options: DynamoTableOptions,
): Promise<{ from: number | null; to: number }> {
  const { table } = options;
  const dynamo = openDynamo(options);
  try {
    const keys = await dynamo.call('looking at the table', (api) => api.keys());
    if (keys === null) {
      await dynamo.call('creating the table', (api) => api.create(dynamoTable(table), true));
      return { from: null, to: version };
    }
    if (wanted.every((key) => keys.includes(key))) return { from: version, to: version };
    throw config(
      `Expected table ${table} to have the keys ${wanted.join(', ')}, got ${keys.join(', ')}. It is another program's, or its template lacks the index: see dynamoTable().`,
    );
  } finally {
    await dynamo.close();
  }
}
