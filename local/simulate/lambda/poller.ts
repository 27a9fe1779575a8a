/**
 * Lambda's event source for SQS, as AWS describes it. It receives messages, calls the function and deletes messages that are done. The
 * others stay hidden until their visibility timeout ends.
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

/** The parts of a function's context that Longshore uses. */
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
  /** Calls the function or its runtime with JSON values. */
  invoke(event: unknown, context: InvokeContext): Promise<unknown>;
  /** How long a receive call waits for the first message, in whole seconds. @default 0 */
  readonly waitSeconds?: number;
  /** The function's setting. @default 'Terminate' */
  readonly recursiveLoop?: 'Allow' | 'Terminate';
  /** Gets messages that Lambda stopped as a loop. Without it they are lost. */
  readonly deadLetterUrl?: string;
  /** `false` = a successful call deletes all its messages. @default true */
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

  /** Moves the messages to the dead letters without calling the function. */
  async function stop(messages: readonly Message[]) {
    const { deadLetterUrl: QueueUrl } = options;
    for (const { Body: MessageBody = '', MessageAttributes } of QueueUrl === undefined ? [] : messages)
      await client.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageAttributes }));
    await remove(messages);
    return { failed: [], thrown: null, stopped: messages.length };
  }

  /** Calls the function and deletes the messages that are done. The failed ones will be delivered again. */
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
    /** Receives once, and delivers the messages if there are any. */
    async poll(timeoutMs: number) {
      const messages = await receive();
      if (messages.length === 0) return { taken: 0, done: 0, thrown: null };
      const { failed, thrown, stopped } = await deliver(messages, timeoutMs);
      return { taken: messages.length, done: messages.length - failed.length - stopped, thrown };
    },
  };
}

/** The rules of AWS: no answer, `{}` and an empty or null list are success. An empty, null or unknown id fails all messages. */
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
  /** Called when SQS no longer answers, or the function does not start. */
  broken(error: unknown): void;
  readonly stopping: AbortSignal;
}

/** How long one receive call waits. A stop also waits for it, because an aborted call may still receive messages. */
const waitSeconds = 1;

/** Polls one queue until it is stopped, and emits an event for each batch. Resolves when the last batch has ended. */
export async function pollQueue(ports: SourcePorts): Promise<void> {
  const { client, queue, options, on, stopping, broken } = ports;
  const { name, url, arn, letters } = queue;
  const { batchSize, maxReceives, recursiveLoop, timeoutMs } = options;
  const poller = createPoller({
    client,
    url,
    arn,
    clock: { ...systemClock, after: () => () => {} }, // the runtime enforces the timeout
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
