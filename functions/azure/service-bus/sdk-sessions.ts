/**
 * Sessions by the SDK. A session is held for one message: when that is settled it is closed, so that others get their turn and
 * no process keeps one that it has no slot for.
 */

import type {
  ServiceBusClient,
  ServiceBusReceivedMessage,
  ServiceBusSessionReceiver,
} from '@azure/service-bus';
import { toError } from '../../../core/base/failure.ts';
import type { Holding, ReceivedMessage } from './api.ts';
import { codeOf, sessionLost } from './errors.ts';

export type Session = ServiceBusSessionReceiver;

interface SessionPorts {
  client(): ServiceBusClient;
  /** The object that the client was opened with. */
  readonly retryOptions: { timeoutInMs: number };
  /** One try, with an end. */
  bounded<T>(request: () => Promise<T>, ms: number): Promise<T>;
  /** Gives the SDK more patience than it has. */
  patient(session: Session): Session;
}

/** How long Service Bus may look for a session that is there. */
const lookMs = 250;
/** A session that was accepted has a message, unless that has just expired. */
const firstMessageMs = 1_000;
const mostAtOnce = 10;
/** How often a settlement looks whether its link is gone: the SDK itself would wait for a minute. */
const linkLookMs = 200;

const options = { skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 0 } as const;

export function createSdkSessions({ client, retryOptions, bounded, patient }: SessionPorts) {
  /** By the message that each is held for. */
  const held = new WeakMap<object, Session>();
  const closing = new Set<Promise<void>>();

  /** The SDK waits for a session as long as for any other request. It reads how long that is when the call begins. */
  function acceptNext(queue: string, waitMs: number): Promise<Session> {
    const usualMs = retryOptions.timeoutInMs;
    retryOptions.timeoutInMs = waitMs;
    const accepting = client().acceptNextSession(queue, options);
    retryOptions.timeoutInMs = usualMs;
    return accepting;
  }

  function close(session: Session): void {
    if (session.isClosed) return;
    const closed: Promise<void> = bounded(() => session.close(), retryOptions.timeoutInMs)
      .catch(() => {}) // then it ends with its lock
      .finally(() => closing.delete(closed));
    closing.add(closed);
  }

  /** The next message of a free session; `null` = there is none. */
  async function takeOne(queue: string, waitMs: number): Promise<ReceivedMessage | null> {
    const session = await bounded(
      () => acceptNext(queue, waitMs).catch(unlessNone),
      waitMs + retryOptions.timeoutInMs,
    );
    if (!session) return null;
    const receive = () => patient(session).receiveMessages(1, { maxWaitTimeInMs: firstMessageMs });
    const patienceMs = firstMessageMs + retryOptions.timeoutInMs;
    const [message] = await bounded<ServiceBusReceivedMessage[]>(receive, patienceMs).catch(() => []);
    if (!message) {
      close(session);
      return null;
    }
    held.set(message, session);
    return Object.assign(message, { lockedUntilUtc: session.sessionLockedUntilUtc });
  }

  /** While every call finds a session, twice as many follow. */
  async function lookForMany(queue: string, max: number): Promise<ReceivedMessage[]> {
    const found: ReceivedMessage[] = [];
    for (
      let asked = 0, calls = 1;
      found.length === asked && asked < max;
      calls = Math.min(mostAtOnce, calls * 2)
    ) {
      const now = Math.min(calls, max - asked);
      asked += now;
      const looks = Array.from({ length: now }, () => takeOne(queue, lookMs));
      const results = await Promise.allSettled(looks);
      for (const result of results)
        if (result.status === 'fulfilled' && result.value) found.push(result.value);
      const failed = results.find((result) => result.status === 'rejected');
      if (failed && found.length === 0) throw failed.reason;
    }
    return found;
  }

  function release(holding: Holding): void {
    const session = held.get(holding);
    if (session) close(session);
    held.delete(holding);
  }

  /** Rejects with code `SessionLockLost` as soon as the link is gone. */
  async function onLink<T>(holding: Holding, request: (session: Session) => Promise<T>): Promise<T> {
    const session = held.get(holding);
    if (!session || session.isClosed) throw sessionLost();
    const gone = Promise.withResolvers<never>();
    const look = setInterval(() => session.isClosed && gone.reject(sessionLost()), linkLookMs);
    try {
      return await bounded(() => Promise.race([request(session), gone.promise]), retryOptions.timeoutInMs);
    } catch (error) {
      if (session.isClosed) release(holding);
      throw session.isClosed ? sessionLost() : error;
    } finally {
      clearInterval(look);
    }
  }

  return {
    holds: (holding: Holding): boolean => held.has(holding),
    release,
    /** `waitMs` 0 = look once; otherwise it waits for one. */
    async receive(queue: string, max: number, waitMs: number): Promise<ReceivedMessage[]> {
      await Promise.all(closing);
      if (waitMs <= 0) return lookForMany(queue, max);
      const message = await takeOne(queue, waitMs);
      return message ? [message] : [];
    },
    /** Closes the session, unless it is to be tried again. */
    async settle(holding: Holding, request: (session: Session) => Promise<void>): Promise<void> {
      await onLink(holding, request);
      release(holding);
    },
    renew: (holding: Holding): Promise<Date> => onLink(holding, (session) => session.renewSessionLock()),
  };
}

function unlessNone(error: unknown): null {
  const code = codeOf(error);
  if (code === 'ServiceTimeout' || code === 'SessionCannotBeLocked') return null;
  throw toError(error);
}
