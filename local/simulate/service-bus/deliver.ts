/** Receivers of a queue: they get messages as long as they give credit, and settle them. */

import type { Socket } from 'node:net';
import type { Delivery, EventContext, Sender } from 'rhea';
import type { Queue } from './queue.ts';
import type { HeldSession } from './sessions.ts';
import { accepted, lockLost, outgoing, rejected, sessionLost, tagOf } from './wire.ts';

/** Private state of rhea that a broker needs. */
interface Internals {
  credit: number;
  delivery_count: number;
  issue_flow: boolean;
  _get_drain(): boolean;
  readonly connection: { readonly socket: Socket; _register(): void };
  readonly session: { readonly outgoing: { next_delivery_id: number; next_pending_delivery: number } };
}
const internals = (sender: Sender): Internals => sender as unknown as Internals;

/** Messages that rhea will write with its next event. */
function unsent(sender: Sender): number {
  const { next_delivery_id, next_pending_delivery } = internals(sender).session.outgoing;
  return next_delivery_id - next_pending_delivery;
}

export type Outcome = 'accepted' | 'rejected' | 'modified' | 'released';

interface Consumer {
  readonly sender: Sender;
  readonly queue: Queue;
  /** Messages are removed when they are sent, and not locked. */
  readonly takesAway: boolean;
  /** The only one that it gets messages of. */
  readonly session: HeldSession | null;
}

export function createDelivering() {
  /** The first one is served next. */
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
      // Messages that are settled when they are sent: the SDK calls it receiveAndDelete.
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
        // Answers at credit 0 too, unlike rhea: the other side waits for it.
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
      delivery.update(
        true,
        (done ? accepted() : rejected(consumer.session ? sessionLost : lockLost)) as never,
      );
      // rhea would wait for another answer, and stop after 2,048 deliveries.
      (delivery as { remote_settled: boolean }).remote_settled = true;
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
