/** The only file that imports the SDK. It is loaded on first use, because that takes longer than loading the rest. */

import type {
  RetryOptions,
  ServiceBusClient,
  ServiceBusMessage,
  ServiceBusReceiver,
  ServiceBusSender,
} from '@azure/service-bus';
import { toError } from '../../../core/base/failure.ts';
import { optional } from '../../../core/base/optional.ts';
import { createAmqpGate } from '../../../core/kit/clouds/amqp-gate.ts';
import type { Access } from './access.ts';
import type { BusMessage, Entity, Holding, ReceivedMessage, ServiceBusApi } from './api.ts';
import { codeOf } from './errors.ts';
import { createSdkSessions, isCut, onCut, type Session } from './sdk-sessions.ts';

/** Service Bus answers a drain with all its messages, so no long wait is needed. */
const lookMs = 20;
/** Existing messages arrive at once. The SDK would wait one second for more. */
const afterFirstMs = 5;

/** The limit of a single message also applies to the link: a larger batch breaks it. */
const mostInBatch = { bytes: 1_048_576, messages: 4_500 };

export const loadSdk = () => import('@azure/service-bus').catch(optional('@azure/service-bus'));

export async function openServiceBus(
  access: Access,
  given: RetryOptions & { readonly maxRetries: number; readonly timeoutInMs: number },
): Promise<ServiceBusApi> {
  const { ServiceBusClient: Client } = await loadSdk();
  const retryOptions = { ...given };
  const { maxRetries, timeoutInMs } = given;
  /** Per client, callbacks that end its pending requests. */
  const under = new WeakMap<ServiceBusClient, Set<(error: Error) => void>>();
  function connect(): ServiceBusClient {
    const made =
      'connectionString' in access
        ? new Client(access.connectionString, { retryOptions })
        : new Client(access.fullyQualifiedNamespace, access.credential as never, { retryOptions });
    const requests = new Set<(error: Error) => void>();
    under.set(made, requests);
    onCut(made, (error) => {
      // Reconnect at once, so that the next request does not have to time out first.
      if (made === client && !closed) reconnect();
      for (const end of requests) end(error);
    });
    return made;
  }
  let client = connect();
  let closed = false;
  const senders = new Map<string, ServiceBusSender>();
  const receivers = new Map<string, ServiceBusReceiver>();
  /** The last call of each receiver: a receiver handles one call at a time. */
  const lastCalls = new WeakMap<ServiceBusReceiver, Promise<unknown>>();
  /** Receivers whose last call was filled: there are probably more messages. */
  const busy = new WeakSet<ServiceBusReceiver>();

  function senderOf(queue: string): ServiceBusSender {
    const sender = senders.get(queue) ?? client.createSender(queue);
    senders.set(queue, sender);
    return sender;
  }

  /** @param use separate receivers, so that a look does not wait for a long poll */
  function receiverOf({ name, deadLetters }: Entity, use: 'waits' | number = 0): ServiceBusReceiver {
    const key = `${use} ${deadLetters ? 'dead' : 'own'} ${name}`;
    const receiver =
      receivers.get(key) ??
      patient(
        client.createReceiver(name, {
          receiveMode: 'peekLock',
          skipParsingBodyAsJson: true,
          maxAutoLockRenewalDurationInMs: 0, // leases are renewed and ended by Longshore's own clock
          ...(deadLetters && { subQueueType: 'deadLetter' as const }),
        }),
        timeoutInMs,
      );
    receivers.set(key, receiver);
    return receiver;
  }

  /** Pending calls fail. Their messages are settled by token, which needs no link of its own. */
  function reconnect(): void {
    const lost = client;
    client = connect();
    senders.clear();
    receivers.clear();
    lost.close().catch(() => {});
  }

  /**
   * The SDK waits for minutes, or for ever, for the answer to a request over a broken connection. So each try ends with its timeout or with its
   * connection, and the next one uses another connection. All requests may be repeated: a queue drops a message that is sent again, and refuses
   * to settle one twice.
   */
  async function bounded<T>(request: () => Promise<T>, ms = timeoutInMs, retries = maxRetries): Promise<T> {
    for (let left = retries; ; left--) {
      const used = client;
      try {
        return await within(ms, request(), under.get(used));
      } catch (error) {
        if ((codeOf(error) !== 'ServiceTimeout' && !isCut(error)) || closed) throw error;
        if (used === client) reconnect();
        if (left <= 0) throw error;
      }
    }
  }

  const sessions = createSdkSessions({
    client: () => client,
    retryOptions,
    bounded: (request, ms) => bounded(request, ms, 0),
    patient: (session) => patientSession(session, timeoutInMs),
  });

  const gate = createAmqpGate();

  /**
   * A message of a session can be settled only on the link that it came on, where it is the only one.
   * @param outcome '' = equal to no other
   */
  const settle = (
    entity: Entity,
    holding: Holding,
    outcome: string,
    how: (receiver: ServiceBusReceiver) => Promise<void>,
  ): Promise<void> =>
    sessions.holds(holding)
      ? sessions.settle(holding, how)
      : bounded(async () => {
          await gate(outcome);
          await how(receiverOf(entity));
        });

  async function receiveWith(
    receiver: ServiceBusReceiver,
    max: number,
    maxWaitTimeInMs: number,
  ): Promise<ReceivedMessage[]> {
    const before = lastCalls.get(receiver) ?? Promise.resolve();
    const look = () => receiver.receiveMessages(max, { maxWaitTimeInMs });
    const mine = before.then(() => bounded(look, maxWaitTimeInMs + timeoutInMs, 0));
    lastCalls.set(
      receiver,
      mine.catch(() => {}),
    );
    return mine;
  }

  async function sendGroup(
    queue: string,
    messages: readonly BusMessage[],
    indexes: readonly number[],
    answers: (unknown | null)[],
  ): Promise<void> {
    const newBatch = () =>
      bounded(async () => {
        const sender = senderOf(queue);
        const made = await sender.createMessageBatch();
        const { bytes } = mostInBatch;
        return made.maxSizeInBytes > bytes ? sender.createMessageBatch({ maxSizeInBytes: bytes }) : made;
      });
    let batch: number[] = [];
    let open = await newBatch();
    let silence: Error | null = null;
    async function send(what: Parameters<ServiceBusSender['sendMessages']>[0]): Promise<Error | null> {
      if (silence) return silence; // no answer: the next message would wait as long
      const failure = await bounded(() => senderOf(queue).sendMessages(what)).then(() => null, toError);
      if (codeOf(failure) === 'ServiceTimeout') silence = failure;
      return failure;
    }
    const flush = async () => {
      if (batch.length === 0) return;
      const answer = await send(batch.length === 1 ? messages[batch[0]!]! : open);
      for (const i of batch) answers[i] = answer;
      batch = [];
    };
    for (const i of indexes) {
      const message: ServiceBusMessage = messages[i]!;
      if (batch.length >= mostInBatch.messages || !open.tryAddMessage(message)) {
        await flush();
        open = await newBatch();
        // A batch of one is larger than the message itself, so let Service Bus decide.
        if (!open.tryAddMessage(message)) {
          answers[i] = await send(message);
          continue;
        }
      }
      batch.push(i);
    }
    await flush();
  }

  return {
    async send(queue, messages) {
      const answers: (unknown | null)[] = new Array(messages.length).fill(null);
      // Never mix scheduled messages with others: a batch takes its schedule from its first message.
      const isDelayed = (i: number) => messages[i]!.scheduledEnqueueTimeUtc !== undefined;
      const groups = Map.groupBy(messages.keys(), isDelayed);
      for (const group of groups.values()) await sendGroup(queue, messages, group, answers);
      return answers;
    },
    async openSender(queue) {
      await bounded(() => senderOf(queue).createMessageBatch());
    },
    async receive(entity, max, waitMs, link = 0) {
      if (waitMs <= 0) return receiveWith(receiverOf(entity, link), max, lookMs);
      const receiver = receiverOf(entity, 'waits');
      // If asked for several messages, the SDK holds the first one back until Service Bus reports that there are no more: one round trip.
      const wanted = busy.has(receiver) ? max : 1;
      busy.delete(receiver);
      const found = await receiveWith(receiver, wanted, waitMs);
      if (found.length >= wanted) busy.add(receiver);
      return found;
    },
    receiveOfSessions: (queue, max, waitMs) => sessions.receive(queue, max, waitMs),
    letGo: sessions.release,
    complete: (entity, holding) =>
      settle(entity, holding, 'complete', (by) => by.completeMessage(heldBy(holding))),
    abandon: (entity, holding) =>
      settle(entity, holding, 'abandon', (by) => by.abandonMessage(heldBy(holding))),
    deadLetter: (entity, holding, facts) =>
      settle(entity, holding, '', (by) => by.deadLetterMessage(heldBy(holding), facts)),
    renew: (entity, holding) =>
      sessions.holds(holding)
        ? sessions.renew(holding)
        : bounded(() => receiverOf(entity).renewMessageLock(heldBy(holding))),
    peek: (entity, from, max) =>
      bounded(() => receiverOf(entity).peekMessages(max, { fromSequenceNumber: longFrom(from) as never })),
    async close() {
      closed = true;
      await within(timeoutInMs, client.close()).catch(() => {}); // if it cannot be closed, it is gone already
    },
  };
}

