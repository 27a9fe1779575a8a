/** What `longshore doctor` looks at in a DynamoDB table. */

import type { Check } from '../../../core/contract/diagnosis.ts';
import { CannotLook, checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { openDynamo } from './api.ts';
import type { DynamoTableOptions } from './options.ts';
import { dynamoTable } from './table.ts';

interface DynamoFacts {
  readonly table: string;
  /** Of the time when an item may go; `null` = DynamoDB removes none. */
  expiryAttribute(): Promise<string | null>;
}

export const dynamoDiagnosis = (options: DynamoTableOptions): Check[] =>
  checksOf(dynamoChecks, {
    table: options.table,
    async expiryAttribute() {
      const dynamo = openDynamo(options);
      try {
        return await dynamo.call('looking at the table', (api) => api.expiryAttribute());
      } catch (error) {
        const cause = (error as Error).cause as Error | undefined;
        if (cause?.name !== 'AccessDeniedException') throw error;
        throw new CannotLook('this identity may not look: grant it dynamodb:DescribeTimeToLive');
      } finally {
        await dynamo.close();
      }
    },
  });

export const dynamoChecks: readonly Check<DynamoFacts>[] = [
  {
    id: 'dynamo.expiry',
    severity: 'warning',
    async look({ table, expiryAttribute }) {
      const { AttributeName } = dynamoTable(table).TimeToLiveSpecification;
      const attribute = await expiryAttribute();
      if (attribute === AttributeName) return [];
      return {
        where: `table ${table}`,
        text: `${attribute === null ? 'Time to live is off' : `Time to live goes by ${attribute}`}: records, keys and numbers that are past their time stay, and are paid for.`,
        remedy: `Turn it on for the attribute ${AttributeName}, as dynamoTable() says.`,
      };
    },
  },
];
