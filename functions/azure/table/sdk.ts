/** The only file that imports the SDK. It is loaded on first use, because that takes longer than loading the rest. */

import type { TableClient, TableEntity, TransactionAction } from '@azure/data-tables';
import type { Clock } from '../../../core/base/clock.ts';
import { optional } from '../../../core/base/optional.ts';
import type { Retention } from '../../../core/contract/store.ts';
import { type Service, serviceOf } from '../../../core/kit/service.ts';
import { isPlain, type StorageOptions, storageAccess } from '../storage/access.ts';
import { codeOf, storageError } from '../storage/errors.ts';

/** An entity. All properties are texts. */
export interface Entity {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly [property: string]: string;
}
export type Found = Entity & { readonly etag: string };

/** A step of a change. `create` fails for an existing row, `remove` for a missing one; `put` overwrites any version. */
export type Step =
  | { readonly create: Entity }
  | { readonly update: Entity; readonly over: string }
  | { readonly put: Entity }
  | { readonly remove: string };

export interface Range {
  readonly partition: string;
  /** Partitions from `partition` up to this one, exclusive. @default only `partition` */
  readonly before?: string;
  /** The first row, and the end of the range, exclusive. */
  readonly from: string;
  readonly to: string;
  /** Properties that must be equal to these. */
  readonly equal?: Readonly<Record<string, string>>;
  /** A property, and the value that it must exceed or must not exceed. */
  readonly above?: readonly [string, string];
  readonly atMost?: readonly [string, string];
  /** The most rows to return. @default all */
  readonly max?: number;
}

/** The requests that Longshore makes. */
export type TableApi = Awaited<ReturnType<typeof openApi>>;

const timeoutMs = 15_000;
const retryOptions = { maxRetries: 3, retryDelayInMs: 250, maxRetryDelayInMs: 3_000 };
/** The most rows in one response. */
const pageSize = 1_000;

const overtaken = new Set([
  'EntityAlreadyExists',
  'UpdateConditionNotSatisfied',
  'ConditionNotMet',
  'ResourceNotFound',
  'EntityNotFound',
]);

export async function openApi(options: TableStoreOptions) {
  const client = await clientFor(options);
  const limited = () => ({ abortSignal: AbortSignal.timeout(timeoutMs) });

  /** Resolves with the new etag of the first entity. A change of one entity needs no transaction. */
  async function send(partition: string, steps: readonly Step[]): Promise<string | undefined> {
    if (steps.length === 1) return (await sendOne(partition, steps[0]!)).etag;
    const actions = steps.map((step) => actionOf(partition, step));
    return (await client.submitTransaction(actions, limited())).subResponses[0]?.etag;
  }

  function sendOne(partition: string, only: Step): Promise<{ readonly etag?: string }> {
    if ('create' in only) return client.createEntity(only.create, limited());
    if ('put' in only) return client.upsertEntity(only.put, 'Replace', limited());
    if ('remove' in only) return client.deleteEntity(partition, only.remove, limited()).then(() => ({}));
    return client.updateEntity(only.update, 'Replace', { ...limited(), etag: only.over });
  }

  return {
    async get(partition: string, row: string): Promise<Found | null> {
      try {
        return (await client.getEntity(partition, row, limited())) as Found;
      } catch (error) {
        if (overtaken.has(codeOf(error) ?? '')) return null;
        throw error;
      }
    },
    /** Makes all changes or none; `false` = another writer was first. */
    commit: async (partition: string, steps: readonly Step[]): Promise<boolean> =>
      (await unlessOvertaken(send(partition, steps))).done,
    /** As `commit`, with the new etag of the first entity as the answer; `undefined` = not known. */
    commitAndTell: (partition: string, steps: readonly Step[]) => unlessOvertaken(send(partition, steps)),
    /** `false` = it is missing, or has changed since it was read. */
    remove: async (partition: string, row: string, etag?: string): Promise<boolean> =>
      (await unlessOvertaken(client.deleteEntity(partition, row, { ...limited(), ...(etag && { etag }) })))
        .done,
    /** Sorted by row, ascending. */
    async range(range: Range): Promise<Found[]> {
      const { max = Number.POSITIVE_INFINITY } = range;
      const found: Found[] = [];
      const queryOptions = { filter: filterOf(range) };
      const maxPageSize = Math.min(pageSize, max);
      let continuationToken: string | undefined;
      do {
        // The timeout applies to each page.
        const listed = client.listEntities<TableEntity>({ queryOptions, ...limited() });
        const { value: page } = await listed
          .byPage({ maxPageSize, ...(continuationToken !== undefined && { continuationToken }) })
          .next();
        found.push(...((page ?? []) as Found[]));
        continuationToken = page?.continuationToken;
      } while (continuationToken !== undefined && found.length < max);
      return found.slice(0, max);
    },
    async create(): Promise<void> {
      await client.createTable(limited());
    },
    /** A partition that has an entity; `null` = the table is empty, `missing` = there is no table. */
    async somePartition(): Promise<string | null | 'missing'> {
      try {
        const pages = client.listEntities({ ...limited() }).byPage({ maxPageSize: 1 });
        for await (const [first] of pages) if (first) return first.partitionKey ?? null;
        return null;
      } catch (error) {
        if (codeOf(error) === 'TableNotFound') return 'missing';
        throw error;
      }
    },
  };
}

