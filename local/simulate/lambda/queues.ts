/** Creates queues like a template. */

import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  type QueueAttributeName,
  SetQueueAttributesCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { QueueCounts } from '../frame.ts';
import type { SimulationOptions } from './options.ts';

export interface SimulatedQueue {
  readonly name: string;
  readonly url: string;
  readonly arn: string;
  /** `null` for a lane, which shares the dead letters of its queue. */
  readonly deadLetterUrl: string | null;
  /** URL of the queue for its dead letters, also set for a lane. */
  readonly letters: string;
}

/** Creates queues with their lanes, which share the dead letters. Existing queues get these settings too. */
export function makeQueues(
  client: SQSClient,
  names: readonly string[],
  {
    prefix,
    lanes,
    visibilityMs,
    maxReceives,
  }: Pick<SimulationOptions, 'lanes' | 'prefix' | 'visibilityMs' | 'maxReceives'>,
): Promise<SimulatedQueue[]> {
  const all = names.flatMap((queue) => {
    const beside = (Object.hasOwn(lanes, queue) ? lanes[queue]! : []).map((lane) => `${queue}-${lane}`);
    return [queue, ...beside].map((name) => ({ name, queue }));
  });
  return Promise.all(
    all.map(async ({ name, queue }) => {
      const deadLetterUrl = await make(client, `${prefix}${queue}-dlq`);
      const url = await make(client, `${prefix}${name}`);
      const deadLetterTargetArn = await arnOf(client, deadLetterUrl);
      const Attributes = {
        VisibilityTimeout: String(Math.ceil(visibilityMs / 1000)),
        RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount: maxReceives }),
      };
      await client.send(new SetQueueAttributesCommand({ QueueUrl: url, Attributes }));
      const own = name === queue ? deadLetterUrl : null;
      return { name, url, deadLetterUrl: own, letters: deadLetterUrl, arn: await arnOf(client, url) };
    }),
  );
}

async function make(client: SQSClient, QueueName: string): Promise<string> {
  return (await client.send(new CreateQueueCommand({ QueueName }))).QueueUrl!;
}

async function arnOf(client: SQSClient, url: string): Promise<string> {
  return (await attributesOf(client, url, ['QueueArn'])).QueueArn!;
}

async function attributesOf(
  client: SQSClient,
  QueueUrl: string,
  AttributeNames: QueueAttributeName[],
): Promise<Partial<Record<QueueAttributeName, string>>> {
  const { Attributes = {} } = await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames }));
  return Attributes;
}

const counted = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesDelayed',
  'ApproximateNumberOfMessagesNotVisible',
] as const;

export async function countQueues(
  client: SQSClient,
  queues: readonly SimulatedQueue[],
): Promise<Record<string, QueueCounts>> {
  const counts = queues.map(async ({ name, url, deadLetterUrl }) => {
    const [own, deadLetters] = await Promise.all([
      attributesOf(client, url, [...counted]),
      deadLetterUrl === null ? null : attributesOf(client, deadLetterUrl, [...counted]),
    ]);
    const [ready, delayed, hidden] = counted.map((attribute) => Number(own[attribute] ?? 0));
    const dead = counted.reduce((sum, attribute) => sum + Number(deadLetters?.[attribute] ?? 0), 0);
    return [name, { ready: ready!, delayed: delayed!, hidden: hidden!, dead }] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}

export const isEmpty = ({ ready, delayed, hidden }: QueueCounts): boolean => ready + delayed + hidden === 0;
