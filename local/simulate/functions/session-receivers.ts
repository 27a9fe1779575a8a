/**
 * What the trigger of a queue with sessions receives: one message of each session that is free, so a session has one call at a time.
 * The host keeps a session until it is empty for a while. Here it is closed after each call.
 */

import {
  ServiceBusClient,
  type ServiceBusReceivedMessage,
  type ServiceBusSessionReceiver,
} from '@azure/service-bus';

/** How long a session may take that is there. */
const leastWaitMs = 100;

export function createSessionReceivers(connectionString: string) {
  /** By the time that each waits for a session: the SDK has it as a setting of the client. */
  const clients = new Map<number, ServiceBusClient>();
  const holders = new WeakMap<ServiceBusReceivedMessage, ServiceBusSessionReceiver>();

  function clientFor(timeoutInMs: number): ServiceBusClient {
    const client =
      clients.get(timeoutInMs) ??
      new ServiceBusClient(connectionString, { retryOptions: { maxRetries: 0, timeoutInMs } });
    clients.set(timeoutInMs, client);
    return client;
  }

  return {
    /** The receiver of a message that came in a session. */
    holderOf: (message: ServiceBusReceivedMessage) => holders.get(message),
    /** Waits for the first one, and takes the others that are there. */
    async receive(queue: string, max: number, waitMs: number): Promise<ServiceBusReceivedMessage[]> {
      const found: ServiceBusReceivedMessage[] = [];
      while (found.length < max) {
        const client = clientFor(Math.max(leastWaitMs, found.length === 0 ? waitMs : 0));
        const options = { skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 0 };
        const session = await client.acceptNextSession(queue, options).catch((error) => {
          if (error.code === 'ServiceTimeout' || error.code === 'SessionCannotBeLocked') return null;
          throw error;
        });
        if (!session) break;
        const [message] = await session.receiveMessages(1, { maxWaitTimeInMs: 1_000 });
        if (!message) {
          await session.close();
          continue;
        }
        holders.set(message, session);
        found.push(message);
      }
      return found;
    },
    async close(): Promise<void> {
      for (const client of clients.values()) await client.close();
    },
  };
}

/** Rejects when the link is gone. The SDK would wait for a minute for an answer on it. */
export async function onLinkOf(session: ServiceBusSessionReceiver, work: Promise<void>): Promise<void> {
  const gone = Promise.withResolvers<never>();
  const look = setInterval(() => session.isClosed && gone.reject(new Error('its link is closed')), 100);
  try {
    await Promise.race([work, gone.promise]);
  } finally {
    clearInterval(look);
    work.catch(() => {});
  }
}
