/** The only file that imports the SDK. It is loaded on first use, because that takes ten times as long as loading the rest. */

import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../../core/base/clock.ts';
import { optional } from '../../../core/base/optional.ts';
import { slices } from '../../../core/base/slices.ts';
import type { Retention } from '../../../core/contract/store.ts';
import { type Service, serviceOf } from '../../../core/kit/service.ts';
import { endpointFor, openClient, type Remedies, type SdkClient, sdkError } from '../sdk-client.ts';
import { type DynamoTable, indexName, partitionKey, sortKey } from './table.ts';

/** An item without DynamoDB's type tags; attributes without a value are left out. */
export type Item = Readonly<Record<string, string | number | null>>;
type Attributes = Record<string, AttributeValue>;

export interface IndexQuery {
  readonly partition: string;
  /** The first sort key, and the last one. */
  readonly from?: string;
  readonly to?: string;
  /** A condition on attributes of the index, with names like `#queue` and values like `:queue`. */
  readonly where?: string;
  readonly values?: Item;
  /** The most matches to return. @default all */
  readonly max?: number;
  /** The most requests. @default any number */
  readonly mostRequests?: number;
  /** First sort key first. @default false */
  readonly forward?: boolean;
}

export interface IndexPage {
  readonly items: readonly Item[];
  /** Where the query stopped after `mostRequests`: an item that may not match. Later ones were not looked at. `null` = it did not stop. */
  readonly stoppedAt: Item | null;
}

/** The requests that Longshore makes. */
export type DynamoApi = Awaited<ReturnType<typeof openApi>>;

/** The most keys in one BatchGetItem. */
const batchSize = 100;
const timeoutMs = 5_000;

