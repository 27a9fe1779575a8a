/**
 * The locks this process holds. The queue says how long a lock lasts, the worker how long a lease lasts. So a lock is renewed
 * until its lease ends, and then released.
 */

import type { JobLease } from '../../../core/contract/queue.ts';
import type { Holding } from './api.ts';
import type { Connection } from './connection.ts';
import { isLockLost } from './errors.ts';
import { receiptOf } from './leases.ts';

export type Locks = ReturnType<typeof createLocks>;

interface Held {
  readonly queue: string;
  readonly lockToken: string;
  readonly holding: Holding;
  endsAt: number;
  lockedUntil: number;
  taken: boolean;
  /** A timer renews or ends it. */
  watched: boolean;
  cancel: () => void;
}

/** Limits for the case that the clocks of this machine and of the broker disagree. */
const soonestRenewalMs = 1_000;
const latestRenewalMs = 30_000;

export function createLocks({ clock, addressOf, api }: Connection) {
  /** By lock token. */
  const all = new Map<string, Held>();
  const releasing = new Set<Promise<void>>();

  const entityOf = ({ queue }: Held) => ({ name: addressOf(queue).entity });

  function add(lease: JobLease, holding: Holding, lockedUntil: number): Held {
    const { queue, expiresAt: endsAt } = lease;
    const { lockToken } = receiptOf(lease);
    const state = { endsAt, lockedUntil, taken: false, watched: false, cancel: () => {} };
    const held: Held = { queue, lockToken, holding, ...state };
    all.set(lockToken, held);
    return held;
  }

  /** Of a lease that another process fetched only the token is known. */
  function find(lease: JobLease): Held {
    const { lockToken } = receiptOf(lease);
    return all.get(lockToken) ?? add(lease, { lockToken }, lease.expiresAt);
  }

  /** A lease that has ended. A timer removes those that were fetched here. */
  function ended(held: Held): null {
    if (!held.watched) all.delete(held.lockToken);
    return null;
  }

  const isOpen = (held: Held): boolean => !held.taken && held.endsAt > clock.now();

  function watch(held: Held): void {
    held.cancel();
    held.watched = true;
    const now = clock.now();
    const halfMs = (held.lockedUntil - now) / 2;
    const renewalMs = Math.min(Math.max(halfMs, soonestRenewalMs), latestRenewalMs);
    const leftMs = Math.max(0, held.endsAt - now);
    const lasts = held.lockedUntil >= held.endsAt;
    held.cancel =
      lasts || leftMs <= renewalMs
        ? clock.after(leftMs, () => end(held))
        : clock.after(renewalMs, () => void prolong(held));
  }

  async function extend(held: Held): Promise<void> {
    held.lockedUntil = (await (await api()).renew(entityOf(held), held.holding)).getTime();
  }

  async function prolong(held: Held): Promise<void> {
    try {
      await extend(held);
    } catch (error) {
      if (isLockLost(error)) return drop(held);
    }
    if (isOpen(held)) watch(held); // after another failure too: the lock may still last
  }

  function drop(held: Held): void {
    held.cancel();
    held.taken = true;
    all.delete(held.lockToken);
  }

  function end(held: Held): void {
    if (held.taken) return;
    drop(held);
    const release = api()
      .then((broker) => broker.abandon(entityOf(held), held.holding))
      .catch(() => {}) // then it comes back when its lock ends
      .finally(() => releasing.delete(release));
    releasing.add(release);
  }

  return {
    hold: (lease: JobLease, holding: Holding, lockedUntil: number): void =>
      watch(add(lease, holding, lockedUntil)),
    /** Takes the right to settle; `null` when the lease has ended or was taken before. */
    take(lease: JobLease): Holding | null {
      const held = find(lease);
      if (!isOpen(held)) return ended(held);
      held.taken = true;
      held.cancel();
      return held.holding;
    },
    /** Settling has failed: it may be tried again. */
    untake(lease: JobLease): void {
      const held = all.get(receiptOf(lease).lockToken);
      if (!held) return;
      held.taken = false;
      watch(held);
    },
    /** It is settled or lost. The broker would refuse another request for it. */
    forget(lease: JobLease): void {
      const held = all.get(receiptOf(lease).lockToken);
      if (held) drop(held);
    },
    /** `false` when the lease has ended. */
    async renew(lease: JobLease, leaseMs: number): Promise<boolean> {
      const held = find(lease);
      if (!isOpen(held)) return ended(held) !== null;
      const now = clock.now();
      try {
        await extend(held);
      } catch (error) {
        if (!isLockLost(error)) throw error;
        drop(held);
        return false;
      }
      if (held.taken) return false;
      held.endsAt = now + leaseMs;
      watch(held);
      return true;
    },
    /** Resolves when no release is under way. */
    async released(): Promise<void> {
      while (releasing.size > 0) await Promise.all(releasing);
    },
    close(): void {
      for (const { cancel } of all.values()) cancel();
    },
  };
}
