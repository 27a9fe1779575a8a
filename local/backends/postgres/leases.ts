/** Tokens, and what this process still owes of each claim. */

import type { JobLease } from '../../../core/contract/queue.ts';

/** What a token says. One that is none of ours names turn -1, which no job has. */
export interface Ownership {
  readonly claim: string;
  readonly turn: number;
  readonly id: string;
}

const tokenOf = ({ claim, turn, id }: Ownership): string => `${claim}.${turn}.${id}`;

/** A job as `work()` of the database gives it out. */
export type ClaimRow = readonly [
  id: string,
  turn: string,
  attempt: number,
  interrupted: boolean,
  queue: string,
  body: string,
];

export function leaseOf(row: ClaimRow, claim: string, expiresAt: number): JobLease {
  // By place: taking an array apart by a pattern costs an iterator per job.
  const owner = { claim, turn: Number(row[1]), id: row[0] };
  return {
    queue: row[4],
    body: row[5],
    attempt: row[2],
    token: tokenOf(owner),
    expiresAt,
    interrupted: row[3],
  };
}

export function ownership({ token }: Pick<JobLease, 'token'>): Ownership {
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  const turn = Number(token.slice(first + 1, second));
  return first > 0 && second > 0 && Number.isSafeInteger(turn) && turn >= 0
    ? { claim: token.slice(0, first), turn, id: token.slice(second + 1) }
    : { claim: '', turn: -1, id: '' };
}

interface Batch {
  /** How many turns are not settled yet. */
  left: number;
  /** Ids with an end of their own. */
  readonly renewed: Set<string>;
  expiresAt: number;
}

/** What a settlement has to tell the database beside its leases. */
export interface Leftovers {
  /** Claims of which nothing is left after it. */
  readonly finished: string[];
  /** Ids that were renewed. */
  readonly renewed: string[];
}

/**
 * The row of a claim can go when its last job is settled. Who knows that without asking is the process that claimed it;
 * what a dead process leaves, the reaper finds. Nothing counts before the database has said so: a row that went too early
 * would leave a job that nobody holds and nobody finds. So it is enough to count: the database settles a turn once, and keeps
 * the rows when one of a call was not settled, such as a lease that is named twice.
 */
export interface Batches {
  open(claim: string, jobs: number, expiresAt: number): void;
  renewed(owner: Ownership, expiresAt: number): void;
  /** Before a settlement is sent. */
  plan(owners: readonly Ownership[]): Leftovers;
  /** After it has been answered, with those that were settled. A lease that was lost stays open: the reaper needs its row. */
  confirm(owners: readonly Ownership[], planned: Leftovers): void;
}

export function createBatches(now: () => number): Batches {
  const batches = new Map<string, Batch>();
  /** Ended by several settlements that were under way together: told with the next one. */
  let untold: string[] = [];

  /** Leases that were lost are never settled: their claims are forgotten when they have ended. */
  function forgetEnded(): void {
    for (const [claim, { expiresAt }] of batches) if (expiresAt < now()) batches.delete(claim);
  }

  return {
    open(claim, jobs, expiresAt) {
      if (batches.size >= 1000 && batches.size % 1000 === 0) forgetEnded();
      batches.set(claim, { left: jobs, renewed: new Set(), expiresAt });
    },
    renewed({ claim, id }, expiresAt) {
      const batch = batches.get(claim);
      if (!batch) return;
      batch.renewed.add(id);
      batch.expiresAt = expiresAt;
    },
    plan(owners) {
      const renewed: string[] = [];
      const ending = new Map<string, number>();
      for (let i = 0; i < owners.length; i++) {
        const { claim, id } = owners[i]!;
        const batch = batches.get(claim);
        // Of a claim of another process, or one forgotten here, the database may know a renewal.
        if (!batch || (batch.renewed.size > 0 && batch.renewed.has(id))) renewed.push(id);
        if (batch) ending.set(claim, (ending.get(claim) ?? 0) + 1);
      }
      const finished = untold;
      untold = [];
      for (const [claim, count] of ending) if (count >= batches.get(claim)!.left) finished.push(claim);
      return { finished, renewed };
    },
    confirm(owners, { finished }) {
      for (let i = 0; i < owners.length; i++) {
        const { claim, id } = owners[i]!;
        const batch = batches.get(claim);
        if (!batch) continue;
        if (batch.renewed.size > 0) batch.renewed.delete(id);
        if (--batch.left > 0) continue;
        batches.delete(claim);
        if (!finished.includes(claim)) untold.push(claim);
      }
    },
  };
}
