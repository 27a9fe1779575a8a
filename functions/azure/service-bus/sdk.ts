/** The only file that imports the SDK, and it is imported on first use: loading it takes longer than all the rest. */

import {
  type RetryOptions,
  ServiceBusClient,
  type ServiceBusMessage,
  type ServiceBusReceiver,
  type ServiceBusSender,
} from '@azure/service-bus';
import type { Entity, Holding, OutgoingParcel, ReceivedMessage, ServiceBusApi } from './api.ts';
import type { Access } from './connection.ts';
import { codeOf } from './errors.ts';

/** Service Bus answers a drain with all it has, so a look need not wait for a reply. */
const lookMs = 20;

export function openServiceBus(
  access: Access,
  retryOptions: RetryOptions & { readonly maxRetries: number; readonly timeoutInMs: number },
): ServiceBusApi {
  const { maxRetries, timeoutInMs } = retryOptions;
  const client =
    'connectionString' in access
      ? new ServiceBusClient(access.connectionString, { retryOptions })
      : new ServiceBusClient(access.fullyQualifiedNamespace, access.credential as never, { retryOptions });
  const senders = new Map<string, ServiceBusSender>();
  const receivers = new Map<string, ServiceBusReceiver>();
  /** A receiver does one thing at a time. */
  const turns = new Map<ServiceBusReceiver, Promise<unknown>>();

  function senderOf(queue: string): ServiceBusSender {
    const sender = senders.get(queue) ?? client.createSender(queue);
    senders.set(queue, sender);
    return sender;
  }

  /** @param use those that wait and those that look keep out of each other's way */
  function receiverOf({ name, deadLetters }: Entity, use: 'waits' | 'looks' = 'looks'): ServiceBusReceiver {
    const key = `${use} ${deadLetters ? 'dead' : 'own'} ${name}`;
    const receiver =
      receivers.get(key) ??
      patient(
        client.createReceiver(name, {
          receiveMode: 'peekLock',
          skipParsingBodyAsJson: true,
          maxAutoLockRenewalDurationInMs: 0, // leases are renewed, and end, by our own clock
          ...(deadLetters && { subQueueType: 'deadLetter' as const }),
        }),
        timeoutInMs,
      );
    receivers.set(key, receiver);
    return receiver;
  }

  /**
   * A request over the management link that is under way when the connection goes is never answered, and the SDK waits a
   * minute for it, or for ever. These change nothing when they are repeated.
   */
  async function asked<T>(request: () => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await within(timeoutInMs, request());
      } catch (error) {
        if (codeOf(error) !== 'ServiceTimeout' || tries >= maxRetries) throw error;
      }
    }
  }

  /** Settling on a link that is gone goes on over the management link, after the SDK's own timeout. */
  const settled = (work: Promise<void>): Promise<void> => within(2 * (maxRetries + 1) * timeoutInMs, work);

  async function receiveWith(
    receiver: ServiceBusReceiver,
    max: number,
    maxWaitTimeInMs: number,
  ): Promise<ReceivedMessage[]> {
    const before = turns.get(receiver) ?? Promise.resolve();
    const mine = before.then(() => receiver.receiveMessages(max, { maxWaitTimeInMs }));
    turns.set(
      receiver,
      mine.catch(() => {}),
    );
    return mine;
  }

  return {
    async send(queue, parcels) {
      const sender = senderOf(queue);
      const answers: (unknown | null)[] = new Array(parcels.length).fill(null);
      for (const addresses of groupsOf(parcels)) await sendGroup(sender, parcels, addresses, answers);
      return answers;
    },
    async receive(entity, max, waitMs) {
      // Asked to wait for several, the SDK would hold the first one back for a second.
      return waitMs > 0
        ? receiveWith(receiverOf(entity, 'waits'), 1, waitMs)
        : receiveWith(receiverOf(entity), max, lookMs);
    },
    complete: (entity, holding) => settled(receiverOf(entity).completeMessage(heldBy(holding))),
    abandon: (entity, holding) => settled(receiverOf(entity).abandonMessage(heldBy(holding))),
    deadLetter: (entity, holding, facts) =>
      settled(receiverOf(entity).deadLetterMessage(heldBy(holding), facts)),
    renew: (entity, holding) => asked(() => receiverOf(entity).renewMessageLock(heldBy(holding))),
    peek: (entity, from, max) =>
      asked(() => receiverOf(entity).peekMessages(max, { fromSequenceNumber: longFrom(from) as never })),
    close: () => client.close(),
  };
}

