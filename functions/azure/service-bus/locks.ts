/**
 * The locks that this process holds. The queue decides how long a lock lasts, the worker how long a lease lasts. So a lock is renewed until its
 * lease ends, and then released.
 */

import type { JobLease } from '../../../core/contract/queue.ts';
import { receiptIn } from '../../../core/kit/clouds/queue.ts';
import type { Holding } from './api.ts';
import type { Connection } from './connection.ts';
import { isLockLost, sessionLost } from './errors.ts';
import type { Delivery, Tags } from './message.ts';

export type Locks = ReturnType<typeof createLocks>;

interface Held {
  readonly queue: string;
  readonly lockToken: string;
  readonly tags: Tags;
  readonly holding: Holding;
  endsAt: number;
  lockedUntil: number;
  taken: boolean;
  /** `true` = a timer renews or ends it. */
  watched: boolean;
  cancel: () => void;
}

/** Limits for the case that the clocks of this machine and of the broker disagree. */
const soonestRenewalMs = 1_000;
const latestRenewalMs = 30_000;

export function createLocks({ clock, addressOf, api, metadata }: Connection) {
  /** By lock token. */
  const all = new Map<string, Held>();
  const releasing = new Set<Promise<void>>();

  const entityOf = ({ queue }: Held) => ({ name: addressOf(queue).entity });

  function add(lease: JobLease, holding: Holding, lockedUntil: number): Held {
    const { queue, expiresAt: endsAt } = lease;
    const { lockToken, tags } = receiptOf(lease);
    const state = { endsAt, lockedUntil, taken: false, watched: false, cancel: () => {} };
    const held: Held = { queue, lockToken, tags, holding, ...state };
    all.set(lockToken, held);
    return held;
  }

  /** For a lease that another process fetched, only the token is known. */
  function find(lease: JobLease): Held {
    const { lockToken } = receiptOf(lease);
    return all.get(lockToken) ?? add(lease, { lockToken }, lease.expiresAt);
  }

  /** Returns `null` for an ended lease. Removes it, unless a timer will. */
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

  /** Whether the host of a function holds its session. */
  const isOfHost = ({ queue, holding }: Held): boolean => addressOf(queue).sessions && !('body' in holding);

  /** Resolves with the new end, epoch ms. Rejects if the lock is lost. */
  async function renewLock(held: Held): Promise<number> {
    const { queue, tags, lockToken, holding } = held;
    if (!isOfHost(held)) return (await (await api()).renew(entityOf(held), holding)).getTime();
    if (!(await metadata?.beginnings.isLast(addressOf(queue).entity, tags, lockToken))) throw sessionLost();
    return Number.POSITIVE_INFINITY; // the host renews it
  }

  async function extend(held: Held): Promise<void> {
    held.lockedUntil = await renewLock(held);
  }

  async function prolong(held: Held): Promise<void> {
    try {
      await extend(held);
    } catch (error) {
      if (isLockLost(error)) return drop(held);
    }
    if (isOpen(held)) watch(held); // also after other failures: the lock may still be held
  }

  function drop(held: Held): void {
    held.cancel();
    held.taken = true;
    all.delete(held.lockToken);
  }

  function end(held: Held): void {
    if (held.taken) return;
    drop(held);
    if (isOfHost(held)) return; // the host does that itself
    const release = api()
      .then((broker) => broker.abandon(entityOf(held), held.holding))
      .catch(() => {}) // then the message comes back when its lock ends
      .finally(() => releasing.delete(release));
    releasing.add(release);
  }

  return {
    hold: (lease: JobLease, holding: Holding, lockedUntil: number): void =>
      watch(add(lease, holding, lockedUntil)),
    /** Whether it was fetched here and has not ended. */
    has: (lease: JobLease): boolean => all.has(receiptOf(lease).lockToken),
    /** Takes the right to settle; `null` = the lease has ended or was taken before. */
    take(lease: JobLease): Holding | null {
      const held = find(lease);
      if (!isOpen(held)) return ended(held);
      held.taken = true;
      held.cancel();
      return held.holding;
    },
    /** Rejects unless this process still holds the lock. */
    prove: async (lease: JobLease): Promise<void> => void (await renewLock(find(lease))),
    /** Settling has failed: it may be repeated. */
    untake(lease: JobLease): void {
      const held = all.get(receiptOf(lease).lockToken);
      if (!held) return;
      held.taken = false;
      watch(held);
    },
    /** The lease is settled or lost; the broker would refuse another request for it. */
    forget(lease: JobLease): void {
      const held = all.get(receiptOf(lease).lockToken);
      if (held) drop(held);
    },
    /** `false` = the lease has ended. */
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
    /** Resolves when all releases have ended. */
    async released(): Promise<void> {
      while (releasing.size > 0) await Promise.all(releasing);
    },
    close(): void {
      for (const { cancel } of all.values()) cancel();
    },
  };
}

/** The token of a lease: the lock token and the data that settling needs. */
export interface Receipt {
  readonly lockToken: string;
  readonly tags: Tags;
}

/** @param counted the attempt number of this copy, if Service Bus does not count it */
export function leaseFrom(
  delivery: Delivery,
  queue: string,
  expiresAt: number,
  counted = delivery.deliveryCount,
): JobLease {
  const { body, lockToken, tags, refusal } = delivery;
  const receipt: Receipt = { lockToken, tags };
  const lease: JobLease = {
    queue,
    body,
    attempt: tags.attempts + counted,
    token: JSON.stringify(receipt),
    expiresAt,
    // A released message is sent as a copy, which starts at its first delivery, or its delivery is taken back. So a later delivery means that
    // an attempt was never settled.
    interrupted: tags.interrupted || counted > 1,
  };
  return refusal === undefined ? lease : { ...lease, refusal };
}

export const receiptOf = (lease: JobLease): Receipt => receiptIn<Receipt>(lease, 'serviceBus()');