async function openApi(options: DynamoTableOptions) {
  const { table: TableName } = options;
  const sdk = await import('@aws-sdk/client-dynamodb').catch(optional('@aws-sdk/client-dynamodb'));
  const service = { sdk: '@aws-sdk/client-dynamodb', goesTo: endpointFor('DYNAMODB', options), timeoutMs };
  const client = openClient(options, service, (settings) => new sdk.DynamoDBClient(settings));

  async function readBatch(pks: readonly string[]): Promise<Item[]> {
    const found: Item[] = [];
    let keys = [...new Set(pks)].map((pk): Attributes => ({ pk: { S: pk } }));
    for (let pauseMs = 20; keys.length > 0; pauseMs = Math.min(1_000, pauseMs * 2)) {
      const RequestItems = { [TableName]: { Keys: keys, ConsistentRead: true } };
      const answer = await client.send(new sdk.BatchGetItemCommand({ RequestItems }));
      found.push(...(answer.Responses?.[TableName] ?? []).map(itemOf));
      keys = answer.UnprocessedKeys?.[TableName]?.Keys ?? [];
      // An answer has at most 16 MB, and less when the table is throttled.
      if (keys.length > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    return found;
  }

  return {
    /** Reads consistently. Missing items are left out. */
    async read(pks: readonly string[]): Promise<Item[]> {
      if (pks.length === 1) {
        const Key = { pk: { S: pks[0]! } };
        const { Item } = await client.send(new sdk.GetItemCommand({ TableName, Key, ConsistentRead: true }));
        return Item ? [itemOf(Item)] : [];
      }
      return (await Promise.all([...slices(pks, batchSize)].map(readBatch))).flat();
    },
    /**
     * `over`: the version that was read; `null` = the item must not exist. @default overwrite any version. Resolves with `false`, and changes
     * nothing, if the version differs.
     */
    write: (item: Item, over?: Expected): Promise<boolean> =>
      unlessOvertaken(
        client.send(new sdk.PutItemCommand({ TableName, Item: attributesOf(item), ...expecting(over) })),
      ),
    remove: (pk: string, over?: Expected): Promise<boolean> =>
      unlessOvertaken(
        client.send(new sdk.DeleteItemCommand({ TableName, Key: { pk: { S: pk } }, ...expecting(over) })),
      ),
    /** Items of one index partition, last sort key first. */
    async query({
      partition,
      from = '',
      to,
      where = '',
      values = {},
      max,
      mostRequests = Number.POSITIVE_INFINITY,
      forward = false,
    }: IndexQuery): Promise<IndexPage> {
      const most = max ?? Number.POSITIVE_INFINITY;
      const found: Item[] = [];
      const names = { '#partition': partitionKey, '#sort': sortKey, ...namesIn(where) };
      let ExclusiveStartKey: Attributes | undefined;
      for (let requests = 1; requests <= mostRequests; requests++) {
        const answer = await client.send(
          new sdk.QueryCommand({
            TableName,
            IndexName: indexName,
            KeyConditionExpression: `#partition = :partition AND #sort ${to === undefined ? '>= :from' : 'BETWEEN :from AND :to'}`,
            ...(where ? { FilterExpression: where } : {}),
            // DynamoDB applies the limit before the filter: a small page without a match costs as much time as a large one.
            ...(max === undefined ? {} : { Limit: where ? Math.max(1_000, max) : max - found.length }),
            ExpressionAttributeNames: names,
            // A key must not be empty. '0' sorts before all others.
            ExpressionAttributeValues: attributesOf({
              ':partition': partition,
              ':from': from || '0',
              ':to': to ?? null,
              ...values,
            }),
            ScanIndexForward: forward,
            ...(ExclusiveStartKey ? { ExclusiveStartKey } : {}),
          }),
        );
        found.push(...(answer.Items ?? []).map(itemOf));
        ExclusiveStartKey = answer.LastEvaluatedKey;
        if (!ExclusiveStartKey || found.length >= most)
          return { items: found.slice(0, most), stoppedAt: null };
      }
      return { items: found, stoppedAt: itemOf(ExclusiveStartKey!) };
    },
    /** Waits until the table is ready. `shared`: another process may be creating it, too. */
    async create({ TimeToLiveSpecification, ...definition }: DynamoTable, shared: boolean): Promise<void> {
      let isOurs = true;
      try {
        await client.send(new sdk.CreateTableCommand(definition));
      } catch (error) {
        if (!shared || (error as Error).name !== 'ResourceInUseException') throw error;
        isOurs = false;
      }
      const patience = { client, maxWaitTime: 120, minDelay: 1, maxDelay: 2 };
      await sdk.waitUntilTableExists(patience, { TableName });
      if (!isOurs) return;
      try {
        await client.send(new sdk.UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
      } catch (error) {
        // Some local servers have no expiry. Longshore hides expired items there, too.
        if ((error as Error).name !== 'UnknownOperationException') throw error;
      }
    },
    /** The keys of the table and of its indexes, like `table.pk` and `shelves.shelf`; `null` = there is no table. */
    async keys(): Promise<readonly string[] | null> {
      try {
        const { Table } = await client.send(new sdk.DescribeTableCommand({ TableName }));
        const indexes = Table?.GlobalSecondaryIndexes ?? [];
        const parts = [{ IndexName: 'table', KeySchema: Table?.KeySchema ?? [] }, ...indexes];
        return parts.flatMap(({ IndexName, KeySchema = [] }) =>
          KeySchema.map(({ AttributeName }) => `${IndexName}.${AttributeName}`),
        );
      } catch (error) {
        if ((error as Error).name === 'ResourceNotFoundException') return null;
        throw error;
      }
    },
    /** Name of the attribute with an item's expiry; `null` = DynamoDB removes no items. */
    async expiryAttribute(): Promise<string | null> {
      const answer = await client.send(new sdk.DescribeTimeToLiveCommand({ TableName }));
      const { TimeToLiveStatus: status, AttributeName = null } = answer.TimeToLiveDescription ?? {};
      return status === 'ENABLED' || status === 'ENABLING' ? AttributeName : null;
    },
    close(): void {
      if (!options.client) client.destroy();
    },
  };
}

/** A version, `null`, or any. */
type Expected = string | null | { readonly there: true };

function expecting(version: Expected | undefined) {
  if (version === undefined) return {};
  if (version === null) return { ConditionExpression: 'attribute_not_exists(pk)' };
  if (typeof version === 'object') return { ConditionExpression: 'attribute_exists(pk)' };
  return {
    ConditionExpression: '#version = :version',
    ExpressionAttributeNames: { '#version': 'version' },
    ExpressionAttributeValues: { ':version': { S: version } },
  };
}

async function unlessOvertaken(sent: Promise<unknown>): Promise<boolean> {
  try {
    await sent;
    return true;
  } catch (error) {
    if ((error as Error).name === 'ConditionalCheckFailedException') return false;
    throw error;
  }
}

function namesIn(where: string): Record<string, string> {
  return Object.fromEntries((where.match(/#\w+/g) ?? []).map((name) => [name, name.slice(1)]));
}

function attributesOf(item: Item): Attributes {
  const attributes: Attributes = {};
  for (const [name, value] of Object.entries(item)) {
    if (typeof value === 'string') attributes[name] = { S: value };
    else if (value !== null) attributes[name] = { N: String(value) };
  }
  return attributes;
}

function itemOf(attributes: Attributes): Item {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, { S, N }]) => [name, N === undefined ? S! : Number(N)]),
  );
}

export type Dynamo = Service<DynamoApi>;

export const openDynamo = (options: DynamoTableOptions): Dynamo =>
  serviceOf(
    () => openApi(options),
    (during, error) => sdkError(`DynamoDB failed while ${during} (table ${options.table})`, error, remedies),
  );

const remedies: Remedies = {
  ResourceNotFoundException:
    'Create the table with `longshore migrate`, createDynamoTable() or a template, in the same region.',
  AccessDeniedException:
    'Allow GetItem, PutItem, DeleteItem, BatchGetItem and Query on the table and its index; `longshore migrate` needs DescribeTable, CreateTable and UpdateTimeToLive too, and `longshore doctor` DescribeTimeToLive.',
};

export interface DynamoTableOptions {
  readonly table: string;
  /** Your own `DynamoDBClient`; `close()` leaves it open. @default a new client, configured by the usual AWS variables */
  readonly client?: SdkClient;
  readonly region?: string;
  /** Another server than AWS, for example `http://127.0.0.1:8000`. */
  readonly endpoint?: string;
}

export interface DynamoStoreOptions extends DynamoTableOptions {
  /** @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  readonly clock?: Clock;
}
