/**
 * Receives for the trigger of a queue with sessions, by the host's rules: it holds so many sessions at a time, gets their messages
 * one by one, and keeps a session until that has been empty for its idle time. Until then other groups wait.
 */

import {
  ServiceBusClient,
  type ServiceBusReceivedMessage,
  type ServiceBusSessionReceiver,
} from '@azure/service-bus';
import type { Clock } from '../../../core/base/clock.ts';

export interface SessionRules {
  /** `maxConcurrentSessions` of host.json. @default 8 */
  readonly maxConcurrentSessions?: number;
  /** `sessionIdleTimeout` of host.json. @default 60_000 */
  readonly sessionIdleMs?: number;
}

/** How long a session may take that is there. */
const leastWaitMs = 100;
const lookMs = 20;

interface Held {
  readonly session: ServiceBusSessionReceiver;
  /** A call has its message. */
  busy: boolean;
  /** Epoch ms. */
  emptySince: number;
}

export function createSessionReceivers(
  connectionString: string,
  clock: Clock,
  { maxConcurrentSessions = 8, sessionIdleMs = 60_000 }: SessionRules,
) {
  /** By the time that each waits for a session: the SDK has it as a setting of the client. */
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

  /** Sessions that are still held, without those that have been empty for too long. */
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
    /** The receiver of a message that came in a session. */
    holderOf: (message: ServiceBusReceivedMessage) => holders.get(message)?.session,
    /** The call with this message is over, and its session may give the next one. */
    ended(message: ServiceBusReceivedMessage): void {
      const one = holders.get(message);
      if (one) one.busy = false;
    },
    /** The next messages of the sessions that it holds, and of others as far as it may hold them. */
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
    /** Cuts its connections, as a process does that is killed. */
    async cut(): Promise<void> {
      const cutting = [...clients.values()];
      clients.clear();
      held = new Map();
      for (const client of cutting) await client.close();
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
