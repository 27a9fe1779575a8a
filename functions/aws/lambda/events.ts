/** The events of Lambda and the answers that it expects, as far as Longshore uses them. */

import { checkInteger } from '../../../core/base/checks.ts';
import { type Delivery, deliveryFrom } from '../sqs/message.ts';

export interface SqsRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string | undefined>>;
  readonly messageAttributes: Readonly<Record<string, { readonly stringValue?: string | undefined }>>;
  readonly eventSource: string;
  readonly eventSourceARN: string;
}

export interface SqsEvent {
  readonly Records: readonly SqsRecord[];
}

export interface LambdaContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** Needs `ReportBatchItemFailures` at the event source mapping. Without it Lambda deletes the failed messages too. */
export interface SqsBatchResponse {
  readonly batchItemFailures: { readonly itemIdentifier: string }[];
}

/** Payload format 2.0: function URLs and HTTP APIs. */
export interface HttpEvent {
  readonly version: string;
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly cookies?: readonly string[];
  readonly body?: string;
  readonly isBase64Encoded: boolean;
  readonly requestContext: {
    readonly domainName: string;
    readonly http: { readonly method: string };
  };
}

export interface HttpResult {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/** `null` = it is not an event of SQS. */
export function recordsOf(event: unknown): readonly SqsRecord[] | null {
  const { Records: records } = (event ?? {}) as Partial<SqsEvent>;
  return Array.isArray(records) && records.every(isSqsRecord) ? records : null;
}

const isSqsRecord = (record: Partial<SqsRecord> | null): boolean =>
  record?.eventSource === 'aws:sqs' &&
  [record.messageId, record.receiptHandle, record.body, record.eventSourceARN].every(
    (text) => typeof text === 'string' && text !== '',
  );

export function deliveryOf({ attributes, messageAttributes, ...record }: SqsRecord): Delivery {
  const own = Object.entries(messageAttributes ?? {}).map(
    ([name, value]) => [name, value?.stringValue] as const,
  );
  return deliveryFrom(record, attributes ?? {}, own);
}

export interface WorkerOptions {
  /** Jobs of one event that run at the same time. @default 10 */
  readonly concurrency?: number;
  /** How long before the function's timeout running jobs are aborted, to leave time to settle them. @default 2_000 */
  readonly marginMs?: number;
  /**
   * The queues' visibility timeout. Needed only if it is shorter than the function's timeout (AWS recommends six times as long); leases are then
   * renewed. @default longer than the function may run
   */
  readonly visibilityMs?: number;
}

/** Rejects only if nothing was run, because the event is not from a queue of this app. */
export type Worker = (event: unknown, context: LambdaContext) => Promise<SqsBatchResponse>;

/** Throws `CONFIG` when the function starts, not at its first event. */
export function checkWorkerOptions({ concurrency, marginMs, visibilityMs }: WorkerOptions): void {
  if (concurrency !== undefined) checkInteger('concurrency', concurrency, 1);
  if (marginMs !== undefined) checkInteger('marginMs', marginMs, 0);
  if (visibilityMs !== undefined) checkInteger('visibilityMs', visibilityMs, 1_000);
}
