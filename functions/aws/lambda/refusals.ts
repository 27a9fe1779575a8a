/** What is wrong with what a function was given. */

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
export function noTime(got: unknown, marginMs: number): LongshoreError {
  return config(
    `Expected Lambda's context to leave more time than marginMs (${marginMs}), got ${shown(got)}. Give the function a longer timeout, lambda() a smaller marginMs, and the worker both parameters.`,
  );
}
