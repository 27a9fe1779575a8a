/**
 * The one table. Every item has the key `pk`, a `version` that is new at every write, and `expiresAt` once it may go:
 *
 * | pk            | what                 | shelf             | address              |
 * |---------------|----------------------|-------------------|--------------------|
 * | `job#<id>`    | record of a job      | `<status>#<0…7>`  | `<createdAt>#<id>` |
 * | `key#<key>`   | idempotency key      |                   |                    |
 * | `worker#<id>` | a worker's heartbeat | `workers`         | `<seenAt>#<id>`    |
 *
 * Lists read the index `shelves`, whose key is `shelf` and `address`. A status has eight shelves, because one takes only
 * 1,000 writes a second. The index lags some milliseconds behind the table; what is found in it is read from the table.
 */

export const indexName = 'shelves';
export const shelvesPerStatus = 8;
const attributes = ['pk', 'shelf', 'address'];
/** What narrows a list before items are read. */
const indexed = ['queue', 'job', 'finishedAt', 'guardedUntil'];

type Keys = { AttributeName: string; KeyType: 'HASH' | 'RANGE' }[];

/** The properties of CloudFormation's `AWS::DynamoDB::Table`; `CreateTable` takes them without `TimeToLiveSpecification`. */
export interface DynamoTable {
  readonly TableName: string;
  readonly BillingMode: 'PAY_PER_REQUEST';
  readonly AttributeDefinitions: { AttributeName: string; AttributeType: 'S' }[];
  readonly KeySchema: Keys;
  readonly GlobalSecondaryIndexes: {
    IndexName: string;
    KeySchema: Keys;
    Projection: { ProjectionType: 'INCLUDE'; NonKeyAttributes: string[] };
  }[];
  readonly TimeToLiveSpecification: { AttributeName: string; Enabled: boolean };
}

/** For templates: the table that `dynamoStore()` expects. */
export function dynamoTable(name: string): DynamoTable {
  return {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: attributes.map((each) => ({ AttributeName: each, AttributeType: 'S' })),
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    GlobalSecondaryIndexes: [
      {
        IndexName: indexName,
        KeySchema: [
          { AttributeName: 'shelf', KeyType: 'HASH' },
          { AttributeName: 'address', KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: indexed },
      },
    ],
    TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
  };
}

/** Sorts as text like the moment does as a number. */
export const addressOf = (at: number, id = ''): string =>
  `${String(Math.max(0, at)).padStart(16, '0')}#${id}`;

/** Whole seconds, as DynamoDB wants it; never early. */
export const expiry = (at: number): number => Math.ceil(at / 1000);
