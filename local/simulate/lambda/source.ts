/** The event source of one queue: polls until it is stopped, and tells what came of each batch. */

import type { SQSClient } from '@aws-sdk/client-sqs';
import { systemClock } from '../../../core/base/clock.ts';
import { toError } from '../../../core/base/failure.ts';
import type { SimulationEvent } from '../events.ts';
import type { SimulationOptions } from './options.ts';
import { createPoller } from './poller.ts';
import type { SimulatedQueue } from './queues.ts';

export interface SourcePorts {
  readonly client: SQSClient;
  readonly queue: SimulatedQueue;
  readonly options: Pick<SimulationOptions, 'batchSize' | 'maxReceives' | 'timeoutMs'>;
  invoke(event: unknown): Promise<unknown>;
  on(event: SimulationEvent): void;
  /** SQS does not answer any more, or the function does not start. */
  broken(error: unknown): void;
  readonly stopping: AbortSignal;
}

interface Batch {
  readonly Records: readonly {
    readonly messageId: string;
    readonly attributes: { readonly ApproximateReceiveCount?: string };
  }[];
}

/** How long one receive call waits. A stop waits for it too: a call that is broken off may still receive messages. */
const waitSeconds = 1;

/** Resolves when it has stopped and its last batch is over. */
export async function pollQueue(ports: SourcePorts): Promise<void> {
  const { client, queue, options, on, stopping, broken } = ports;
  const { name, url, arn } = queue;
  const { batchSize, maxReceives, timeoutMs } = options;
  /** Messages whose last allowed delivery this is. */
  let last: string[] = [];
  let startedAt = 0;
  const poller = createPoller({
    client,
    url,
    arn,
    clock: { ...systemClock, after: () => () => {} }, // the environment ends what takes too long
    batchSize,
    waitSeconds,
    async invoke(event) {
      const { Records: records } = event as Batch;
      const receives = ({ attributes }: (typeof records)[number]): number =>
        Number(attributes.ApproximateReceiveCount ?? 1);
      last = records.filter((one) => receives(one) >= maxReceives).map(({ messageId }) => messageId);
      const again = records.filter((one) => receives(one) > 1).length;
      on({ type: 'invoked', queue: name, messages: records.length, again });
      startedAt = Date.now();
      const answer = await ports.invoke(event);
      last = last.filter((id) => failedIn(answer, id));
      return answer;
    },
  });
  while (!stopping.aborted) {
    last = [];
    try {
      const { taken, done, thrown } = await poller.poll(timeoutMs);
      if (taken === 0) continue;
      const durationMs = Date.now() - startedAt;
      const error = thrown === null ? null : toError(thrown);
      if (error) on({ type: 'failed', queue: name, messages: taken, error, durationMs });
      else on({ type: 'answered', queue: name, done, failed: taken - done, durationMs });
      if (last.length > 0) on({ type: 'redriven', queue: name, messages: last.length });
      if (error?.name === 'InitError') return broken(error);
    } catch (error) {
      if (!stopping.aborted) broken(error);
      return;
    }
  }
}

function failedIn(answer: unknown, id: string): boolean {
  const { batchItemFailures: items } = (answer ?? {}) as {
    batchItemFailures?: { itemIdentifier?: string }[];
  };
  return Array.isArray(items) && items.some((item) => item?.itemIdentifier === id);
}
