/** The sessions of a queue: which are free and have messages, and who holds which. Whoever holds one gets its messages alone. */

import type { Clock } from '../../../core/base/clock.ts';

export interface HeldSession {
  readonly id: string;
  /** Epoch ms. */
  until: number;
  /** Called when its lock has run out. */
  onLost: () => void;
}

interface SessionPorts {
  readonly lockMs: number;
  readonly clock: Clock;
  hasReady(id: string): boolean;
  /** Makes ready again what is locked in it. */
  unlock(session: HeldSession): void;
  /** Called when somebody who waits may get one. */
  onFree(): void;
}

export function createSessions({ lockMs, clock, hasReady, unlock, onFree }: SessionPorts) {
  /** Free ones, longest first: one that is released goes to the end, so they take turns. */
  const free = new Set<string>();
  const held = new Map<string, { readonly session: HeldSession; stop: () => void }>();

  const isHeld = (session: HeldSession): boolean => held.get(session.id)?.session === session;

  function release(session: HeldSession): void {
    if (!isHeld(session)) return;
    held.get(session.id)!.stop();
    held.delete(session.id);
    unlock(session);
    if (hasReady(session.id)) free.add(session.id);
    onFree();
  }

  const limit = (session: HeldSession) =>
    clock.after(lockMs, () => {
      release(session);
      session.onLost();
    });

  function firstFree(): string | null {
    for (const id of free) {
      if (hasReady(id)) return id;
      free.delete(id);
    }
    return null;
  }

  return {
    isHeld,
    release,
    /** A message of this session is ready. */
    ready(id: string): void {
      if (!held.has(id)) free.add(id);
    },
    /** @param wanted `null` = the next one that has messages */
    accept(wanted: string | null): HeldSession | null {
      const id = wanted ?? firstFree();
      if (id === null || held.has(id)) return null;
      free.delete(id);
      const session: HeldSession = { id, until: clock.now() + lockMs, onLost: () => {} };
      held.set(id, { session, stop: limit(session) });
      return session;
    },
    /** The new end; `null` when nobody holds it. */
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
