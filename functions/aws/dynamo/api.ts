/** Loads the SDK on first use, and turns its errors into LongshoreErrors. */

import { type Service, serviceOf } from '../../../core/kit/service.ts';
import { type Remedies, sdkError } from '../sdk-error.ts';
import type { DynamoTableOptions } from './options.ts';
import { type DynamoApi, openApi } from './sdk.ts';

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