/**
 * When a receive call ends, the SDK gives Service Bus 200 ms to answer and then closes the link. After that, settling the messages of that link
 * takes 10 seconds or more. A process that is busy for 200 ms misses the answer. The SDK has no option for this. It also does not catch the
 * error if Service Bus never answers, which would end the process.
 */
function patient(receiver: ServiceBusReceiver, timeoutMs: number): ServiceBusReceiver {
  const inner = receiver as unknown as {
    _createBatchingReceiver?: (...given: unknown[]) => BatchingReceiver;
  };
  const create = inner._createBatchingReceiver;
  if (create) {
    inner._createBatchingReceiver = (...given) => {
      const made = create.apply(receiver, given);
      makePatient(made, timeoutMs);
      return made;
    };
  }
  return receiver;
}

function patientSession(session: Session, timeoutMs: number): Session {
  const { _messageSession } = session as unknown as { _messageSession?: BatchingReceiver };
  if (_messageSession) makePatient(_messageSession, timeoutMs);
  return session;
}

function makePatient({ _batchingReceiverLite: lite }: BatchingReceiver, timeoutMs: number): void {
  if (!lite?.tryDrainReceiver) return;
  lite._drainTimeoutInMs = timeoutMs / 2;
  const remainingFn = lite._getRemainingWaitTimeInMsFn?.bind(lite);
  if (remainingFn) lite._getRemainingWaitTimeInMsFn = (waitMs) => remainingFn(waitMs, afterFirstMs);
  const drain = lite.tryDrainReceiver.bind(lite);
  lite.tryDrainReceiver = (...of) => drain(...of).catch(() => {});
}

