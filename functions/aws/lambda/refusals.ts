/** What is wrong with what a function was given. Loaded when something is. */

import { config, type LongshoreError, shown } from '../../../core/base/errors.ts';
import type { SqsEvent } from './events.ts';

export function notOfSqs(event: unknown): LongshoreError {
  const { Records: records } = (event ?? {}) as Partial<SqsEvent>;
  const source = Array.isArray(records) ? `records from ${shown(records[0]?.eventSource)}` : shown(event);
  return config(
    `Expected an event of SQS, got ${source}. Give this function an SQS queue as its event source.`,
  );
}

export function notOurs(arn: string): LongshoreError {
  return config(
    `Expected messages of a queue that sqs() was given, got some of ${arn}. Add its URL to queues.`,
  );
}

/** A function that leaves its jobs no time: its messages would go round for ever. */
export function noTime(context: unknown, ms: unknown, marginMs: number): LongshoreError {
  return config(
    typeof ms === 'number'
      ? `Expected the function to have more time than marginMs (${marginMs}), got ${ms} ms. Give it a longer timeout, or lambda() a smaller marginMs.`
      : `Expected Lambda's context with getRemainingTimeInMillis(), got ${shown(context)}. Pass on both parameters of the handler.`,
  );
}
