/** The only file that imports the SDK. It is loaded on first use: that takes ten times as long as all the rest. */

import {
  ChangeMessageVisibilityBatchCommand,
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { guarded } from '../lambda/guard.ts';
import { localAccess, settingsFor } from '../sdk-client.ts';
import type { SqsApi } from './api.ts';
import { attributeNames, systemAttributeNames } from './attributes.ts';
import type { ConnectionOptions } from './options.ts';

/** A long poll takes 20 s. */
const timeoutMs = 30_000;

export function openSqs(region: string | undefined, options: ConnectionOptions): SqsApi {
  const { client: given, endpoint } = options;
  const target = { region, endpoint };
  const own = () =>
    new SQSClient({
      ...localAccess(target),
      ...settingsFor(target, timeoutMs),
      // With an endpoint of your own the URLs only name the queues.
      ...(endpoint !== undefined && { useQueueUrlAsEndpoint: false }),
    });
  const client = guarded((given as SQSClient | undefined) ?? own());
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
    async create(QueueName) {
      const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName }));
      return QueueUrl!;
    },
    async purge(QueueUrl) {
      await client.send(new PurgeQueueCommand({ QueueUrl }));
    },
    close() {
      if (!given) client.destroy();
    },
  };
}