/**
 * When a look ends, the SDK gives Service Bus 200 ms to answer, and then closes the link: what is unsettled on it takes 10
 * seconds or more to settle. A process that is busy for 200 ms has not read the answer. The SDK has no option for it.
 */
function patient(receiver: ServiceBusReceiver, timeoutMs: number): ServiceBusReceiver {
  const inner = receiver as unknown as {
    _createBatchingReceiver?: (...given: unknown[]) => BatchingReceiver;
  };
  const create = inner._createBatchingReceiver;
  if (create) {
    inner._createBatchingReceiver = (...given) => {
      const made = create.apply(receiver, given);
      if (made._batchingReceiverLite) made._batchingReceiverLite._drainTimeoutInMs = timeoutMs;
      return made;
    };
  }
  return receiver;
}

interface BatchingReceiver {
  readonly _batchingReceiverLite?: { _drainTimeoutInMs?: number };
}

/** Rejects with code `ServiceTimeout` when `work` takes longer than `ms`. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let stop: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = Object.assign(new Error(`Service Bus did not answer within ${ms} ms.`), {
      code: 'ServiceTimeout',
    });
    stop = setTimeout(() => reject(error), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(stop);
    work.catch(() => {}); // its answer may still come, when nobody waits for it
  }
}

/** Scheduled messages and others never share a batch: its envelope repeats what its first message says. */
function groupsOf(parcels: readonly OutgoingParcel[]): number[][] {
  const isDelayed = (i: number) => parcels[i]!.scheduledEnqueueTimeUtc !== undefined;
  return [...Map.groupBy(parcels.keys(), isDelayed).values()];
}

async function sendGroup(
  sender: ServiceBusSender,
  parcels: readonly OutgoingParcel[],
  addresses: readonly number[],
  answers: (unknown | null)[],
): Promise<void> {
  let batch: number[] = [];
  let open = await sender.createMessageBatch();
  const flush = async () => {
    if (batch.length > 0) await sendBatch(sender, parcels, batch, open, answers);
    batch = [];
  };
  for (const address of addresses) {
    const message: ServiceBusMessage = parcels[address]!;
    if (!open.tryAddMessage(message)) {
      await flush();
      open = await sender.createMessageBatch();
      // Alone in a batch it is larger than on its own: then let Service Bus decide.
      if (!open.tryAddMessage(message)) {
        answers[address] = await sender.sendMessages(message).then(() => null, causeOf);
        continue;
      }
    }
    batch.push(address);
  }
  await flush();
}

async function sendBatch(
  sender: ServiceBusSender,
  parcels: readonly OutgoingParcel[],
  addresses: readonly number[],
  batch: Awaited<ReturnType<ServiceBusSender['createMessageBatch']>>,
  answers: (unknown | null)[],
): Promise<void> {
  const message = addresses.length === 1 ? parcels[addresses[0]!]! : batch;
  const answer = await sender.sendMessages(message).then(() => null, causeOf);
  for (const address of addresses) answers[address] = answer;
}

const causeOf = (error: unknown): unknown => error ?? new Error('Service Bus gave no reason.');

/** A message that came here is settled on its link; of another one its token is enough, over the management link. */
function heldBy(holding: Holding): never {
  return ('delivery' in holding ? holding : { ...holding, delivery: {} }) as never;
}

/** What the SDK takes for a `Long`: it asks for the mark and for the bytes, and the package is not ours to import. */
const longFrom = (text: string): unknown => ({
  __isLong__: true,
  toBytesBE() {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(BigInt(text));
    return [...bytes];
  },
});
