/**
 * One queue of Service Bus, without AMQP: sequence numbers, locks, schedules, duplicate detection, dead letters. Timers of the given
 * clock end locks and start scheduled messages.
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import { createSessions, type HeldSession, type SessionOrder } from './sessions.ts';

export interface QueueSettings {
  /** How long a delivery is locked. Service Bus allows 5 seconds to 5 minutes. */
  readonly lockMs: number;
  /** After this many failed deliveries a message is moved to the dead letters. */
  readonly maxDeliveryCount: number;
  /** How long a message id is remembered; `null` = no duplicate detection. */
  readonly duplicateWindowMs: number | null;
  /** How long a message lives; `null` = for ever. */
  readonly timeToLiveMs: number | null;
  /** Whether an expired message goes to the dead letters. */
  readonly deadLetterOnExpiry: boolean;
  /** Whether every message belongs to a session, and only the holder of the session gets it. */
  readonly requiresSession: boolean;
  readonly sessionOrder: SessionOrder;
  /** Whether clients have the right to send. */
  readonly maySend: boolean;
}

export const defaultSettings: QueueSettings = {
  lockMs: 60_000,
  maxDeliveryCount: 10,
  duplicateWindowMs: null,
  timeToLiveMs: null,
  deadLetterOnExpiry: false,
  requiresSession: false,
  sessionOrder: 'oldest',
  maySend: true,
};

export type Properties = Readonly<Record<string, unknown>>;

/** A message as it was sent. */
export interface NewMessage {
  readonly messageId: string | null;
  readonly sessionId: string | null;
  /** Epoch ms; `null` = at once. */
  readonly notBefore: number | null;
  readonly timeToLiveMs: number | null;
  /** Application properties. */
  readonly properties: Properties;
  /** The rest of the message. The queue does not read it. */
  readonly content: unknown;
}

export interface StoredMessage {
  readonly sequence: number;
  readonly sent: NewMessage;
  readonly properties: Properties;
  readonly enqueuedAt: number;
  /** Number of failed deliveries. */
  readonly deliveryCount: number;
  readonly state: 'active' | 'deferred' | 'scheduled';
  /** The queue that a dead letter comes from. */
  readonly source: string | null;
}

export interface Locked {
  readonly token: string;
  /** Epoch ms. */
  readonly until: number;
  readonly message: StoredMessage;
}

type Mutable = { -readonly [K in keyof StoredMessage]: StoredMessage[K] };
interface Lock {
  readonly message: Mutable;
  /** If set, the lock ends with the lock of this session. */
  readonly session: HeldSession | null;
  until: number;
  stop: () => void;
}

interface QueueOptions {
  readonly name: string;
  readonly settings: QueueSettings;
  readonly clock: Clock;
  /** `null` = this is a queue of dead letters itself, and keeps them. */
  readonly deadLetters: { send(messages: readonly NewMessage[], source: string): unknown } | null;
  /** Called when a message may be ready. */
  onReady(): void;
}

export type Queue = ReturnType<typeof createQueue>;

