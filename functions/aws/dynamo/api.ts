/** Loads the SDK on first use, and turns its errors into LongshoreErrors. */

import { type Remedies, sdkError } from '../sdk-error.ts';
import type { DynamoTableOptions } from './options.ts';
import type { DynamoApi } from './sdk.ts';

export interface Dynamo {
  /** Runs `work`; an error says what it happened `during`. */
  call<T>(during: string, work: (api: DynamoApi) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function openDynamo(options: DynamoTableOptions): Dynamo {
  let opening: Promise<DynamoApi> | null = null;
  async function open(): Promise<DynamoApi> {
    const { openApi } = await import('./sdk.ts');
    return openApi(options);
  }
  return {
    async call(during, work) {
      try {
        opening ??= open();
        return await work(await opening);
      } catch (error) {
        throw sdkError(`DynamoDB failed while ${during} (table ${options.table})`, error, remedies);
      }
    },
    async close() {
      const api = await opening?.catch(() => null);
      api?.close();
    },
  };
}

const remedies: Remedies = {
  ResourceNotFoundException:
    'Create the table with `longshore migrate`, createDynamoTable() or a template, in the same region.',
  AccessDeniedException:
    'Allow GetItem, PutItem, DeleteItem, BatchGetItem and Query on the table and its index; `longshore migrate` needs DescribeTable, CreateTable and UpdateTimeToLive too.',
  ERR_MODULE_NOT_FOUND: 'Install @aws-sdk/client-dynamodb.',
};
