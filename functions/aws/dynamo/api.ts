/** Loads the SDK on first use, and turns its errors into LongshoreErrors. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
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
        throw dynamoError(during, options.table, error);
      }
    },
    async close() {
      const api = await opening?.catch(() => null);
      api?.close();
    },
  };
}

/** By the names of the SDK's errors: how to fix the configuration. */
const remedies: Readonly<Record<string, string>> = {
  ResourceNotFoundException:
    'Create the table with `longshore migrate`, createDynamoTable() or a template, in the same region.',
  AccessDeniedException:
    'Allow GetItem, PutItem, DeleteItem, BatchGetItem and Query on the table and its index; `longshore migrate` needs DescribeTable, CreateTable and UpdateTimeToLive too.',
  UnrecognizedClientException: 'Check the credentials.',
  CredentialsProviderError: 'Give the process credentials: a role, a profile or AWS_ACCESS_KEY_ID.',
  ERR_MODULE_NOT_FOUND: 'Install @aws-sdk/client-dynamodb.',
};

function dynamoError(during: string, table: string, cause: unknown): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const { name, message, code } = toError(cause) as NodeJS.ErrnoException;
  const remedy = remedies[name] ?? remedies[code ?? ''];
  const text = `DynamoDB failed while ${during} (table ${table}): ${message || name}`;
  const sentence = /[.!?]$/.test(text) ? text : `${text}.`;
  if (remedy === undefined) return new LongshoreError('BACKEND', sentence, { cause });
  return new LongshoreError('CONFIG', `${sentence} ${remedy}`, { cause });
}