/** Methods that take a token return `false`, and change nothing, if the lock has ended or never existed. */
export function createQueue({ name, settings, clock, deadLetters, onReady }: QueueOptions) {
  /** When each message id expires, oldest first. */
  const knownUntil = new Map<string, number>();
  const messages = new Map<number, Mutable>();
  const locks = new Map<string, Lock>();
  /** Timers of messages that are scheduled or expire. */
  const timers = new Map<number, () => void>();
  /** Sequence numbers of ready messages, ascending. */
  let ready: number[] = [];
  let last = 0;
  const isOf = (id: string) => (sequence: number) => messages.get(sequence)!.sent.sessionId === id;
  const sessions = createSessions({
    lockMs: settings.lockMs,
    order: settings.sessionOrder,
    clock,
    hasReady: (id) => ready.some(isOf(id)),
    oldest(isFree) {
      const sequence = ready.find((one) => isFree(messages.get(one)!.sent.sessionId!));
      return sequence === undefined ? null : messages.get(sequence)!.sent.sessionId;
    },
    unlock(session, counts) {
      const held = [...locks].filter(([, lock]) => lock.session === session);
      for (const [token] of held) release(token, {}, counts);
    },
    onFree: onReady,
  });

  /** Remembers the id if it is new. */
  function isDuplicate(id: string | null): boolean {
    if (id === null || settings.duplicateWindowMs === null) return false;
    const now = clock.now();
    for (const [old, end] of knownUntil) {
      if (end > now) break;
      knownUntil.delete(old);
    }
    if (knownUntil.has(id)) return true;
    knownUntil.set(id, now + settings.duplicateWindowMs);
    return false;
  }

  function makeReady(message: Mutable): void {
    const { sequence } = message;
    const at = ready.findLastIndex((other) => other < sequence) + 1;
    ready.splice(at, 0, sequence);
    const { sessionId } = message.sent;
    if (settings.requiresSession && sessionId !== null) sessions.ready(sessionId);
    onReady();
  }

  function forget(message: Mutable): void {
    messages.delete(message.sequence);
    timers.get(message.sequence)?.();
    timers.delete(message.sequence);
  }

  /** Adds the message as if it was sent now, with a new number after all others. */
  function activate(message: Mutable): void {
    forget(message);
    const active: Mutable = { ...message, sequence: ++last, enqueuedAt: clock.now(), state: 'active' };
    messages.set(last, active);
    limitLife(active);
    makeReady(active);
  }

  function limitLife(message: Mutable): void {
    const lives = [message.sent.timeToLiveMs, settings.timeToLiveMs].filter((ms) => ms !== null);
    if (lives.length === 0) return;
    timers.set(
      message.sequence,
      clock.after(Math.min(...lives), () => {
        if (!ready.includes(message.sequence)) return; // locked: it may still be settled
        ready = ready.filter((other) => other !== message.sequence);
        if (settings.deadLetterOnExpiry) bury(message, { DeadLetterReason: 'TTLExpiredException' });
        else forget(message);
      }),
    );
  }

  function bury(message: Mutable, change: Properties): void {
    forget(message);
    const properties = { ...message.properties, ...change };
    if (deadLetters) deadLetters.send([{ ...message.sent, properties, notBefore: null }], name);
    else activate({ ...message, properties });
  }

  function lock(message: Mutable, session: HeldSession | null = null): Locked {
    const token = randomUUID();
    const until = session?.until ?? clock.now() + settings.lockMs;
    const stop = session ? () => {} : clock.after(settings.lockMs, () => release(token));
    locks.set(token, { message, session, until, stop });
    return { token, until, message: { ...message } };
  }

  /** The lock, unless it has ended. */
  function held(token: string): Lock | null {
    const found = locks.get(token);
    if (!found) return null;
    const lasts = found.session ? sessions.isHeld(found.session) : found.until > clock.now();
    return lasts ? found : null;
  }

  function unlock(token: string): Mutable | null {
    const found = locks.get(token);
    if (!found) return null;
    found.stop();
    locks.delete(token);
    return found.message;
  }

  /** Makes the message ready again. @param counts whether the delivery counts */
  function release(token: string, change: Properties = {}, counts = true): void {
    const message = unlock(token);
    if (!message) return;
    if (counts) message.deliveryCount++;
    message.properties = { ...message.properties, ...change };
    if (message.state === 'deferred') return;
    if (message.deliveryCount < settings.maxDeliveryCount) makeReady(message);
    else
      bury(message, {
        DeadLetterReason: 'MaxDeliveryCountExceeded',
        DeadLetterErrorDescription: `Message could not be consumed after ${message.deliveryCount} delivery attempts.`,
      });
  }

  function settle(token: string, how: (message: Mutable) => void): boolean {
    if (!held(token)) return false;
    how(unlock(token)!);
    return true;
  }

  return {
    settings,
    acceptSession: sessions.accept,
    renewSession: sessions.renew,
    releaseSession: sessions.release,
    /** The session in which a message is locked. */
    sessionOf: (token: string): HeldSession | null => locks.get(token)?.session ?? null,
    /** Whether all messages name a session, if the queue requires one. */
    takes: (incoming: readonly NewMessage[]): boolean =>
      !settings.requiresSession || incoming.every(({ sessionId }) => sessionId !== null),
    /** Returns sequence numbers in order; `null` = a duplicate, which is dropped. */
    send(incoming: readonly NewMessage[], source: string | null = null): (number | null)[] {
      return incoming.map((sent) => {
        if (isDuplicate(sent.messageId)) return null;
        const now = clock.now();
        const message: Mutable = {
          sequence: ++last,
          sent,
          properties: sent.properties,
          enqueuedAt: now,
          deliveryCount: 0,
          state: 'active',
          source,
        };
        messages.set(message.sequence, message);
        if (sent.notBefore !== null && sent.notBefore > now) {
          message.state = 'scheduled';
          timers.set(
            message.sequence,
            clock.after(sent.notBefore - now, () => activate(message)),
          );
        } else {
          limitLife(message);
          makeReady(message);
        }
        return message.sequence;
      });
    },
    cancel(sequences: readonly number[]): void {
      for (const sequence of sequences) {
        const message = messages.get(sequence);
        if (message?.state === 'scheduled') forget(message);
      }
    },
    /** Locks and returns the next active message. @param session only messages of this session */
    take(session: HeldSession | null = null): Locked | null {
      if (session && !sessions.isHeld(session)) return null;
      const at = session ? ready.findIndex(isOf(session.id)) : 0;
      const [sequence] = at < 0 ? [] : ready.splice(at, 1);
      return sequence === undefined ? null : lock(messages.get(sequence)!, session);
    },
    /** Removes and returns the next active message. */
    takeAway(): StoredMessage | null {
      const sequence = ready.shift();
      if (sequence === undefined) return null;
      const message = messages.get(sequence)!;
      forget(message);
      return message;
    },
    takeDeferred(sequence: number): Locked | null {
      const message = messages.get(sequence);
      const isHeld = [...locks.values()].some((one) => one.message === message);
      return message?.state === 'deferred' && !isHeld ? lock(message) : null;
    },
    complete: (token: string) => settle(token, forget),
    abandon(token: string, change?: Properties): boolean {
      if (!held(token)) return false;
      release(token, change);
      return true;
    },
    defer: (token: string, change: Properties = {}) =>
      settle(token, (message) => {
        message.state = 'deferred';
        message.properties = { ...message.properties, ...change };
      }),
    deadLetter: (token: string, change: Properties = {}) => settle(token, (message) => bury(message, change)),
    /** Returns the new end of the lock. */
    renew(token: string): number | null {
      const found = held(token);
      if (!found || found.session) return null;
      found.stop();
      found.until = clock.now() + settings.lockMs;
      found.stop = clock.after(settings.lockMs, () => release(token));
      return found.until;
    },
    /** All messages, by sequence number. */
    peek: (from: number, count: number, session: string | null = null): StoredMessage[] =>
      [...messages.values()]
        .filter(({ sequence, sent }) => sequence >= from && (session === null || sent.sessionId === session))
        .slice(0, count)
        .map((message) => ({ ...message })),
    counts: () => ({
      ready: ready.length,
      locked: locks.size,
      scheduled: [...messages.values()].filter(({ state }) => state === 'scheduled').length,
    }),
    /** Stops all timers. */
    close(): void {
      for (const stop of timers.values()) stop();
      for (const { stop } of locks.values()) stop();
      sessions.close();
    },
  };
}
