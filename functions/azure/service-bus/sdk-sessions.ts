/**
 * Sessions of the SDK. A session is held for one message. It is closed when the message is settled, so that others get their turn and no process
 * keeps a session without a free slot.
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
  /** The options object that the client was opened with. */
  readonly retryOptions: { timeoutInMs: number };
  /** One try with a timeout. */
  bounded<T>(request: () => Promise<T>, ms: number): Promise<T>;
  /** Extends the SDK's short timeout for draining a link. */
  patient(session: Session): Session;
}

/** Requests for sessions of a queue. */
interface Asking {
  /** Number of sessions that are being closed. */
  under: number;
  /** Messages that no receive call has taken yet. */
  arrived: ReceivedMessage[];
  /** The last call received something. */
  isBusy: boolean;
  /** Wake the waiting receive calls. */
  readonly receivers: Set<() => void>;
}

/** How long Service Bus may search for a session with messages. */
const lookMs = 250;
/** An accepted session has a message, unless it has just expired. */
const firstMessageMs = 1_000;
const mostAtOnce = 100;
/** A session that arrived too late for its receive call is given back if no other call takes it within this time. */
const unwantedMs = 1_000;
/** How often a settlement checks whether its link is gone: the SDK itself would wait for a minute. */
const linkLookMs = 200;

const options = { skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 0 } as const;

