/** Where a living job is: the narrow rows of `ready`, `delayed` and `leases`. */

import type { JobLease } from '../../../core/contract.ts';
import type { Database } from './database.ts';

/** What moves with a job from place to place. */
export interface Place {
  readonly seq: number;
  readonly queue: string;
  readonly rank: number;
  readonly readyAt: number;
  readonly attempt: number;
  readonly interrupted: number;
}

/** What a settled lease leaves behind. */
export interface Released {
  readonly seq: number;
  readonly queue: string;
  readonly claimed_at: number;
  readonly attempt: number;
  readonly interrupted: number;
}

export interface Places {
  /** Puts a job in line: ready when `readyAt` has come, else delayed. */
  line(place: Place, now: number): void;
  /** Takes a waiting job out of line. */
  leave(place: Pick<Place, 'seq' | 'queue' | 'rank' | 'readyAt'>): void;
  /** Ends the lease if the token is still its own and it has not run out; `null` otherwise. */
  release(lease: Pick<JobLease, 'token'>, now: number): Released | null;
}

export function createPlaces(db: Database): Places {
  const ready = db.prepare(
    'INSERT INTO ready (queue, rank, seq, ready_at, attempt, interrupted) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const delayed = db.prepare(
    'INSERT INTO delayed (queue, ready_at, seq, rank, attempt, interrupted) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const leaveReady = db.prepare('DELETE FROM ready WHERE queue = ? AND rank = ? AND seq = ?');
  const leaveDelayed = db.prepare('DELETE FROM delayed WHERE queue = ? AND ready_at = ? AND seq = ?');
  const release = db.prepare(`
    DELETE FROM leases WHERE seq = ? AND nonce = ? AND lease_until > ?
    RETURNING seq, queue, claimed_at, attempt, interrupted`);
  return {
    line({ seq, queue, rank, readyAt, attempt, interrupted }, now) {
      if (readyAt > now) delayed.run(queue, readyAt, seq, rank, attempt, interrupted);
      else ready.run(queue, rank, seq, readyAt, attempt, interrupted);
    },
    leave({ queue, rank, readyAt, seq }) {
      if (leaveReady.run(queue, rank, seq).changes === 0) leaveDelayed.run(queue, readyAt, seq);
    },
    release(lease, now) {
      const { seq, nonce } = ownership(lease);
      return (release.get(seq, nonce, now) as unknown as Released | undefined) ?? null;
    },
  };
}

/** Fresh at every claim, because the nonce is; unique, because the row number is. */
export const tokenOf = (seq: number, nonce: string): string => `${seq}.${nonce}`;

/** Row number and nonce. A token that is none of ours names row -1, which does not exist. */
export function ownership({ token }: Pick<JobLease, 'token'>): { seq: number; nonce: string } {
  const dot = token.indexOf('.');
  const seq = Number(token.slice(0, dot));
  return dot > 0 && Number.isSafeInteger(seq) ? { seq, nonce: token.slice(dot + 1) } : { seq: -1, nonce: '' };
}
