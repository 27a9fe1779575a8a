/** The event source of one queue: polls until it is stopped, and tells what came of each batch. */

import type { Message, SQSClient } from '@aws-sdk/client-sqs';
import { systemClock } from '../../../core/base/clock.ts';
import { toError } from '../../../core/base/failure.ts';
import type { SimulationEvent } from '../events.ts';
import type { SimulationOptions } from './options.ts';
import { createPoller, type InvokeContext } from './poller.ts';
import type { SimulatedQueue } from './queues.ts';

export interface SourcePorts {
  readonly client: SQSClient;
  readonly queue: SimulatedQueue;
  readonly options: Pick<SimulationOptions, 'batchSize' | 'maxReceives' | 'recursiveLoop' | 'timeoutMs'>;
  invoke(event: unknown, context: InvokeContext): Promise<unknown>;
  on(event: SimulationEvent): void;
  /** SQS does not answer any more, or the function does not start. */
  broken(error: unknown): void;
  readonly stopping: AbortSignal;
}

/** How long one receive call waits. A stop waits for it too: a call that is broken off may still receive messages. */
const waitSeconds = 1;

/** Resolves when it has stopped and its last batch is over. */
export async function pollQueue(ports: SourcePorts): Promise<void> {
  const { client, queue, options, on, stopping, broken } = ports;
  const { name, url, arn, letters } = queue;
  const { batchSize, maxReceives, recursiveLoop, timeoutMs } = options;
  const poller = createPoller({
    client,
    url,
    arn,
    clock: { ...systemClock, after: () => () => {} }, // the environment ends what takes too long
    batchSize,
    waitSeconds,
    recursiveLoop,
    deadLetterUrl: letters,
    invoke: ports.invoke,
  });
  const receives = ({ Attributes }: Message): number => Number(Attributes?.ApproximateReceiveCount ?? 1);
  while (!stopping.aborted) {
    try {
      const messages = await poller.receive();
      if (messages.length === 0) continue;
      const again = messages.filter((one) => receives(one) > 1).length;
      on({ type: 'invoked', queue: name, messages: messages.length, again });
      const startedAt = Date.now();
      const { failed, thrown, stopped } = await poller.deliver(messages, timeoutMs);
      const durationMs = Date.now() - startedAt;
      const error = thrown === null ? null : toError(thrown);
      const done = messages.length - failed.length - stopped;
      if (error) on({ type: 'failed', queue: name, messages: messages.length, error, durationMs });
      else if (stopped > 0) on({ type: 'stopped', queue: name, messages: stopped });
      else on({ type: 'answered', queue: name, done, failed: failed.length, durationMs });
      const redriven = failed.filter((one) => receives(one) >= maxReceives).length;
      if (redriven > 0) on({ type: 'redriven', queue: name, messages: redriven });
      if (error?.name === 'InitError') return broken(error);
    } catch (error) {
      if (!stopping.aborted) broken(error);
      return;
    }
  }
}
