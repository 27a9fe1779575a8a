/**
 * The layout of the table. Every item has the key `pk`, a `version` that is new at every write, and
 * `expiresAt` once it may be removed:
 *
 * | pk                      | what                 | shelf                   | place                           |
 * |-------------------------|----------------------|-------------------------|---------------------------------|
 * | `job#<id>`              | record of a job      | `pending#<0…7>`; `failed`, `expired` and `cancelled` have shelves of their own | `<createdAt>#<id>` |
 * | `key#<key>`             | idempotency key      |                         |                                 |
 * | `limit#k<key>`         | slots of a limit     | `limits#<0…7>`          | the key, as sortable.ts has it  |
 * | `limit#h<id>`           | limits of a waiting job |                      |                                 |
 * | `step#job:<id>`         | step results of a job |            |                                 |
 * | `step#event:<name>:<key>` | jobs that wait for an event |                     |                                 |
 * | `batch#<name>`          | a text of a batch    | `batches#<0…7>`         | the listed name, as sortable.ts has it |
 * | `text#<section>/<name>` | any other text: schedules, metrics, audit log, heartbeats | `texts#<0…7>` | the listed name, as sortable.ts has it |
 *
 * Lists read the index `shelves`: its partition key is `shelf`, its sort key is `place`. A shelf of records and of
 * texts is eight partitions, because one partition takes only 1,000 writes a second. A change of the shelf costs two write units, so a record stays on
 * the shelf `pending` unless it ends otherwise than completed. Version 0.1.0 had a shelf for each status. The index lags some milliseconds behind the table, so a list reads the
 * items that it finds there from the table.
 */

import type { JobStatus } from '../../../core/contract/outcome.ts';
import { momentText } from '../../../core/kit/records/sortable.ts';

export const indexName = 'shelves';
/** Names of stored attributes. Do not change them: existing tables and templates use them. */
export const partitionKey = 'shelf';
export const sortKey = 'place';
/** Attributes that narrow a list before items are read. */
const indexed = ['queue', 'job', 'finishedAt', 'guardedUntil'];

export type DynamoTable = ReturnType<typeof dynamoTable>;

/**
 * The table that `dynamoStore()` expects, as the properties of CloudFormation's `AWS::DynamoDB::Table`. `CreateTable` takes them
 * without `TimeToLiveSpecification`.
 */
export function dynamoTable(name: string) {
  return {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST' as const,
    AttributeDefinitions: ['pk', partitionKey, sortKey].map((name) => ({
      AttributeName: name,
      AttributeType: 'S' as const,
    })),
    KeySchema: [key('pk', 'HASH')],
    GlobalSecondaryIndexes: [
      {
        IndexName: indexName,
        KeySchema: [key(partitionKey, 'HASH'), key(sortKey, 'RANGE')],
        Projection: { ProjectionType: 'INCLUDE' as const, NonKeyAttributes: indexed },
      },
    ],
    TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
  };
}

const key = (AttributeName: string, KeyType: 'HASH' | 'RANGE') => ({ AttributeName, KeyType });

export const partitionsPerStatus = 8;

/** The status whose partitions list a record. */
export const listedAs = (status: JobStatus): JobStatus =>
  status === 'failed' || status === 'expired' || status === 'cancelled' ? status : 'pending';

export const pkOf = (id: string): string => `job#${id}`;
export const idOf = (pk: string): string => pk.slice(pkOf('').length);
export const partitionOf = (status: JobStatus, shard: number): string => `${status}#${shard}`;
export const statusOf = (partition: string): string => partition.slice(0, partition.indexOf('#'));
export const partitionsOf = (status: JobStatus): string[] =>
  Array.from({ length: partitionsPerStatus }, (_, shard) => partitionOf(status, shard));

export const sortKeyOf = (at: number, id = ''): string => `${momentText(at)}#${id}`;

/** DynamoDB needs whole seconds. Rounded up, so that nothing expires early. */
export const expiry = (at: number): number => Math.ceil(at / 1000);
