/** Tokens of leases, and the leases of this process that are not settled yet. */

import type { JobLease } from '../../../core/contract/queue.ts';

/** The parts of a token. A foreign token gets version -1, which no job has. */
export interface Ownership {
  /** Names the fetch that made the lease: column `claim` of the table `leases`. */
  readonly batch: string;
  /** Column `turn` of the job: a new number for each lease, so a stale owner finds nothing. */
  readonly version: number;
  readonly id: string;
}

/** A job as the function `work()` of the database returns it. */
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
  /** Number of leases that are not settled yet. */
  left: number;
  /** Ids of jobs that were renewed, and so have their own end. */
  readonly renewed: Set<string>;
  expiresAt: number;
}

/** Rows that a settlement deletes together with its jobs. */
export interface Leftovers {
  /** Batches that it makes empty. */
  readonly finished: string[];
  /** Ids of jobs with a renewal. */
  readonly renewed: string[];
}

/**
 * The database has one row per batch, which is deleted when the last job of the batch is settled. The process that leased the batch
 * counts its jobs; the reaper deletes the rows of dead processes. A job is counted only after the database has confirmed its settlement:
 * if the row were deleted too early, a job would be neither leased nor waiting. Counting is enough, because the database settles a
 * version once, and keeps the rows when any lease of a call was not settled, such as a lease that is passed twice.
 */
export function createLeaseTable(now: () => number) {
  const batches = new Map<string, Batch>();
  /** Batches that several settlements at the same time have emptied. The next settlement deletes them. */
  let empty: string[] = [];

  /** Forgets expired batches: their lost leases are never settled. */
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
    /** Call it before a settlement is sent. */
    plan(owners: readonly Ownership[]): Leftovers {
      const renewed: string[] = [];
      const settling = new Map<string, number>();
      for (let i = 0; i < owners.length; i++) {
        const { batch: name, id } = owners[i]!;
        const batch = batches.get(name);
        // A job of an unknown batch may have been renewed.
        if (!batch || (batch.renewed.size > 0 && batch.renewed.has(id))) renewed.push(id);
        if (batch) settling.set(name, (settling.get(name) ?? 0) + 1);
      }
      const finished = empty;
      empty = [];
      for (const [name, count] of settling) if (count >= batches.get(name)!.left) finished.push(name);
      return { finished, renewed };
    },
    /** Call it after the answer, with the settled leases. A lost lease stays open, because the reaper needs its row. */
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
