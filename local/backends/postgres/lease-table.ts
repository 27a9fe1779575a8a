/** Tokens, and which leases of this process are not settled yet. */

import type { JobLease } from '../../../core/contract/queue.ts';

/** What a token says. A token that is not ours gets version -1, which no job has. */
export interface Ownership {
  /** Names the fetch that gave the lease out: column `claim` of the table `leases`. */
  readonly batch: string;
  /** Column `turn` of the job: a new number for each lease, so a stale owner finds nothing. */
  readonly version: number;
  readonly id: string;
}

/** A job as `work()` of the database gives it out. */
export type LeaseRow = readonly [
  id: string,
  version: string,
  attempt: number,
  interrupted: boolean,
  queue: string,
  body: string,
];

export function leaseOf(row: LeaseRow, batch: string, expiresAt: number): JobLease {
  // By index: destructuring an array costs an iterator per job.
  return {
    queue: row[4],
    body: row[5],
    attempt: row[2],
    token: `${batch}.${row[1]}.${row[0]}`,
    expiresAt,
    interrupted: row[3],
  };
}

export function ownership({ token }: Pick<JobLease, 'token'>): Ownership {
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  const version = Number(token.slice(first + 1, second));
  return first > 0 && second > 0 && Number.isSafeInteger(version) && version >= 0
    ? { batch: token.slice(0, first), version, id: token.slice(second + 1) }
    : { batch: '', version: -1, id: '' };
}

interface Batch {
  /** How many of its leases are not settled yet. */
  left: number;
  /** Ids that were renewed, and so have an end of their own. */
  readonly renewed: Set<string>;
  expiresAt: number;
}

/** What a settlement deletes beside its jobs. */
export interface Leftovers {
  /** Batches that are empty after it. */
  readonly finished: string[];
  /** Ids that were renewed. */
  readonly renewed: string[];
}

/**
 * The database has one row per batch, which can go when the last job of the batch is settled. The process that leased the batch knows
 * that by counting; the reaper finds what a dead process leaves. A job is counted only after the database has confirmed it: a row that
 * went too early would leave a job that is neither leased nor waiting. Counting is enough, because the database settles a version
 * once, and keeps the rows when one of a call was not settled, such as a lease that is named twice.
 */
export function createLeaseTable(now: () => number) {
  const batches = new Map<string, Batch>();
  /** Emptied by several settlements that were under way together: deleted with the next one. */
  let empty: string[] = [];

  /** Lost leases are never settled: their batches are forgotten when they have expired. */
  function forgetExpired(): void {
    for (const [name, { expiresAt }] of batches) if (expiresAt < now()) batches.delete(name);
  }

  return {
    open(name: string, jobs: number, expiresAt: number): void {
      if (batches.size >= 1000 && batches.size % 1000 === 0) forgetExpired();
      batches.set(name, { left: jobs, renewed: new Set(), expiresAt });
    },
    renewed({ batch: name, id }: Ownership, expiresAt: number): void {
      const batch = batches.get(name);
      if (!batch) return;
      batch.renewed.add(id);
      batch.expiresAt = expiresAt;
    },
    /** Before a settlement is sent. */
    plan(owners: readonly Ownership[]): Leftovers {
      const renewed: string[] = [];
      const settling = new Map<string, number>();
      for (let i = 0; i < owners.length; i++) {
        const { batch: name, id } = owners[i]!;
        const batch = batches.get(name);
        // A batch of another process, or one forgotten here, may have been renewed.
        if (!batch || (batch.renewed.size > 0 && batch.renewed.has(id))) renewed.push(id);
        if (batch) settling.set(name, (settling.get(name) ?? 0) + 1);
      }
      const finished = empty;
      empty = [];
      for (const [name, count] of settling) if (count >= batches.get(name)!.left) finished.push(name);
      return { finished, renewed };
    },
    /** After it has been answered, with those that were settled. A lost lease stays open: the reaper needs its row. */
    confirm(owners: readonly Ownership[], { finished }: Leftovers): void {
      for (let i = 0; i < owners.length; i++) {
        const { batch: name, id } = owners[i]!;
        const batch = batches.get(name);
        if (!batch) continue;
        if (batch.renewed.size > 0) batch.renewed.delete(id);
        if (--batch.left > 0) continue;
        batches.delete(name);
        if (!finished.includes(name)) empty.push(name);
      }
    },
  };
}
