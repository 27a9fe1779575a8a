/** `longshore migrate`: creates a missing table. An existing one is checked and not changed: it belongs to a template. */

import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { config } from '../../../core/base/errors.ts';
import type { AuditEntry } from '../../../core/contract/derived/audit.ts';
import type { MetricRow } from '../../../core/contract/derived/metrics.ts';
import type { Check } from '../../../core/contract/diagnosis.ts';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import { CannotLook, check, checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { listOldHolds, oldHolds } from '../../../core/kit/records/old-holds.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import {
  type Dynamo,
  type DynamoApi,
  type DynamoStoreOptions,
  type DynamoTableOptions,
  type Item,
  openDynamo,
} from './sdk.ts';
import { dynamoTable, indexName, partitionKey, sortKey } from './table.ts';
import { dynamoTexts } from './texts.ts';

const version = 2;
const wanted = ['table.pk', `${indexName}.${partitionKey}`, `${indexName}.${sortKey}`];

/** Throws `CONFIG` if the table has another schema. */
export async function migrateTable(
  options: DynamoStoreOptions,
): Promise<{ from: number | null; to: number }> {
  const { table, clock = systemClock } = options;
  const dynamo = openDynamo(options);
  try {
    const keys = await dynamo.call('looking at the table', (api) => api.keys());
    if (keys === null) {
      await dynamo.call('creating the table', (api) => api.create(dynamoTable(table), true));
      return { from: null, to: version };
    }
    if (wanted.every((key) => keys.includes(key)))
      return { from: (await toTexts(dynamo, clock)) ? 1 : version, to: version };
    throw config(
      `Expected table ${table} to have the keys ${wanted.join(', ')}, got ${keys.join(', ')}. It belongs to another program, or its template lacks the index: see dynamoTable().`,
    );
  } finally {
    await dynamo.close();
  }
}

type Derived = ReturnType<typeof storesOf>;

const steps = ['minute', 'hour', 'day'] as const;
const metricPartitions = steps.flatMap((step) =>
  Array.from({ length: 8 }, (_, shard) => [step, `metrics#${step}#${shard}`] as const),
);
/** Partitions of the index in which version 0.1.0 listed what is kept as texts today. */
const oldPartitions = ['schedule-names', 'workers', 'audit', ...metricPartitions.map(([, name]) => name)];

/**
 * Converts items of version 0.1.0 to texts; resolves with whether there were any. Steps, limits and batches stay in place. If a run fails
 * half-way, run it again.
 */
async function toTexts(dynamo: Dynamo, clock: Clock): Promise<boolean> {
  const stores = storesOf(dynamoTexts(dynamo), clock);
  let found = false;
  async function bring(partition: string, write: (item: Item, stores: Derived) => Promise<unknown>) {
    for (;;) {
      const { items: page } = await dynamo.call('migrating', (api) => api.query({ partition, max: 1_000 }));
      if (page.length === 0) return;
      found = true;
      const pks = page.map(({ pk }) => pk as string);
      const items = await dynamo.call('migrating', (api) => api.read(pks));
      await forEach(items, (item) => write(item, stores));
      await dynamo.call('migrating', (api) => forEach(pks, (pk) => api.remove(pk)));
    }
  }
  await bring('schedule-names', async ({ pk }) => {
    const name = (pk as string).slice('schedule-name#'.length);
    const old = `schedule#${name}`;
    const [item] = await dynamo.call('migrating', (api) => api.read([old]));
    if (!item) return;
    const nextAt = (item.nextAt as number | undefined) ?? null;
    await stores.schedules.write({ name, nextAt, text: item.text as string }, null);
    await dynamo.call('migrating', (api) => api.remove(old));
  });
  await bring('workers', ({ beat }) => stores.workers.heartbeat(JSON.parse(beat as string) as WorkerBeat));
  await bring('audit', ({ entry }) => stores.audit.append(JSON.parse(entry as string) as AuditEntry));
  for (const [step, partition] of metricPartitions)
    await bring(partition, ({ at, queue, job = '', source = '', body }) =>
      stores.metrics.write([{ step, at, queue, job, source, body } as MetricRow]),
    );
  return (await listOldHolds(stores.limits!)) || found;
}

interface DynamoFacts {
  readonly table: string;
  /** Name of the attribute with an item's expiry; `null` = DynamoDB removes no items. */
  expiryAttribute(): Promise<string | null>;
  /** Whether there are items that become visible only after `longshore migrate`. */
  isOld(): Promise<boolean>;
}

export function dynamoDiagnosis(options: DynamoTableOptions): Check[] {
  async function look<T>(right: string, ask: (api: DynamoApi, dynamo: Dynamo) => Promise<T>): Promise<T> {
    const dynamo = openDynamo(options);
    try {
      return await dynamo.call('looking at the table', (api) => ask(api, dynamo));
    } catch (error) {
      const cause = (error as Error).cause as Error | undefined;
      if (cause?.name !== 'AccessDeniedException') throw error;
      throw new CannotLook(`this identity may not look: grant it dynamodb:${right}`);
    } finally {
      await dynamo.close();
    }
  }
  return checksOf(dynamoChecks, {
    table: options.table,
    expiryAttribute: () => look('DescribeTimeToLive', (api) => api.expiryAttribute()),
    isOld: () =>
      look('Query', async (api, dynamo) => {
        const pages = oldPartitions.map(async (partition) => (await api.query({ partition, max: 1 })).items);
        const { limits } = storesOf(dynamoTexts(dynamo), systemClock);
        return (await Promise.all([...pages, oldHolds(limits!)])).some(({ length }) => length > 0);
      }),
  });
}

export const dynamoChecks: readonly Check<DynamoFacts>[] = [
  check('dynamo.expiry', 'warning', async ({ table, expiryAttribute }) => {
    const { AttributeName } = dynamoTable(table).TimeToLiveSpecification;
    const attribute = await expiryAttribute();
    if (attribute === AttributeName) return [];
    return {
      where: `table ${table}`,
      text: `${attribute === null ? 'Time to live is off' : `Time to live goes by ${attribute}`}: records, keys and numbers that are past their time stay, and are paid for.`,
      remedy: `Turn it on for the attribute ${AttributeName}, as dynamoTable() says.`,
    };
  }),
  check('dynamo.version', 'error', async ({ table, isOld }) => {
    if (!(await isOld())) return [];
    return {
      where: `table ${table}`,
      text: 'It has schedules, pauses, heartbeats, numbers or audit entries of version 0.1.0, which this version does not see.',
      remedy: 'Run longshore migrate.',
    };
  }),
];
