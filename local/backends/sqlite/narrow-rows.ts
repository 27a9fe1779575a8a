/** The narrow rows of living jobs, in `ready`, `delayed` and `leases`. */

import type { JobLease } from '../../../core/contract/queue.ts';
import type { Retention } from '../../../core/contract/store.ts';
import type { EndWatchers } from '../../../core/kit/records/end-watchers.ts';
import { JobState } from '../shared/report-lines.ts';
import type { Database } from './database.ts';
import { createGroups } from './groups.ts';
import { appendReport, type NarrowRow } from './rows.ts';

/** The row of a lease that has ended. */
export interface EndedLease extends Pick<NarrowRow, 'seq' | 'queue' | 'attempt' | 'interrupted'> {
  readonly claimed_at: number;
}

export type NarrowRows = ReturnType<typeof createNarrowRows>;

export function createNarrowRows(db: Database, retention: Retention, ageingMs: number, ends: EndWatchers) {
  const insertReady = db.prepare(
    'INSERT INTO ready (queue, rank, seq, ready_at, attempt, interrupted) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const insertDelayed = db.prepare(
    'INSERT INTO delayed (queue, ready_at, seq, rank, attempt, interrupted) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const removeReady = db.prepare('DELETE FROM ready WHERE queue = ? AND rank = ? AND seq = ?');
  const removeDelayed = db.prepare('DELETE FROM delayed WHERE queue = ? AND ready_at = ? AND seq = ?');
  const endLease = db.prepare(`
    DELETE FROM leases WHERE seq = ? AND nonce = ? AND lease_until > ?
    RETURNING seq, queue, claimed_at, attempt, interrupted`);
  const move = db.prepare(`
    UPDATE jobs SET ready_at = ?, rank = ? + priority * ${ageingMs}, ${appendReport} WHERE seq = ?
    RETURNING rank, cancel_requested`);
  const markCancelled = db.prepare(`
    UPDATE jobs SET ended = ${JobState.cancelled}, finished_at = ?, reason = 'cancelled', attempt = ? WHERE seq = ?`);
  const removeJob = db.prepare('DELETE FROM jobs WHERE seq = ?');
  const idsOf = db.prepare('SELECT id FROM jobs WHERE seq IN (SELECT value FROM json_each(?))');

  const tables = {
    insert({ seq, queue, rank, readyAt, attempt, interrupted }: NarrowRow, now: number): void {
      if (readyAt > now) insertDelayed.run(queue, readyAt, seq, rank, attempt, interrupted);
      else insertReady.run(queue, rank, seq, readyAt, attempt, interrupted);
    },
    remove({ queue, rank, readyAt, seq }: Pick<NarrowRow, 'seq' | 'queue' | 'rank' | 'readyAt'>): void {
      if (removeReady.run(queue, rank, seq).changes === 0) removeDelayed.run(queue, readyAt, seq);
    },
  };
  const groups = createGroups(db, ageingMs, tables);

  const narrowRows = {
    groups,
    /** Inserts into `ready` or, before `readyAt`, into `delayed`. A job of a group may have to wait in line instead. */
    insert(row: NarrowRow, now: number): void {
      if (!groups.wait(row, now)) tables.insert(row, now);
    },
    /** Removes the row from `ready` or `delayed`. */
    remove: tables.remove,
    /** Ends the lease; `null` = the token is stale or the lease has expired. */
    endLease(lease: Pick<JobLease, 'token'>, now: number): EndedLease | null {
      const { seq, nonce } = ownership(lease);
      return (endLease.get(seq, nonce, now) as unknown as EndedLease | undefined) ?? null;
    },
    /** Requeues a job whose lease has ended, and adds `report`. Cancels the job instead if that was requested. */
    requeue(job: Omit<NarrowRow, 'rank'>, report: string, now: number): void {
      const { seq, readyAt } = job;
      const row = move.get(readyAt, readyAt, report, seq) as { rank: number; cancel_requested: number };
      if (row.cancel_requested) narrowRows.cancel(seq, job.attempt, now);
      else narrowRows.insert({ ...job, rank: row.rank }, now);
    },
    /** Ends a job as cancelled after its narrow row was removed. */
    cancel(seq: number, attempt: number, now: number): void {
      narrowRows.tellEnds([seq]);
      if (retention.completedMs === 0) removeJob.run(seq);
      else markCancelled.run(now, attempt, seq);
      groups.end([seq], now);
    },
    /** Wakes callers of this process that wait for one of these jobs. Call it in the transaction, before the jobs are removed. */
    tellEnds(seqs: readonly number[]): void {
      if (ends.size === 0) return;
      for (const { id } of idsOf.all(JSON.stringify(seqs))) ends.tell(id as string);
    },
  };
  return narrowRows;
}

/** New for each lease by the nonce, and unique by the row number. */
export const tokenOf = (seq: number, nonce: string): string => `${seq}.${nonce}`;

/** Row number and nonce of a token. A foreign token gets row -1, which does not exist. */
export function ownership({ token }: Pick<JobLease, 'token'>): { seq: number; nonce: string } {
  const dot = token.indexOf('.');
  const seq = Number(token.slice(0, dot));
  return dot > 0 && Number.isSafeInteger(seq) ? { seq, nonce: token.slice(dot + 1) } : { seq: -1, nonce: '' };
}
