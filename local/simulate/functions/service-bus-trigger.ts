/**
 * The trigger for Service Bus, as its documentation and source describe it: receive, call, then complete what has
 * returned and abandon what has thrown. Metadata are those of one message.
 */

import { ServiceBusClient, type ServiceBusReceivedMessage } from '@azure/service-bus';
import type { Clock } from '../../../core/clock.ts';
import type { TypedData } from './core-module.ts';
import type { FunctionsHost } from './host.ts';

export interface TriggerOptions {
  readonly host: FunctionsHost;
  readonly connectionString: string;
  readonly clock: Clock;
  /** After so long the host kills the process: the message stays locked. */
  readonly functionTimeoutMs: number;
  /** Calls at the same time. @default 16 */
  readonly maxConcurrentCalls?: number;
}

export interface Call {
  readonly message: ServiceBusReceivedMessage;
  /** `killed`: the function took longer than it may. */
  readonly end: 'completed' | 'abandoned' | 'killed' | 'lock lost';
  readonly thrown: unknown;
}

export interface ServiceBusTrigger {
  /** Takes what is ready in the queue, and calls the queue's function once per message. */
  poll(queue: string): Promise<Call[]>;
  /** Takes what is ready and does nothing, as a process that dies at once. */
  lose(queue: string): Promise<number>;
  close(): Promise<void>;
}

export function createServiceBusTrigger(options: TriggerOptions): ServiceBusTrigger {
  const { host, clock, functionTimeoutMs, maxConcurrentCalls = 16 } = options;
  const client = new ServiceBusClient(options.connectionString, { retryOptions: { maxRetries: 0 } });
  const receivers = new Map<string, ReturnType<typeof open>>();
  const open = (queue: string) =>
    client.createReceiver(queue, { skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 0 });
  let turn: Promise<unknown> = Promise.resolve();

  function receiverOf(queue: string) {
    const receiver = receivers.get(queue) ?? open(queue);
    receivers.set(queue, receiver);
    return receiver;
  }

  async function receive(queue: string): Promise<ServiceBusReceivedMessage[]> {
    const mine = turn.then(() => receiverOf(queue).receiveMessages(100, { maxWaitTimeInMs: 20 }));
    turn = mine.catch(() => {});
    return mine;
  }

  function functionOf(queue: string): string {
    const found = host.functions.find(({ bindings }) =>
      Object.values(bindings).some(
        ({ type, queueName }) => type === 'serviceBusTrigger' && queueName === queue,
      ),
    );
    if (!found) throw new Error(`Expected a function for queue "${queue}", got none.`);
    return found.name;
  }

  async function call(queue: string, message: ServiceBusReceivedMessage): Promise<Call> {
    const receiver = receiverOf(queue);
    let stop = () => {};
    const killed = new Promise<'killed'>((resolve) => {
      stop = clock.after(functionTimeoutMs, () => resolve('killed'));
    });
    const invoked = host.invoke(functionOf(queue), bodyOf(message), metadataOf(message)).then(
      () => ({ thrown: null }),
      (thrown: unknown) => ({ thrown }),
    );
    const result = await Promise.race([invoked, killed]);
    stop();
    if (result === 'killed') return { message, end: 'killed', thrown: null };
    const { thrown } = result;
    const settled = thrown === null ? receiver.completeMessage(message) : receiver.abandonMessage(message);
    return settled.then(
      () => ({ message, end: thrown === null ? 'completed' : 'abandoned', thrown }),
      () => ({ message, end: 'lock lost', thrown }),
    );
  }

  return {
    async poll(queue) {
      const next = (await receive(queue)).values();
      const calls: Call[] = [];
      const lane = async () => {
        for (const message of next) calls.push(await call(queue, message));
      };
      await Promise.all(Array.from({ length: maxConcurrentCalls }, lane));
      return calls;
    },
    lose: async (queue) => (await receive(queue)).length,
    close: () => client.close(),
  };
}

/** As a text; the worker's library tries to parse it. */
export const bodyOf = ({ body }: Pick<ServiceBusReceivedMessage, 'body'>): TypedData => ({
  string: Buffer.from(body as Uint8Array).toString('utf8'),
});

export function metadataOf(message: ServiceBusReceivedMessage): Record<string, TypedData> {
  const { messageId, sessionId, subject, contentType, correlationId, applicationProperties = {} } = message;
  const text = (value: unknown): TypedData => ({ string: String(value) });
  const json = (value: unknown): TypedData => ({ json: JSON.stringify(value) });
  const enqueued = message.enqueuedTimeUtc?.toISOString() ?? '';
  return {
    DeliveryCount: { int: (message.deliveryCount ?? 0) + 1 },
    LockToken: text(message.lockToken),
    MessageId: text(messageId),
    SequenceNumber: { int: Number(message.sequenceNumber?.toString()) },
    EnqueuedTime: json(enqueued.replace('Z', '+00:00')),
    EnqueuedTimeUtc: json(enqueued.replace('Z', '')),
    ApplicationProperties: json(applicationProperties),
    UserProperties: json(applicationProperties),
    ...(sessionId !== undefined && { SessionId: text(sessionId) }),
    ...(subject !== undefined && { Subject: text(subject) }),
    ...(contentType !== undefined && { ContentType: text(contentType) }),
    ...(correlationId !== undefined && { CorrelationId: text(correlationId) }),
  };
}
