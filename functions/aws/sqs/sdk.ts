/**
 * The requests to SQS, in Longshore's own types: programs without the SDK's types compile. The only file that imports the SDK. It is loaded on
 * first use, because that takes ten times as long as loading the rest.
 */

import { optional } from '../../../core/base/optional.ts';
import { openClient, type SdkClient } from '../sdk-client.ts';
import type { EntryFailure, Numbered } from './batches.ts';
import { type Attributes, attributeNames, type ReceivedMessage, systemAttributeNames } from './message.ts';
import type { QueueOptions } from './queues.ts';

export interface SendEntry {
  readonly MessageBody: string;
  readonly MessageAttributes: Attributes;
  readonly DelaySeconds?: number;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
}

export interface DeleteEntry {
  readonly ReceiptHandle: string;
}

export interface HideEntry extends DeleteEntry {
  /** Seconds from now; 0 = release. */
  readonly VisibilityTimeout: number;
}

export interface ReceiveRequest {
  readonly QueueUrl: string;
  readonly MaxNumberOfMessages: number;
  readonly VisibilityTimeout: number;
  readonly WaitTimeSeconds: number;
}

export type QueueAttribute =
  | 'QueueArn'
  | 'RedrivePolicy'
  | 'VisibilityTimeout'
  | 'MessageRetentionPeriod'
  | 'MaximumMessageSize'
  | 'ApproximateNumberOfMessages'
  | 'ApproximateNumberOfMessagesDelayed'
  | 'ApproximateNumberOfMessagesNotVisible';

/** How to reach SQS. */
export interface SqsAccess extends QueueOptions {
  /** @default the region of the queue's URL, or of AWS_REGION */
  readonly region?: string;
  /** For LocalStack and similar servers. An endpoint on this machine receives none of your credentials. */
  readonly endpoint?: string;
  /** An `SQSClient` to use instead of a new one; `close()` leaves it open. */
  readonly client?: SdkClient;
}

export type SqsApi = Awaited<ReturnType<typeof openSqs>>;

/** A long poll takes 20 s. */
const timeoutMs = 30_000;

interface Traced {
  readonly request?: unknown;
}

/**
 * In a function the SDK adds the trace of the invocation to every request. Its `Lineage` counts the invocations that led to this one, and Lambda
 * stops a message after about 16. A job that waits for long is such a chain.
 */
const withoutLineage =
  <Args extends Traced, Result>(next: (args: Args) => Result) =>
  (args: Args): Result => {
    const { headers = {} } = (args.request ?? {}) as { readonly headers?: Record<string, string> };
    for (const [name, value] of Object.entries(headers)) {
      if (name.toLowerCase() !== 'x-amzn-trace-id') continue;
      const rest = value.split(';').filter((part) => !part.startsWith('Lineage='));
      if (rest.length > 0) headers[name] = rest.join(';');
      else delete headers[name];
    }
    return next(args);
  };

/** Batches resolve with the entries that failed. Rejects with the SDK's own errors. */
export async function openSqs(region: string | undefined, options: SqsAccess) {
  const { endpoint, queueUrl, queues = {} } = options;
  const sdk = await import('@aws-sdk/client-sqs').catch(optional('@aws-sdk/client-sqs'));
  // With your own endpoint the URLs only name the queues.
  const naming = endpoint === undefined ? {} : { useQueueUrlAsEndpoint: false };
  const goesTo = endpoint ?? queueUrl ?? Object.values(queues)[0];
  const service = { sdk: '@aws-sdk/client-sqs', goesTo, timeoutMs };
  const create = (settings: object) => new sdk.SQSClient({ ...settings, ...naming });
  const client = openClient({ ...options, region }, service, create);
  return {
    async send(QueueUrl: string, entries: readonly Numbered<SendEntry>[]): Promise<EntryFailure[]> {
      const { Failed = [] } = await client.send(
        new sdk.SendMessageBatchCommand({ QueueUrl, Entries: [...entries] }),
      );
      return Failed;
    },
    /** `send` for messages that go back to their queue. Lambda must not count this as one more invocation of a chain. */
    async sendBack(QueueUrl: string, entries: readonly Numbered<SendEntry>[]): Promise<EntryFailure[]> {
      const command = new sdk.SendMessageBatchCommand({ QueueUrl, Entries: [...entries] });
      command.middlewareStack.add(withoutLineage, { step: 'finalizeRequest', name: 'longshoreLineage' });
      const { Failed = [] } = await client.send(command);
      return Failed;
    },
    /** Returns only Longshore's attributes. */
    async receive(request: ReceiveRequest): Promise<ReceivedMessage[]> {
      const { Messages = [] } = await client.send(
        new sdk.ReceiveMessageCommand({
          ...request,
          MessageAttributeNames: [...attributeNames],
          MessageSystemAttributeNames: [...systemAttributeNames],
        }),
      );
      return Messages;
    },
    async delete(QueueUrl: string, entries: readonly Numbered<DeleteEntry>[]): Promise<EntryFailure[]> {
      const { Failed = [] } = await client.send(
        new sdk.DeleteMessageBatchCommand({ QueueUrl, Entries: [...entries] }),
      );
      return Failed;
    },
    async hide(QueueUrl: string, entries: readonly Numbered<HideEntry>[]): Promise<EntryFailure[]> {
      const { Failed = [] } = await client.send(
        new sdk.ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries: [...entries] }),
      );
      return Failed;
    },
    async attributes(
      QueueUrl: string,
      names: readonly QueueAttribute[],
    ): Promise<Partial<Record<QueueAttribute, string>>> {
      const { Attributes = {} } = await client.send(
        new sdk.GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...names] }),
      );
      return Attributes;
    },
    /** For development. Resolves with the URL, also if the queue exists. */
    async create(QueueName: string): Promise<string> {
      const { QueueUrl } = await client.send(new sdk.CreateQueueCommand({ QueueName }));
      return QueueUrl!;
    },
    async purge(QueueUrl: string): Promise<void> {
      await client.send(new sdk.PurgeQueueCommand({ QueueUrl }));
    },
    close(): void {
      if (!options.client) client.destroy();
    },
  };
}
