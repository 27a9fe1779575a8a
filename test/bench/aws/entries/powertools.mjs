/** What a handler needs that wants partial failures, idempotency and logs. */

import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { Logger } from '@aws-lambda-powertools/logger';

const processor = new BatchProcessor(EventType.SQS);
const logger = new Logger({ serviceName: 'bench' });
const persistenceStore = new DynamoDBPersistenceLayer({ tableName: 'bench' });
const config = new IdempotencyConfig({ eventKeyJmesPath: 'messageId' });
const run = makeIdempotent(async (record) => logger.info(record.messageId), { persistenceStore, config });

export const worker = (event, context) => processPartialResponse(event, run, processor, { context });
