/**
 * The Service Bus trigger, after its documentation and source: receives a message, calls the function, and completes the message when
 * the function returns, or abandons it when the function throws.
 */

import {
  ServiceBusClient,
  type ServiceBusReceivedMessage,
  type ServiceBusReceiver,
  type ServiceBusSessionReceiver,
} from '@azure/service-bus';
import type { Clock } from '../../../core/base/clock.ts';
import { toError } from '../../../core/base/failure.ts';
import { createAmqpGate } from '../../../core/kit/clouds/amqp-gate.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { within } from '../../waiting.ts';
import type { SimulationEvent } from '../frame.ts';
import type { FunctionsHost, TypedData } from './host.ts';

interface TriggerOptions extends SessionRules {
  readonly host: FunctionsHost;
  readonly connectionString: string;
  readonly clock: Clock;
  /** After this time the host kills the process, and the message stays locked. */
  readonly functionTimeoutMs: number;
  /** Concurrent calls. @default 16 */
  readonly maxConcurrentCalls?: number;
  /** Resolves the queue name of a binding, which may refer to a setting. @default the name itself */
  readonly entityOf?: (queueName: string) => string;
}

export interface Call {
  readonly message: ServiceBusReceivedMessage;
  /** `killed`: the function exceeded its time. */
  readonly end: 'completed' | 'abandoned' | 'killed' | 'lock lost';
  readonly thrown: unknown;
}

export type ServiceBusTrigger = ReturnType<typeof createServiceBusTrigger>;

