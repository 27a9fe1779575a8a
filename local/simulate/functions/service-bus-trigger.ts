/**
 * The trigger for Service Bus, as its documentation and source describe it: receives a message, calls the function, and completes
 * the message when the function returns, or abandons it when it throws.
 */

import {
  ServiceBusClient,
  type ServiceBusReceivedMessage,
  type ServiceBusReceiver,
} from '@azure/service-bus';
import type { Clock } from '../../../core/base/clock.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { within } from '../../waiting.ts';
import type { TypedData } from './core-module.ts';
import type { FunctionsHost } from './host.ts';
import { createSessionReceivers, onLinkOf, type SessionRules } from './session-receivers.ts';

interface TriggerOptions extends SessionRules {
  readonly host: FunctionsHost;
  readonly connectionString: string;
  readonly clock: Clock;
  /** After this time the host kills the process: the message stays locked. */
  readonly functionTimeoutMs: number;
  /** Calls at the same time. @default 16 */
  readonly maxConcurrentCalls?: number;
  /** The queue that a binding means, which may name a setting. @default the one of that name */
  readonly entityOf?: (queueName: string) => string;
}

export interface Call {
  readonly message: ServiceBusReceivedMessage;
  /** `killed`: the function took longer than it may. */
  readonly end: 'completed' | 'abandoned' | 'killed' | 'lock lost';
  readonly thrown: unknown;
}

export type ServiceBusTrigger = ReturnType<typeof createServiceBusTrigger>;

export function createServiceBusTrigger(options: TriggerOptions) {
  const { host, clock, functionTimeoutMs, maxConcurrentCalls = 16, entityOf = (name) => name } = options;
  const client = new ServiceBusClient(options.connectionString, { retryOptions: { maxRetries: 0 } });
  const receivers = new Map<string, ServiceBusReceiver>();
  const sessions = createSessionReceivers(options.connectionString, clock, options);
  function open(queue: string): ServiceBusReceiver {
    const options = { skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 0 };
    const receiver = client.createReceiver(queue, options);
    // The real host is another process: a busy function must not break its link here. serviceBus() does the same.
    const inner = receiver as unknown as { _createBatchingReceiver?: (...given: unknown[]) => Batching };
    const create = inner._createBatchingReceiver;
    if (create)
      inner._createBatchingReceiver = (...given) => {
        const made = create.apply(receiver, given);
        if (made._batchingReceiverLite) made._batchingReceiverLite._drainTimeoutInMs = 10_000;
        return made;
      };
    return receiver;
  }
  /** The last call of each receiver: a receiver does one thing at a time. */
  const lastCalls = new Map<string, Promise<unknown>>();

  function receiverOf(queue: string) {
    const receiver = receivers.get(queue) ?? open(queue);
    receivers.set(queue, receiver);
    return receiver;
  }

  /** Receives up to `max` messages, or none after `waitMs`. */
  async function receive(queue: string, max: number, waitMs: number): Promise<ServiceBusReceivedMessage[]> {
    if (triggerOf(queue).isSessionsEnabled === true) return sessions.receive(queue, max, waitMs);
    const before = lastCalls.get(queue) ?? Promise.resolve();
    const mine = before.then(() => receiverOf(queue).receiveMessages(max, { maxWaitTimeInMs: waitMs }));
    lastCalls.set(
      queue,
      mine.catch(() => {}),
    );
    return mine;
  }
  const look = (queue: string) => receive(queue, 100, 20);

  function triggerOf(queue: string) {
    for (const { name, bindings } of host.functions)
      for (const { type, queueName, isSessionsEnabled } of Object.values(bindings))
        if (type === 'serviceBusTrigger' && entityOf(String(queueName)) === queue)
          return { name, isSessionsEnabled };
    throw new Error(`Expected a function for queue "${queue}", got none.`);
  }

  /** Calls the queue's function with a message, and settles it. */
  async function call(queue: string, message: ServiceBusReceivedMessage): Promise<Call> {
    const session = sessions.holderOf(message);
    const receiver = session ?? receiverOf(queue);
    const invoked = host.invoke(triggerOf(queue).name, bodyOf(message), metadataOf(message)).then(
      () => ({ thrown: null }),
      (thrown: unknown) => ({ thrown }),
    );
    const result = await within<{ thrown: unknown } | null>(clock, functionTimeoutMs, invoked, () => null);
    if (result === null) return { message, end: 'killed', thrown: null };
    const { thrown } = result;
    const settled = thrown === null ? receiver.completeMessage(message) : receiver.abandonMessage(message);
    return (session ? onLinkOf(session, settled) : settled)
      .then(
        (): Call => ({ message, end: thrown === null ? 'completed' : 'abandoned', thrown }),
        (): Call => ({ message, end: 'lock lost', thrown }),
      )
      .finally(() => sessions.ended(message));
  }

  return {
    receive,
    call,
    /** Rejects when the lock was lost. */
    async renew(queue: string, message: ServiceBusReceivedMessage) {
      const session = sessions.holderOf(message);
      await (session ? session.renewSessionLock() : receiverOf(queue).renewMessageLock(message));
    },
    /** Receives the ready messages, and calls the queue's function once per message. */
    async poll(queue: string) {
      const calls: Call[] = [];
      await forEach(
        await look(queue),
        async (message) => calls.push(await call(queue, message)),
        maxConcurrentCalls,
      );
      return calls;
    },
    /** Receives the ready messages and does nothing, like a process that is killed: its sessions are free at once. */
    async lose(queue: string): Promise<ServiceBusReceivedMessage[]> {
      const messages = await look(queue);
      await sessions.cut();
      return messages;
    },
    async close(): Promise<void> {
      await sessions.cut();
      await client.close();
    },
  };
}

/** Private state of the SDK. */
interface Batching {
  readonly _batchingReceiverLite?: { _drainTimeoutInMs?: number };
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
