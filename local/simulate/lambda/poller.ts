/**
 * Lambda's event source for SQS, as AWS describes it: it receives, calls and deletes what is done. The rest stays hidden until its
 * visibility timeout ends.
 */

import {
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { toError } from '../../../core/base/failure.ts';
import { within } from '../../waiting.ts';
import type { SimulationEvent } from '../frame.ts';
import type { SimulationOptions } from './options.ts';
import type { SimulatedQueue } from './queues.ts';
import { chainOf, longestChain, traceHeaderOf } from './recursion.ts';

/** What a function gets beside its event, as far as Longshore uses it. */
export interface InvokeContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
  /** `_X_AMZN_TRACE_ID` of the invocation. */
  readonly traceHeader: string;
}

interface PollerOptions {
  readonly client: SQSClient;
  readonly url: string;
  readonly arn: string;
  readonly clock: Clock;
  readonly batchSize: number;
  /** The function, or its runtime: takes and gives JSON values. */
  invoke(event: unknown, context: InvokeContext): Promise<unknown>;
  /** How long a receive call waits for the first message, whole seconds. @default 0 */
  readonly waitSeconds?: number;
  /** The function's setting. @default 'Terminate' */
  readonly recursiveLoop?: 'Allow' | 'Terminate';
  /** Where the messages of a chain go that Lambda has stopped. Without it they are lost. */
  readonly deadLetterUrl?: string;
  /** Without it a call that ends well deletes all its messages. @default true */
  readonly reportBatchItemFailures?: boolean;
}

export type Poller = ReturnType<typeof createPoller>;

export function createPoller(options: PollerOptions) {
  const { client, url, clock, batchSize } = options;
  let calls = 0;

  async function receive(): Promise<Message[]> {
    const messages: Message[] = [];
    while (messages.length < batchSize) {
      const command = new ReceiveMessageCommand({
        QueueUrl: url,
        MaxNumberOfMessages: Math.min(10, batchSize - messages.length),
        MessageAttributeNames: ['All'],
        MessageSystemAttributeNames: ['All'],
        WaitTimeSeconds: messages.length === 0 ? (options.waitSeconds ?? 0) : 0,
      });
      const { Messages = [] } = await client.send(command);
      if (Messages.length === 0) break;
      messages.push(...Messages);
    }
    return messages;
  }

  async function call(messages: readonly Message[], timeoutMs: number): Promise<unknown> {
    const deadlineAt = clock.now() + timeoutMs;
    const event = { Records: messages.map((message) => recordOf(message, options.arn)) };
    const context = {
      awsRequestId: `request-${++calls}`,
      getRemainingTimeInMillis: () => deadlineAt - clock.now(),
      traceHeader: traceHeaderOf(chainOf(messages)),
    };
    const killed = (): never => {
      throw new Error(`Task timed out after ${timeoutMs} ms`);
    };
    const answer = await within(clock, timeoutMs, options.invoke(throughJson(event), context), killed);
    return answer === undefined ? null : throughJson(answer);
  }

  async function remove(messages: readonly Message[]): Promise<void> {
    for (let from = 0; from < messages.length; from += 10) {
      const batch = messages.slice(from, from + 10);
      const Entries = batch.map(({ ReceiptHandle }, i) => ({ Id: String(i), ReceiptHandle }));
      await client.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }));
    }
  }

  /** The function is not called. */
  async function stop(messages: readonly Message[]) {
    const { deadLetterUrl: QueueUrl } = options;
    for (const { Body: MessageBody = '', MessageAttributes } of QueueUrl === undefined ? [] : messages)
      await client.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageAttributes }));
    await remove(messages);
    return { failed: [], thrown: null, stopped: messages.length };
  }

  /** Calls the function with so much time and deletes what is done. `failed` comes back by itself. */
  async function deliver(messages: readonly Message[], timeoutMs: number) {
    if (options.recursiveLoop !== 'Allow' && chainOf(messages) > longestChain) return stop(messages);
    let answer: unknown;
    try {
      answer = await call(messages, timeoutMs);
    } catch (thrown) {
      return { failed: messages, thrown, stopped: 0 };
    }
    const ids = failedIds(answer, messages, options.reportBatchItemFailures ?? true);
    const failed = ids === 'all' ? messages : messages.filter(({ MessageId }) => ids.has(MessageId!));
    await remove(messages.filter((message) => !failed.includes(message)));
    return { failed, thrown: null, stopped: 0 };
  }

  return {
    receive,
    deliver,
    /** Receives once and, when there is something, delivers it. */
    async poll(timeoutMs: number) {
      const messages = await receive();
      if (messages.length === 0) return { taken: 0, done: 0, thrown: null };
      const { failed, thrown, stopped } = await deliver(messages, timeoutMs);
      return { taken: messages.length, done: messages.length - failed.length - stopped, thrown };
    },
  };
}

/** By AWS: no answer, `{}` and an empty or null list are success. An id that is empty, null or unknown fails all. */
export function failedIds(
  answer: unknown,
  messages: readonly Pick<Message, 'MessageId'>[],
  reporting = true,
): ReadonlySet<string> | 'all' {
  if (!reporting || answer === null || answer === undefined) return new Set();
  if (typeof answer !== 'object') return 'all';
  const { batchItemFailures: items } = answer as { batchItemFailures?: unknown };
  if (items === undefined || items === null) return new Set();
  if (!Array.isArray(items)) return 'all';
  const known = new Set(messages.map(({ MessageId }) => MessageId));
  const ids = items.map((item: { itemIdentifier?: unknown } | null) => item?.itemIdentifier);
  return ids.every((id) => typeof id === 'string' && known.has(id)) ? new Set(ids as string[]) : 'all';
}

function recordOf(message: Message, eventSourceARN: string) {
  const attributes = Object.entries(message.MessageAttributes ?? {}).map(([name, value]) => [
    name,
    {
      stringValue: value.StringValue,
      stringListValues: [],
      binaryListValues: [],
      dataType: value.DataType,
    },
  ]);
  return {
    messageId: message.MessageId,
    receiptHandle: message.ReceiptHandle,
    body: message.Body,
    attributes: message.Attributes ?? {},
    messageAttributes: Object.fromEntries(attributes),
    md5OfBody: message.MD5OfBody,
    eventSource: 'aws:sqs',
    eventSourceARN,
    awsRegion: eventSourceARN.split(':')[3],
  };
}

const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

interface SourcePorts {
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

/** Polls one queue until it is stopped, and tells what came of each batch. Resolves when its last batch is over. */
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
