/**
 * The sessions of a queue: which are free and have messages, and who holds which. Whoever holds one gets its messages alone. As in
 * Azure, a session whose lock ends has counted a delivery of its messages, and one that is closed or cut off has not.
 */

import type { Clock } from '../../../core/base/clock.ts';

export interface HeldSession {
  readonly id: string;
  /** Epoch ms. */
  until: number;
  /** Called when its lock has run out. */
  onLost: () => void;
}

/**
 * Which free session comes next. No document of Azure's says it. `oldest`: the one with the oldest message. `turns`: the one that has
 * been free for the longest. A function: any one, chosen by its numbers from 0 to 1.
 */
export type SessionOrder = 'oldest' | 'turns' | (() => number);

interface SessionPorts {
  readonly lockMs: number;
  readonly order: SessionOrder;
  readonly clock: Clock;
  hasReady(id: string): boolean;
  /** The session of the oldest ready message among those that `isFree` accepts. */
  oldest(isFree: (id: string) => boolean): string | null;
  /** Makes ready again what is locked in it. @param counts whether that was a delivery */
  unlock(session: HeldSession, counts: boolean): void;
  /** Called when somebody who waits may get one. */
  onFree(): void;
}

export function createSessions({ lockMs, order, clock, hasReady, oldest, unlock, onFree }: SessionPorts) {
  /** Free ones, longest first. */
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
    /** Its holder has closed it, or is gone. */
    release: (session: HeldSession) => release(session, false),
    /** A message of this session is ready. */
    ready(id: string): void {
      if (!held.has(id)) free.add(id);
    },
    /** @param wanted `null` = the next one that has messages */
    accept(wanted: string | null): HeldSession | null {
      const id = wanted ?? nextFree();
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
