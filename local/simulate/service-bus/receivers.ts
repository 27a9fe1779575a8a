/**
 * Receivers of a queue. They get messages while they have credit, and settle them. A receiver that asks for a session waits first:
 * Service Bus answers its attach when a session is free, or when its time is over.
 */

import type { Socket } from 'node:net';
import rhea, { type AmqpError, type Delivery, type EventContext, type Sender } from 'rhea';
import type { Queue } from './queue.ts';
import type { HeldSession } from './sessions.ts';
import { accepted, lockLost, outgoing, rejected, sessionLost, tagOf } from './wire.ts';

const filterName = 'com.microsoft:session-filter';
const timeoutName = 'com.microsoft:timeout';
/** Used if the receiver gives no time. */
const longestWaitMs = 65_000;

interface Waiting {
  readonly sender: Sender;
  readonly queue: Queue;
  /** `null` = the next session. */
  readonly wanted: string | null;
  stop: () => void;
}

/** Private state of rhea that this broker uses. */
interface Internals {
  /** rhea opens a link by itself, before our code can decide. */
  readonly state: { local_open: boolean; open_requests: number };
  readonly local: { readonly attach: { properties?: Record<string, unknown> } };
  readonly remote: { readonly attach: { readonly properties?: Record<string, unknown> } };
  credit: number;
  delivery_count: number;
  issue_flow: boolean;
  _get_drain(): boolean;
  readonly connection: { readonly socket: Socket; _register(): void };
  readonly session: { readonly outgoing: { next_delivery_id: number; next_pending_delivery: number } };
}
const internals = (sender: Sender): Internals => sender as unknown as Internals;

/** The session that a receiver asks for; `undefined` = none, `null` = the next one. */
export function sessionAsked({ source }: Sender): string | null | undefined {
  const filter = (source as { filter?: Record<string, unknown> } | undefined)?.filter ?? {};
  if (!(filterName in filter)) return undefined;
  return typeof filter[filterName] === 'string' ? filter[filterName] : null;
}

/** @param begin called with a receiver when it has its session */
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
      // Real time, because the client also waits in real time.
      const timer = setTimeout(() => {
        stopWaiting(one);
        answer(sender, null);
        sender.close(wanted === null ? nothingCame : lockedByOthers(wanted));
      }, waitMs);
      one.stop = () => clearTimeout(timer);
    },
    /** Gives the free sessions of the queue to waiting receivers. */
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

/** Units of 100 ns since the year 1, as in .NET. */
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

/** Why a receiver does not fit the queue; `null` = it fits. */
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

/** Number of messages that rhea will write with its next event. */
function unsent(sender: Sender): number {
  const { next_delivery_id, next_pending_delivery } = internals(sender).session.outgoing;
  return next_delivery_id - next_pending_delivery;
}

/** rhea writes all answers of one turn at once, and may give the second the outcome of the first. So a refusal gets a turn of its own. */
export function answer(delivery: Delivery, refusal: AmqpError | null, answered = () => {}): void {
  const write = (outcome: unknown) => {
    delivery.update(true, outcome as never);
    answered();
  };
  if (refusal) setImmediate(write, rejected(refusal));
  else write(accepted());
}

export type Outcome = 'accepted' | 'rejected' | 'modified' | 'released';

interface Consumer {
  readonly sender: Sender;
  readonly queue: Queue;
  /** Messages are removed when they are sent, not locked. */
  readonly takesAway: boolean;
  /** The session of its messages. */
  readonly session: HeldSession | null;
}

export function createDelivering() {
  /** The first consumer is served next. */
  let consumers: Consumer[] = [];
  const tokens = new WeakMap<Delivery, string>();

  function send({ sender, queue, takesAway, session }: Consumer): boolean {
    const { credit, connection } = internals(sender);
    if (credit - unsent(sender) <= 0 || !sender.sendable()) return false;
    if (connection.socket.destroyed) return false; // rhea does not notice when this side destroys it
    if (takesAway) {
      const message = queue.takeAway();
      if (message) sender.send(outgoing(message, null));
      return message !== null;
    }
    const lock = queue.take(session);
    if (!lock) return false;
    tokens.set(sender.send(outgoing(lock.message, lock), tagOf(lock.token)), lock.token);
    return true;
  }

  function pump(queue: Queue): void {
    for (;;) {
      const next = consumers.find((consumer) => consumer.queue === queue && send(consumer));
      if (!next) return;
      consumers = [...consumers.filter((consumer) => consumer !== next), next];
    }
  }

  return {
    /** Sends the queue's ready messages to receivers with credit. */
    pump,
    add(sender: Sender, queue: Queue, session: HeldSession | null = null): void {
      // snd_settle_mode 1: messages are settled when they are sent (`receiveAndDelete` of the SDK).
      consumers.push({ sender, queue, takesAway: sender.snd_settle_mode === 1, session });
      // The only flow that a broker's sending side writes is the answer to a drain.
      internals(sender)._get_drain = () => true;
      pump(queue);
    },
    remove(sender: Sender): void {
      const gone = consumers.find((consumer) => consumer.sender === sender);
      consumers = consumers.filter((consumer) => consumer !== gone);
      if (gone?.session) gone.queue.releaseSession(gone.session);
    },
    drain(sender: Sender): void {
      const consumer = consumers.find((one) => one.sender === sender);
      if (consumer) pump(consumer.queue);
      const answer = () => {
        if (!sender.is_open()) return;
        if (unsent(sender) > 0) return void setImmediate(answer);
        const link = internals(sender);
        // Unlike rhea, also answers at credit 0, because the other side waits for this.
        link.delivery_count += link.credit;
        link.credit = 0;
        link.issue_flow = true;
        link.connection._register();
      };
      answer();
    },
    settle({ delivery, sender }: EventContext, outcome: Outcome): void {
      const consumer = consumers.find((one) => one.sender === sender);
      if (!delivery || !consumer) return;
      const token = tokens.get(delivery);
      const { remote_state: state } = delivery as unknown as { remote_state: RemoteState };
      const done = token !== undefined && perform(consumer.queue, token, outcome, state);
      answer(delivery, done ? null : consumer.session ? sessionLost : lockLost, () => {
        // rhea would wait for another answer, and stop after 2,048 deliveries.
        (delivery as { remote_settled: boolean }).remote_settled = true;
      });
      pump(consumer.queue);
    },
  };
}

interface RemoteState {
  readonly error?: { readonly condition?: string; readonly info?: Record<string, unknown> };
  readonly undeliverable_here?: boolean;
  readonly message_annotations?: Record<string, unknown>;
}

function perform(queue: Queue, token: string, outcome: Outcome, state: RemoteState): boolean {
  if (outcome === 'accepted') return queue.complete(token);
  if (outcome === 'rejected') return queue.deadLetter(token, state.error?.info ?? {});
  const change = state.message_annotations ?? {};
  return state.undeliverable_here ? queue.defer(token, change) : queue.abandon(token, change);
}
