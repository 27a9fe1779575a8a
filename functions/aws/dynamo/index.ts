/** State in one DynamoDB table, for queues that keep none: a pure AWS application needs no database beside it. */

import { config, shown } from '../../../core/errors.ts';
import type { Stores } from '../../../core/store.ts';
import type { DynamoStoreOptions, DynamoTableOptions } from './options.ts';
import type { OpenStores } from './stores.ts';
import { dynamoTable } from './table.ts';

export type { DynamoClient, DynamoStoreOptions, DynamoTableOptions } from './options.ts';
export { type DynamoTable, dynamoTable } from './table.ts';

/**
 * Loads and opens nothing before the first use. The table must be there: see `createDynamoTable()` and `dynamoTable()`.
 * Moments are those of the processes' clocks, so hosts should agree about the time to the second.
 */
export function dynamoStore(
  options: DynamoStoreOptions,
): Stores & Required<Pick<Stores, 'migrate' | 'close'>> {
  check(options, 'dynamoStore()');
  let opening: Promise<OpenStores> | null = null;
  const open = (): Promise<OpenStores> => {
    opening ??= import('./stores.ts').then(({ openStores }) => openStores(options));
    return opening;
  };
  const part = <Name extends Exclude<keyof OpenStores, 'close'>>(
    name: Name,
    verbs: readonly (keyof OpenStores[Name] & string)[],
  ): OpenStores[Name] => verbsOf(verbs, async () => (await open())[name]);
  return {
    keys: part('keys', ['claim', 'extend', 'complete', 'release']),
    records: {
      ...part('records', ['get', 'list', 'progress', 'cancel', 'cancelRequested', 'purge']),
      writer: part('writer', ['enqueued', 'started', 'settled']),
    },
    workers: part('workers', ['heartbeat', 'list', 'remove']),
    migrate: async () => (await import('./migrate.ts')).migrateTable(options),
    async close() {
      await (await opening)?.close();
    },
  };
}

type Verb = (...args: unknown[]) => Promise<unknown>;

/** An object of which each verb first asks for the real one. */
function verbsOf<T>(verbs: readonly (keyof T & string)[], real: () => Promise<T>): T {
  const entries = verbs.map((verb) => [
    verb,
    async (...args: unknown[]) => ((await real())[verb] as Verb)(...args),
  ]);
  return Object.fromEntries(entries) as T;
}

/** Creates the table and waits until it can be used; for tests and for those who write no templates. */
export async function createDynamoTable(options: DynamoTableOptions): Promise<void> {
  check(options, 'createDynamoTable()');
  const { openDynamo } = await import('./api.ts');
  const dynamo = openDynamo(options);
  try {
    await dynamo.call('creating the table', (api) => api.create(dynamoTable(options.table), false));
  } finally {
    await dynamo.close();
  }
}

function check({ table }: DynamoTableOptions, caller: string): void {
  if (typeof table === 'string' && /^[A-Za-z0-9_.-]{3,255}$/.test(table)) return;
  throw config(`${caller} expects table to be the name of a table, got ${shown(table)}.`);
}
