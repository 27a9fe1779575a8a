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
import { guarded } from '../guard.ts';
import type { SqsApi } from './api.ts';
import { attributeNames, systemAttributeNames } from './attributes.ts';
import type { Connection, ConnectionOptions } from './connection.ts';

export function openSqs(connection: Connection, options: ConnectionOptions): SqsApi {
  const { client: given } = options;
  const client = guarded((given as SQSClient | undefined) ?? new SQSClient(settingsOf(connection, options)));
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

function settingsOf({ region }: Connection, { endpoint }: ConnectionOptions): SQSClientConfig {
  return {
    ...(region !== undefined && { region }),
    // With an endpoint of one's own the URLs only name the queues.
    ...(endpoint !== undefined && { endpoint, useQueueUrlAsEndpoint: false }),
  };
}