export function createSdkSessions({ client, retryOptions, bounded, patient }: SessionPorts) {
  /** Sessions by the message that each is held for. */
  const held = new WeakMap<object, Session>();
  /** By queue. */
  const asking = new Map<string, Asking>();

  /** The SDK waits for a session as long as for any other request. It reads that time when the call begins. */
  function acceptNext(queue: string, waitMs: number): Promise<Session> {
    const usualMs = retryOptions.timeoutInMs;
    retryOptions.timeoutInMs = waitMs;
    const by = client();
    shareRights(by);
    const accepting = by.acceptNextSession(queue, options);
    retryOptions.timeoutInMs = usualMs;
    return accepting;
  }

  function close(session: Session): void {
    if (session.isClosed) return;
    bounded(() => session.close(), retryOptions.timeoutInMs).catch(() => {}); // then the session ends with its lock
  }

  /** The next message of a free session; `null` = no session is free. */
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

  function askingFor(queue: string): Asking {
    const known = asking.get(queue);
    if (known) return known;
    const fresh: Asking = { under: 0, arrived: [], isBusy: false, receivers: new Set() };
    asking.set(queue, fresh);
    return fresh;
  }

  /** Makes one more request for a session. Its result is for the current receive call, or for the next one. */
  async function ask(queue: string, waitMs: number): Promise<void> {
    const of = askingFor(queue);
    of.under++;
    const message = await takeOne(queue, waitMs).finally(() => of.under--);
    if (!message) return;
    of.arrived.push(message);
    for (const wake of of.receivers) wake();
    const giveBack = setTimeout(() => {
      const at = of.arrived.indexOf(message);
      if (at >= 0) release(of.arrived.splice(at, 1)[0]!);
    }, unwantedMs);
    giveBack.unref();
  }

  /** Makes `count` more requests. Resolves when they have ended; rejects if all have failed. */
  async function askFor(queue: string, count: number, waitMs: number): Promise<void> {
    const asks = Array.from({ length: count }, () => ask(queue, waitMs));
    const results = await Promise.allSettled(asks);
    const [failed, ...others] = results.filter((result) => result.status === 'rejected');
    if (failed && others.length === count - 1) throw failed.reason;
  }

  /** Requests sessions without waiting. While every request finds one, it makes as many as there is room for. */
  async function look(queue: string, max: number): Promise<ReceivedMessage[]> {
    const of = askingFor(queue);
    const found: ReceivedMessage[] = of.arrived.splice(0, max);
    for (let count = 1; found.length < max; count = Math.min(mostAtOnce, max - found.length)) {
      await askFor(queue, count, lookMs).catch((error) => {
        if (found.length === 0) throw error; // the messages found before must not be lost
      });
      const more = of.arrived.splice(0, max - found.length);
      found.push(...more);
      if (more.length < count) break;
    }
    return found;
  }

  /**
   * Waits for the first message; returns all that have arrived by then. If the last call received something, it requests as many as there is
   * room for.
   */
  async function wait(queue: string, max: number, waitMs: number): Promise<ReceivedMessage[]> {
    const of = askingFor(queue);
    if (of.arrived.length === 0) {
      const room = Math.min(mostAtOnce, max);
      const come = Promise.withResolvers<void>();
      of.receivers.add(come.resolve);
      try {
        if (of.isBusy && of.under < room) {
          await Promise.race([come.promise, askFor(queue, room - of.under, lookMs)]);
        }
        of.isBusy = of.arrived.length > 0;
        if (!of.isBusy) {
          await Promise.race([come.promise, askFor(queue, 1, waitMs)]);
        }
      } finally {
        of.receivers.delete(come.resolve);
      }
    }
    of.isBusy = of.arrived.length > 0;
    return of.arrived.splice(0, max);
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
      const isLost = session.isClosed || isCut(error);
      if (isLost) release(holding);
      throw isLost ? sessionLost() : error;
    } finally {
      clearInterval(look);
    }
  }

  return {
    holds: (holding: Holding): boolean => held.has(holding),
    release,
    /** `waitMs` 0 = do not wait; otherwise it waits for one. */
    receive: (queue: string, max: number, waitMs: number): Promise<ReceivedMessage[]> =>
      waitMs > 0 ? wait(queue, max, waitMs) : look(queue, max),
    /** Closes the session, unless the settlement is to be repeated. */
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

/** Private state of the SDK, which creates a new claims session for every connection. */
interface Claims {
  negotiateClaim?(audience: string, ...rest: unknown[]): Promise<unknown>;
}

/** Much shorter than the life of a token. The SDK renews it for each link. */
const sharedMs = 30_000;
const shared = new WeakSet<Claims>();

/**
 * Called before a link is opened. Each link of the SDK first proves its right to the queue, one link after the other; with many sessions that
 * takes longer than all other work. The right belongs to the connection, so links that open at the same time share one proof. The SDK has no
 * option for this.
 */
function shareRights(client: ServiceBusClient): void {
  const claims = (client as unknown as { _connectionContext?: { cbsSession?: Claims } })._connectionContext
    ?.cbsSession;
  const negotiate = claims?.negotiateClaim?.bind(claims);
  if (!claims || !negotiate || shared.has(claims)) return;
  shared.add(claims);
  const last = new Map<string, { readonly at: number; readonly answer: Promise<unknown> }>();
  claims.negotiateClaim = (audience, ...rest) => {
    const known = last.get(audience);
    if (known && performance.now() - known.at < sharedMs) return known.answer;
    const answer = negotiate(audience, ...rest);
    last.set(audience, { at: performance.now(), answer });
    answer.catch(() => last.delete(audience));
    return answer;
  };
}

/** Private state of the SDK. */
interface Context {
  readonly _connectionContext?: {
    readonly connection?: { once?(event: 'connection_open' | 'disconnected', listener: () => void): unknown };
  };
}

/**
 * Calls `then` when the connection of this client breaks. The SDK reconnects, but leaves some pending requests without an answer. A connection
 * that was never open is left to the SDK, which waits before it tries again.
 */
export function onCut(client: ServiceBusClient, then: (error: Error) => void): void {
  const { connection } = (client as unknown as Context)._connectionContext ?? {};
  connection?.once?.('connection_open', () => {
    connection.once?.('disconnected', () => {
      const error = new Error('The connection to Service Bus broke.');
      then(Object.assign(error, { code: 'ConnectionBroke' }));
    });
  });
}

export const isCut = (error: unknown): boolean => codeOf(error) === 'ConnectionBroke';
