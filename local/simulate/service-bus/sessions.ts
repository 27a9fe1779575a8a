/**
 * The sessions of a queue: which are free and have messages, and which are held. Only the holder of a session gets its messages. As in
 * Azure, the delivery of its messages counts if the lock of the session ends, but not if the session is closed or cut off.
 */

import type { Clock } from '../../../core/base/clock.ts';

export interface HeldSession {
  readonly id: string;
  /** Epoch ms. */
  until: number;
  /** Called when the lock has expired. */
  onLost: () => void;
}

/**
 * Which free session is next. Azure does not document this. `oldest`: the session with the oldest message. `turns`: the session that has
 * been free for the longest time. A function: a random session; the function returns random numbers from 0 to 1.
 */
export type SessionOrder = 'oldest' | 'turns' | (() => number);

interface SessionPorts {
  readonly lockMs: number;
  readonly order: SessionOrder;
  readonly clock: Clock;
  hasReady(id: string): boolean;
  /** The session of the oldest ready message among those that `isFree` accepts. */
  oldest(isFree: (id: string) => boolean): string | null;
  /** Makes its locked messages ready again. @param counts whether the delivery counts */
  unlock(session: HeldSession, counts: boolean): void;
  /** Called when a session may be free for a waiting receiver. */
  onFree(): void;
}

export function createSessions({ lockMs, order, clock, hasReady, oldest, unlock, onFree }: SessionPorts) {
  /** Free sessions, the longest free first. */
  const free = new Set<string>();
  const held = new Map<string, { readonly session: HeldSession; stop: () => void }>();

  const isHeld = (session: HeldSession): boolean => held.get(session.id)?.session === session;

  function release(session: HeldSession, counts: boolean): void {
    if (!isHeld(session)) return;
    held.get(session.id)!.stop();
    held.delete(session.id);
    unlock(session, counts);
    if (hasReady(session.id)) free.add(session.id);
    onFree();
  }

  const limit = (session: HeldSession) =>
    clock.after(lockMs, () => {
      release(session, true);
      session.onLost();
    });

  function nextFree(): string | null {
    if (order === 'oldest') return oldest((id) => !held.has(id));
    const ids = [...free];
    const from = order === 'turns' ? 0 : Math.floor(order() * ids.length);
    for (const id of [...ids.slice(from), ...ids.slice(0, from)]) {
      if (hasReady(id)) return id;
      free.delete(id);
    }
    return null;
  }

  return {
    isHeld,
    /** The holder has closed the session, or is gone. */
    release: (session: HeldSession) => release(session, false),
    /** A message of this session is ready. */
    ready(id: string): void {
      if (!held.has(id)) free.add(id);
    },
    /** @param wanted `null` = the next session that has messages */
    accept(wanted: string | null): HeldSession | null {
      const id = wanted ?? nextFree();
      if (id === null || held.has(id)) return null;
      free.delete(id);
      const session: HeldSession = { id, until: clock.now() + lockMs, onLost: () => {} };
      held.set(id, { session, stop: limit(session) });
      return session;
    },
    /** Returns the new end; `null` = the session is not held. */
    renew(id: string): number | null {
      const found = held.get(id);
      if (!found) return null;
      found.stop();
      found.stop = limit(found.session);
      found.session.until = clock.now() + lockMs;
      return found.session.until;
    },
    close(): void {
      for (const { stop } of held.values()) stop();
    },
  };
}
