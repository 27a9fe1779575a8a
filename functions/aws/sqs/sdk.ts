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
import { attributeNames, systemAttributeNames } from './attributes.ts';
import type { ConnectionOptions } from './connection.ts';
import type { Queues } from './queues.ts';

export function openSqs(options: ConnectionOptions, queues: Queues): SqsApi {
  const { client: given } = options;
  const client = (given as SQSClient | undefined) ?? new SQSClient(settingsOf(options, queues));
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

function settingsOf({ region, endpoint, queueUrl }: ConnectionOptions, queues: Queues): SQSClientConfig {
  const url = queueUrl ?? queues.all()[0]?.url ?? '';
  const chosen = region ?? process.env.AWS_REGION ?? /^https?:\/\/sqs\.([a-z0-9-]+)\./.exec(url)?.[1];
  return {
    ...(chosen !== undefined && { region: chosen }),
    // With an endpoint of one's own the URLs only name the queues.
    ...(endpoint !== undefined && { endpoint, useQueueUrlAsEndpoint: false }),
  };
}