interface BatchingReceiver {
  readonly _batchingReceiverLite?: {
    _drainTimeoutInMs?: number;
    _getRemainingWaitTimeInMsFn?(maxWaitMs: number, afterFirstMs: number): () => number;
    tryDrainReceiver?(...given: unknown[]): Promise<void>;
  };
}

/**
 * Rejects with code `ServiceTimeout` if `work` takes longer than `ms`.
 * @param ends receives a callback that ends it earlier
 */
async function within<T>(ms: number, work: Promise<T>, ends?: Set<(error: Error) => void>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stop = setTimeout(() => {
    const error = new Error(`Service Bus did not answer within ${ms} ms.`);
    reject(Object.assign(error, { code: 'ServiceTimeout' }));
  }, ms);
  ends?.add(reject);
  try {
    return await Promise.race([work, late]);
  } finally {
    ends?.delete(reject);
    clearTimeout(stop);
    work.catch(() => {}); // a late failure must not go unhandled
  }
}

/** A message received here is settled on its link. For any other the token is enough, over the management link. */
function heldBy(holding: Holding): never {
  return ('delivery' in holding ? holding : { ...holding, delivery: {} }) as never;
}

/** A `Long` with the parts that the SDK reads: its mark and its bytes. The package itself is not a dependency. */
const longFrom = (text: string): unknown => ({
  __isLong__: true,
  toBytesBE() {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(BigInt(text));
    return [...bytes];
  },
});
