/** Where a living job is: the narrow rows of `ready`, `delayed` and `leases`. */

import type { JobLease } from '../../../core/contract/queue.ts';
import type { Retention } from '../../../core/contract/store.ts';
import type { Database } from './database.ts';
import { appendReport } from './rows.ts';
import { State } from './schema.ts';

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
  /**
   * Puts a job whose lease has ended back in line, with `line` added to its reports; unless somebody asked to cancel
   * it meanwhile: then this is its end.
   */
  again(job: Omit<Place, 'rank'>, line: string, now: number): void;
  /** Ends a job that has no place any more as cancelled. */
  cancel(seq: number, attempt: number, now: number): void;
  /** Ends the lease if the token is still its own and it has not run out; `null` otherwise. */
  release(lease: Pick<JobLease, 'token'>, now: number): Released | null;
}

export function createPlaces(db: Database, retention: Retention, ageingMs: number): Places {
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
  const requeue = db.prepare(`
    UPDATE jobs SET ready_at = ?, rank = ? + priority * ${ageingMs}, ${appendReport} WHERE seq = ?
    RETURNING rank, cancel_requested`);
  const markCancelled = db.prepare(`
    UPDATE jobs SET ended = ${State.cancelled}, finished_at = ?, reason = 'cancelled', attempt = ? WHERE seq = ?`);
  const remove = db.prepare('DELETE FROM jobs WHERE seq = ?');

  const places: Places = {
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
    again(job, line, now) {
      const { seq, readyAt } = job;
      const row = requeue.get(readyAt, readyAt, line, seq) as { rank: number; cancel_requested: number };
      if (row.cancel_requested) places.cancel(seq, job.attempt, now);
      else places.line({ ...job, rank: row.rank }, now);
    },
    cancel(seq, attempt, now) {
      if (retention.completedMs === 0) remove.run(seq);
      else markCancelled.run(now, attempt, seq);
    },
  };
  return places;
}

/** Fresh at every claim, because the nonce is; unique, because the row number is. */
export const tokenOf = (seq: number, nonce: string): string => `${seq}.${nonce}`;

/** Row number and nonce. A token that is none of ours names row -1, which does not exist. */
export function ownership({ token }: Pick<JobLease, 'token'>): { seq: number; nonce: string } {
  const dot = token.indexOf('.');
  const seq = Number(token.slice(0, dot));
  return dot > 0 && Number.isSafeInteger(seq) ? { seq, nonce: token.slice(dot + 1) } : { seq: -1, nonce: '' };
}
