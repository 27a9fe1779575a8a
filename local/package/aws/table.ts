/** The table of `dynamoStore()`. A test compares it with `dynamoTable()` of longshore/aws, which functions load. */

export const tableProperties = {
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [
    { AttributeName: 'pk', AttributeType: 'S' },
    { AttributeName: 'shelf', AttributeType: 'S' },
    { AttributeName: 'place', AttributeType: 'S' },
  ],
  KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  GlobalSecondaryIndexes: [
    {
      IndexName: 'shelves',
      KeySchema: [
        { AttributeName: 'shelf', KeyType: 'HASH' },
        { AttributeName: 'place', KeyType: 'RANGE' },
      ],
      Projection: {
        ProjectionType: 'INCLUDE',
        NonKeyAttributes: ['queue', 'job', 'finishedAt', 'guardedUntil'],
      },
    },
  ],
  TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
} as const;
