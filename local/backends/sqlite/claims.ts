/** Gives out leases and takes expired ones back. */

import type { JobLease } from '../../../core/contract.ts';
import { lostAttempt } from '../defaults.ts';
import type { SqliteState } from './index.ts';
import { appendReport, reportLine } from './rows.ts';
import { State } from './schema.ts';
import { tokenOf } from './settle.ts';

interface Claimed {
  readonly seq: number;
  readonly queue: string;
  readonly body: string;
  readonly attempt: number;
  readonly interrupted: number;
}

export interface Claims {
  claim(queues: readonly string[], max: number, leaseMs: number, now: number): JobLease[];
  /** When the next delayed job of these queues becomes ready. */
  nextDue(queues: readonly string[]): number | null;
  reap(queue: string): number;
}

/** At most so many rows change hands in one transaction. */
const stepSize = 1000;

export function createClaims({ db, clock, retention }: SqliteState, newNonce: () => string): Claims {
  const anyReady = db.prepare(`SELECT 1 FROM jobs WHERE state = ${State.ready} AND queue = ? LIMIT 1`);
  const firstDelayed = db.prepare(
    `SELECT ready_at FROM jobs WHERE state = ${State.delayed} AND queue = ? ORDER BY ready_at LIMIT 1`,
  );
  const promote = db.prepare(`
    UPDATE jobs SET state = ${State.ready} WHERE seq IN (
      SELECT seq FROM jobs WHERE state = ${State.delayed} AND queue = ? AND ready_at <= ? ORDER BY ready_at LIMIT ${stepSize})`);
  const pausedQueues = db.prepare('SELECT name FROM queues WHERE paused = 1');
  const firstRanks = db.prepare(
    `SELECT seq, rank FROM jobs WHERE state = ${State.ready} AND queue = ? ORDER BY rank, seq LIMIT ?`,
  );
  const set = `UPDATE jobs SET state = ${State.leased}, attempt = attempt + 1, nonce = ?, claimed_at = ?, lease_until = ?`;
  const columns = 'RETURNING seq, queue, body, attempt, interrupted';
  const claimThese = db.prepare(
    `${set} WHERE seq IN (SELECT value FROM json_each(?)) AND state = ${State.ready} ${columns}`,
  );
  // For one queue: read, then write by row number, a fifth faster than UPDATE ... RETURNING with a sub-select.
  const readFirst = db.prepare(`
    SELECT seq, body, attempt, interrupted FROM jobs
    WHERE state = ${State.ready} AND queue = ? ORDER BY rank, seq LIMIT ?`);
  readFirst.setReturnArrays(true);
  const claimRead = db.prepare(`${set} WHERE seq IN (SELECT value FROM json_each(?))`);
  const expired = db.prepare(`
    SELECT seq, attempt, claimed_at, cancel_requested FROM jobs
    WHERE state = ${State.leased} AND queue = ? AND lease_until <= ? LIMIT ${stepSize}`);
  const putBack = db.prepare(`
    UPDATE jobs SET state = ?, interrupted = 1, ready_at = ?, rank = ? + (rank - ready_at),
      finished_at = ?, reason = ?, ${appendReport}
    WHERE seq = ?`);

  const remove = db.prepare('DELETE FROM jobs WHERE seq = ?');

  /** The queues worth a write transaction; looking costs an idle worker two index look-ups and no lock. */
  function withWork(queues: readonly string[], now: number): string[] {
    const found = queues.filter((queue) => {
      const delayed = firstDelayed.get(queue) as { ready_at: number } | undefined;
      if (delayed && delayed.ready_at <= now) {
        promote.run(queue, now);
        return true;
      }
      return anyReady.get(queue) !== undefined;
    });
    if (found.length === 0) return found;
    const paused = pausedQueues.all().map((row) => row.name as string);
    return paused.length === 0 ? found : found.filter((queue) => !paused.includes(queue));
  }

  function claimOf(queue: string, max: number, nonce: string, now: number, until: number): Claimed[] {
    return db.transaction('claiming', () => {
      const rows = readFirst.all(queue, max) as unknown as [number, string, number, number][];
      claimRead.run(nonce, now, until, JSON.stringify(rows.map(([seq]) => seq)));
      return rows.map(([seq, body, attempt, interrupted]) => ({
        seq,
        queue,
        body,
        attempt: attempt + 1,
        interrupted,
      }));
    });
  }

  function claimAcross(
    queues: readonly string[],
    max: number,
    nonce: string,
    now: number,
    until: number,
  ): Claimed[] {
    return db.transaction('claiming', () => {
      const first = queues
        .flatMap((queue) => firstRanks.all(queue, max) as unknown as { seq: number; rank: number }[])
        .sort((a, b) => a.rank - b.rank || a.seq - b.seq)
        .slice(0, max)
        .map((row) => row.seq);
      const place = new Map(first.map((seq, i) => [seq, i]));
      const rows = claimThese.all(nonce, now, until, JSON.stringify(first)) as unknown as Claimed[];
      return rows.sort((a, b) => place.get(a.seq)! - place.get(b.seq)!); // RETURNING promises no order
    });
  }

  return {
    claim(queues, max, leaseMs, now) {
      return db.run('claiming', () => {
        const open = withWork(queues, now);
        const [only] = open;
        if (only === undefined) return [];
        const nonce = newNonce();
        const until = now + leaseMs;
        const rows =
          open.length === 1
            ? claimOf(only, max, nonce, now, until)
            : claimAcross(open, max, nonce, now, until);
        return rows.map(
          ({ seq, queue, body, attempt, interrupted }): JobLease => ({
            queue,
            body,
            attempt,
            // One random nonce per claim: with the row's number it is unique, and fresh every time.
            token: tokenOf(seq, nonce),
            expiresAt: until,
            interrupted: interrupted === 1,
          }),
        );
      });
    },

    nextDue(queues) {
      let next: number | null = null;
      for (const queue of queues) {
        const row = db.run('looking', () => firstDelayed.get(queue)) as { ready_at: number } | undefined;
        if (row && (next === null || row.ready_at < next)) next = row.ready_at;
      }
      return next;
    },

    reap(queue) {
      const now = clock.now();
      if (db.run('reaping', () => expired.get(queue, now)) === undefined) return 0;
      return db.transaction('reaping', () => {
        const rows = expired.all(queue, now) as unknown as {
          seq: number;
          attempt: number;
          claimed_at: number;
          cancel_requested: number;
        }[];
        for (const { seq, attempt, claimed_at, cancel_requested } of rows) {
          const report = reportLine({ ...lostAttempt(attempt), startedAt: claimed_at, endedAt: now });
          if (cancel_requested && retention.completedMs === 0) remove.run(seq);
          else if (cancel_requested) putBack.run(State.cancelled, now, now, now, 'cancelled', report, seq);
          else putBack.run(State.ready, now, now, null, null, report, seq);
        }
        return rows.length;
      });
    },
  };
}