export function createServiceBusTrigger(options: TriggerOptions) {
  const { host, clock, functionTimeoutMs, maxConcurrentCalls = 16, entityOf = (name) => name } = options;
  const client = new ServiceBusClient(options.connectionString, { retryOptions: { maxRetries: 0 } });
  const receivers = new Map<string, ServiceBusReceiver>();
  const gate = createAmqpGate();
  const sessions = createSessionReceivers(options.connectionString, clock, options);
  function open(queue: string): ServiceBusReceiver {
    const options = { skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 0 };
    const receiver = client.createReceiver(queue, options);
    // The real host is another process, so a busy function must not break the link here. serviceBus() does the same.
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
  /** The last call of each receiver, because a receiver handles one call at a time. */
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
  const look = (queue: string) => receive(queue, 100, lookMs);

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
    await gate(thrown === null ? 'complete' : 'abandon');
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
    /** Renews the lock. Rejects if it was lost. */
    async renew(queue: string, message: ServiceBusReceivedMessage) {
      const session = sessions.holderOf(message);
      await (session ? session.renewSessionLock() : receiverOf(queue).renewMessageLock(message));
    },
    /** Receives the ready messages and calls the queue's function once per message. */
    async poll(queue: string) {
      const calls: Call[] = [];
      await forEach(
        await look(queue),
        async (message) => calls.push(await call(queue, message)),
        maxConcurrentCalls,
      );
      return calls;
    },
    /** Receives the ready messages and drops them, like a process that is killed. Its sessions are free at once. */
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

/** The body as text. The worker's library tries to parse it. */
const bodyOf = ({ body }: Pick<ServiceBusReceivedMessage, 'body'>): TypedData => ({
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

interface SessionRules {
  /** `maxConcurrentSessions` of host.json. @default 8 */
  readonly maxConcurrentSessions?: number;
  /** `sessionIdleTimeout` of host.json. @default 60_000 */
  readonly sessionIdleMs?: number;
}

/** Minimum wait for a free session to be accepted. */
const leastWaitMs = 100;
/** Wait of a receive call that takes only messages that are ready. */
const lookMs = 20;

interface Held {
  readonly session: ServiceBusSessionReceiver;
  /** A call is handling its message. */
  busy: boolean;
  /** Epoch ms. */
  emptySince: number;
}

/**
 * Receives for the trigger of a queue with sessions, by the host's rules. It holds up to `maxConcurrentSessions` sessions, gets their
 * messages one by one, and keeps a session until it has been empty for `sessionIdleMs`. Until then other groups wait.
 */
function createSessionReceivers(
  connectionString: string,
  clock: Clock,
  { maxConcurrentSessions = 8, sessionIdleMs = 60_000 }: SessionRules,
) {
  /** Clients by how long they wait for a session, because the SDK sets this per client. */
  const clients = new Map<number, ServiceBusClient>();
  const holders = new WeakMap<ServiceBusReceivedMessage, Held>();
  /** By queue. */
  let held = new Map<string, Held[]>();

  function clientFor(timeoutInMs: number): ServiceBusClient {
    const client =
      clients.get(timeoutInMs) ??
      new ServiceBusClient(connectionString, { retryOptions: { maxRetries: 0, timeoutInMs } });
    clients.set(timeoutInMs, client);
    return client;
  }

  async function next(one: Held, waitMs: number): Promise<ServiceBusReceivedMessage[]> {
    one.busy = true;
    const found = await one.session.receiveMessages(1, { maxWaitTimeInMs: waitMs }).catch(() => []);
    const [message] = found;
    one.busy = message !== undefined;
    if (message) {
      one.emptySince = Number.POSITIVE_INFINITY;
      holders.set(message, one);
    } else if (one.emptySince === Number.POSITIVE_INFINITY) one.emptySince = clock.now();
    return found;
  }

  /** Closes sessions that have been empty for too long, and returns the others. */
  async function kept(queue: string): Promise<Held[]> {
    const isOver = ({ session, busy, emptySince }: Held): boolean =>
      session.isClosed || (!busy && clock.now() - emptySince >= sessionIdleMs);
    const all = held.get(queue) ?? [];
    await Promise.all(all.filter(isOver).map(({ session }) => session.close()));
    const those = all.filter((one) => !isOver(one) && !one.session.isClosed);
    held.set(queue, those);
    return those;
  }

  return {
    /** The session receiver of a message. */
    holderOf: (message: ServiceBusReceivedMessage) => holders.get(message)?.session,
    /** The call with this message has ended, so its session may give the next message. */
    ended(message: ServiceBusReceivedMessage): void {
      const one = holders.get(message);
      if (one) one.busy = false;
    },
    /** Receives the next messages of the held sessions, and of further sessions up to the maximum. */
    async receive(queue: string, max: number, waitMs: number): Promise<ServiceBusReceivedMessage[]> {
      const mine = await kept(queue);
      const free = mine.filter(({ busy }) => !busy).slice(0, max);
      const found = (await Promise.all(free.map((one) => next(one, lookMs)))).flat();
      while (found.length < max && mine.length < maxConcurrentSessions) {
        const client = clientFor(Math.max(leastWaitMs, mine.length === 0 ? waitMs : 0));
        const options = { skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 0 };
        const session = await client.acceptNextSession(queue, options).catch((error) => {
          if (error.code === 'ServiceTimeout' || error.code === 'SessionCannotBeLocked') return null;
          throw error;
        });
        if (!session) break;
        const one: Held = { session, busy: false, emptySince: Number.POSITIVE_INFINITY };
        mine.push(one);
        found.push(...(await next(one, 1_000)));
      }
      return found;
    },
    /** Cuts the connections, as if the process was killed. */
    async cut(): Promise<void> {
      const cutting = [...clients.values()];
      clients.clear();
      held = new Map();
      for (const client of cutting) await client.close();
    },
  };
}

/** Rejects when the link is gone. The SDK would wait for an answer for a minute. */
async function onLinkOf(session: ServiceBusSessionReceiver, work: Promise<void>): Promise<void> {
  const gone = Promise.withResolvers<never>();
  const look = setInterval(() => session.isClosed && gone.reject(new Error('its link is closed')), 100);
  try {
    await Promise.race([work, gone.promise]);
  } finally {
    clearInterval(look);
    work.catch(() => {});
  }
}

interface PumpOptions {
  readonly trigger: ServiceBusTrigger;
  readonly queue: string;
  readonly maxConcurrentCalls: number;
  readonly lockMs: number;
  readonly maxLockRenewalMs: number;
  readonly maxDeliveries: number;
  readonly stopping: AbortSignal;
  on(event: SimulationEvent): void;
  /** Called when Service Bus no longer answers. */
  broken(error: unknown): void;
}

/** How long one receive call waits. A stop also waits for it, because an aborted call may still receive messages. */
const waitMs = 1_000;

/** The trigger of one queue while the host runs: makes concurrent calls and renews their locks. */
export function startPump(options: PumpOptions) {
  const { trigger, queue, maxConcurrentCalls, stopping, on, broken } = options;
  const calls = new Set<Promise<void>>();

  async function call(message: ServiceBusReceivedMessage): Promise<void> {
    const deliveries = (message.deliveryCount ?? 0) + 1;
    const startedAt = Date.now();
    on({ type: 'invoked', queue, messages: 1, again: deliveries > 1 ? 1 : 0 });
    const stopRenewing = renewing(message, startedAt);
    const { end, thrown } = await trigger.call(queue, message).finally(stopRenewing);
    const durationMs = Date.now() - startedAt;
    if (end === 'completed') return on({ type: 'answered', queue, done: 1, failed: 0, durationMs });
    const error = thrown === null ? new Error(whyNot[end]) : toError(thrown);
    on({ type: 'failed', queue, messages: 1, error, durationMs });
    if (deliveries >= options.maxDeliveries) on({ type: 'redriven', queue, messages: 1 });
  }

  function renewing(message: ServiceBusReceivedMessage, startedAt: number): () => void {
    const timer = setInterval(() => {
      if (Date.now() - startedAt > options.maxLockRenewalMs) return clearInterval(timer);
      trigger.renew(queue, message).catch(() => clearInterval(timer)); // the failed completion is reported
    }, options.lockMs / 3);
    return () => clearInterval(timer);
  }

  async function pump(): Promise<void> {
    while (!stopping.aborted) {
      // If asked to wait for several messages, the SDK would hold back the first one for a second.
      const messages = await trigger.receive(queue, 1, waitMs);
      const free = maxConcurrentCalls - calls.size - messages.length;
      if (messages.length > 0 && free > 0) messages.push(...(await trigger.receive(queue, free, lookMs)));
      if (stopping.aborted) return; // messages received meanwhile are dropped: Service Bus ends too
      for (const message of messages) {
        const mine: Promise<void> = call(message)
          .catch(broken)
          .finally(() => calls.delete(mine));
        calls.add(mine);
      }
      while (calls.size >= maxConcurrentCalls) await Promise.race(calls);
    }
  }

  return {
    /** Calls under way. */
    running: () => calls.size,
    /** Resolves when it has stopped and its last call has ended. */
    done: pump()
      .catch((error) => {
        if (!stopping.aborted) broken(error);
      })
      .then(async () => void (await Promise.all(calls))),
  };
}

const whyNot: Readonly<Record<string, string>> = {
  abandoned: 'it has thrown nothing',
  killed: 'it took longer than functionTimeout; the host would end its process',
  'lock lost': 'its lock had ended before it was completed',
};
