/** Asks SQS whether a queue can do what it has to. */

import { config } from '../../../core/base/errors.ts';
import type { Connection } from './connection.ts';
import type { QueueAddress } from './queues.ts';

/** What SQS allows at most. */
const mostReceives = 1_000;
/** Deliveries beside those of the attempts: a function that is throttled or killed spends them too. */
const spareReceives = 5;

/**
 * Throws `CONFIG` unless the queue and its dead-letter queue exist, and SQS leaves jobs in it until their last retry.
 * @param maxRetries of its jobs; `null` = not known
 */
export async function checkQueue(
  { queues, addressOf, call }: Connection,
  queue: string,
  maxRetries: number | null = null,
): Promise<void> {
  const { deadLetterUrl } = addressOf(queue);
  for (const address of queues.lanesOf(queue)) {
    const { RedrivePolicy } = await call(`looking for queue "${queue}" at ${address.url}`, (api) =>
      api.attributes(address.url, ['QueueArn', 'RedrivePolicy']),
    );
    checkReceives(address, RedrivePolicy, maxRetries);
  }
  await call(`looking for the dead-letter queue of "${queue}" at ${deadLetterUrl}`, (api) =>
    api.attributes(deadLetterUrl, ['QueueArn']),
  );
}

/** On a FIFO queue a message may be delivered, and counted, whenever one before it in its group is: however often that fails. */
function checkReceives({ name, url, fifo }: QueueAddress, policy = '{}', maxRetries: number | null): void {
  const { maxReceiveCount: most = mostReceives } = JSON.parse(policy) as {
    maxReceiveCount?: number | string;
  };
  const wanted = maxRetries === null ? 1 : maxRetries + spareReceives;
  const least = fifo ? mostReceives : Math.min(wanted, mostReceives);
  if (Number(most) >= least) return;
  throw config(
    `Expected maxReceiveCount of ${fifo ? 'FIFO ' : ''}queue "${name}" at ${url} to be ${least} or more, got ${most}. SQS would move jobs to the dead letters before their last retry.`,
  );
}
