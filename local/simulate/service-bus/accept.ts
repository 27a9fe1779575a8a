/** Receivers that ask for a session. Service Bus answers their attach when it has one for them, or when their time is over. */

import rhea, { type Sender } from 'rhea';
import type { Queue } from './queue.ts';
import type { HeldSession } from './sessions.ts';
import { sessionLost } from './wire.ts';

const filterName = 'com.microsoft:session-filter';
const timeoutName = 'com.microsoft:timeout';
/** Where the receiver names none. */
const longestWaitMs = 65_000;

interface Waiting {
  readonly sender: Sender;
  readonly queue: Queue;
  /** `null` = the next one. */
  readonly wanted: string | null;
  stop: () => void;
}

/** Private state of rhea: it opens a link itself, before anybody is asked. */
interface Internals {
  readonly state: { local_open: boolean; open_requests: number };
  readonly local: { readonly attach: { properties?: Record<string, unknown> } };
  readonly remote: { readonly attach: { readonly properties?: Record<string, unknown> } };
}
const internals = (sender: Sender): Internals => sender as unknown as Internals;

/** `undefined` = it asks for no session, `null` = for the next one. */
export function sessionAsked({ source }: Sender): string | null | undefined {
  const filter = (source as { filter?: Record<string, unknown> } | undefined)?.filter ?? {};
  if (!(filterName in filter)) return undefined;
  return typeof filter[filterName] === 'string' ? filter[filterName] : null;
}

/** @param begin called with a receiver that has got its session */
export function createAccepting(begin: (sender: Sender, queue: Queue, session: HeldSession) => void) {
  let waiting: Waiting[] = [];

  function stopWaiting(one: Waiting): void {
    one.stop();
    waiting = waiting.filter((other) => other !== one);
  }

  function answer(sender: Sender, session: HeldSession | null): void {
    const source = sender.source as object;
    sender.set_source({ ...source, filter: session ? { [filterName]: session.id } : undefined } as never);
    if (session) {
      const properties = { 'com.microsoft:locked-until-utc': ticksOf(session.until) };
      internals(sender).local.attach.properties = properties;
    }
    (sender as unknown as { open(): void }).open();
  }

  function give(one: Waiting): boolean {
    const { sender, queue, wanted } = one;
    const session = queue.acceptSession(wanted);
    if (!session) return false;
    stopWaiting(one);
    session.onLost = () => void (sender.is_open() && sender.close(sessionLost));
    answer(sender, session);
    begin(sender, queue, session);
    return true;
  }

  return {
    /** @param wanted `null` = the next session that has messages */
    ask(sender: Sender, queue: Queue, wanted: string | null): void {
      const { state, remote } = internals(sender);
      Object.assign(state, { local_open: false, open_requests: 0 });
      const one: Waiting = { sender, queue, wanted, stop: () => {} };
      waiting.push(one);
      if (give(one)) return;
      const waitMs = wanted === null ? Number(remote.attach.properties?.[timeoutName] ?? longestWaitMs) : 0;
      // A wait on the network, like that of the client: in real time.
      const timer = setTimeout(() => {
        stopWaiting(one);
        answer(sender, null);
        sender.close(wanted === null ? nothingCame : lockedByOthers(wanted));
      }, waitMs);
      one.stop = () => clearTimeout(timer);
    },
    /** Gives the queue's free sessions to those who wait. */
    serve(queue: Queue): void {
      for (const one of waiting) if (one.queue === queue) give(one);
    },
    remove(sender: Sender): void {
      const one = waiting.find((each) => each.sender === sender);
      if (one) stopWaiting(one);
    },
    close(): void {
      for (const { stop } of waiting) stop();
    },
  };
}

/** 100 ns since the year 1, as .NET counts. */
function ticksOf(ms: number): unknown {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(ms) * 10_000n + 621_355_968_000_000_000n);
  return (rhea.types as unknown as { wrap_long(value: Buffer): unknown }).wrap_long(bytes);
}

const nothingCame = {
  condition: 'com.microsoft:timeout',
  description: 'The operation did not complete within the allotted timeout: no session was free.',
};

const lockedByOthers = (id: string) => ({
  condition: 'com.microsoft:session-cannot-be-locked',
  description: `The requested session '${id}' cannot be accepted. It may be locked by another receiver.`,
});

const notAllowed = (description: string) => ({ condition: 'amqp:not-allowed', description });

/** Why a receiver does not fit the queue; `null` = it does. */
export function misfit({ settings }: Queue, isOfSession: boolean) {
  if (settings.requiresSession === isOfSession) return null;
  return notAllowed(
    isOfSession
      ? 'A sessionful message receiver cannot be created on an entity that does not require sessions.'
      : 'It is not possible for an entity that requires sessions to create a non-sessionful message receiver.',
  );
}

export const sessionMissing = notAllowed(
  'The SessionId was not set on a message, and it cannot be sent to the entity. Entities that have session support enabled can only receive messages that have the SessionId set to a valid value.',
);
