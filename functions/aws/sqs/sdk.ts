/** The only file that imports the SDK, and it is imported on first use: loading it takes ten times as long as all the rest. */

import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
  type SQSClientConfig,
} from '@aws-sdk/client-sqs';
import type { SqsApi } from './api.ts';
import type { SqsClient } from './connection.ts';
import { attributeNames, systemAttributeNames } from './message.ts';

/** @param given a client of the caller's, which `close` leaves open */
export function openSqs(settings: SQSClientConfig, given: SqsClient | undefined): SqsApi {
  const client = (given as SQSClient | undefined) ?? new SQSClient(settings);
  return {
    async send(QueueUrl, entries) {
      const { Failed = [] } = await client.send(
        new SendMessageBatchCommand({ QueueUrl, Entries: [...entries] }),
      );
      return Failed;
    },
    async receive(request) {
      const { Messages = [] } = await client.send(
        new ReceiveMessageCommand({
          ...request,
          MessageAttributeNames: [...attributeNames],
          MessageSystemAttributeNames: [...systemAttributeNames],
        }),
      );
      return Messages;
    },
    async delete(QueueUrl, entries) {
      const { Failed = [] } = await client.send(
        new DeleteMessageBatchCommand({ QueueUrl, Entries: [...entries] }),
      );
      return Failed;
    },
    async hide(QueueUrl, entries) {
      const { Failed = [] } = await client.send(
        new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries: [...entries] }),
      );
      return Failed;
    },
    async attributes(QueueUrl, names) {
      const { Attributes = {} } = await client.send(
        new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...names] }),
      );
      return Attributes;
    },
    close() {
      if (!given) client.destroy();
    },
  };
}