async function clientFor(options: TableStoreOptions): Promise<TableClient> {
  const { TableClient } = await loadSdk();
  const { table } = options;
  const access = storageAccess(options);
  if (!('connectionString' in access)) {
    return new TableClient(access.endpoint, table, access.credential as never, { retryOptions });
  }
  const { connectionString } = access;
  const allowInsecureConnection = isPlain(connectionString);
  return TableClient.fromConnectionString(connectionString, table, { retryOptions, allowInsecureConnection });
}

const loadSdk = () => import('@azure/data-tables').catch(optional('@azure/data-tables'));

function actionOf(partitionKey: string, step: Step): TransactionAction {
  if ('create' in step) return ['create', step.create];
  if ('put' in step) return ['upsert', step.put, 'Replace'];
  if ('remove' in step) return ['delete', { partitionKey, rowKey: step.remove }];
  return ['update', step.update, 'Replace', { etag: step.over }];
}

function filterOf({ partition, before, from, to, equal = {}, above, atMost }: Range): string {
  const conditions = [
    before === undefined
      ? `PartitionKey eq ${quoted(partition)}`
      : `PartitionKey ge ${quoted(partition)} and PartitionKey lt ${quoted(before)}`,
    `RowKey ge ${quoted(from)}`,
    `RowKey lt ${quoted(to)}`,
    ...Object.entries(equal).map(([name, value]) => `${name} eq ${quoted(value)}`),
  ];
  if (above) conditions.push(`${above[0]} gt ${quoted(above[1])}`);
  if (atMost) conditions.push(`${atMost[0]} le ${quoted(atMost[1])}`);
  return conditions.join(' and ');
}

/** The SDK's own `odata` would not quote a single value. */
const quoted = (value: string): string => `'${value.replaceAll("'", "''")}'`;

async function unlessOvertaken<T>(
  sent: Promise<T>,
): Promise<{ readonly done: true; readonly answer: T } | { readonly done: false }> {
  try {
    return { done: true, answer: await sent };
  } catch (error) {
    if (overtaken.has(codeOf(error) ?? '')) return { done: false };
    throw error;
  }
}

export type Table = Pick<Service<TableApi>, 'call'>;

export function openTable(options: TableStoreOptions): Table {
  const failure = { service: 'Table storage', where: `table ${options.table}` };
  return serviceOf(
    () => openApi(options),
    (during, error) => storageError(failure, during, error),
  );
}

export interface TableStoreOptions extends StorageOptions {
  /** Name of the table: 3 to 63 letters and digits, beginning with a letter. */
  readonly table: string;
  /** @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  readonly clock?: Clock;
}
