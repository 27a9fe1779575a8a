/** Leases jobs, settles them, and requeues jobs whose lease has expired. */

import type { Ack, BackendHints, JobLease, JobSettler, Nack } from '../../../core/contract/queue.ts';
import { together } from '../../../core/kit/parallel.ts';
import { lostAttempt, statusOfEnd } from '../../../core/kit/records/row.ts';
import { JobState, reportLine } from '../shared/report-lines.ts';
import type { LinedRow } from './groups.ts';
import type { SqliteKeys } from './keys.ts';
import { type EndedLease, ownership, tokenOf } from './narrow-rows.ts';
import { appendReport, type NarrowRow } from './rows.ts';
import { stepSize } from './schema.ts';
import type { SqliteState } from './state.ts';

export type Leases = ReturnType<typeof createLeases>;

type ReadyRow = [seq: number, rank: number, body: string, attempt: number, interrupted: number];
type FirstRank = Pick<NarrowRow, 'queue' | 'rank' | 'seq'>;
type Nacked = Nack & { readonly lease: JobLease };
type Ranked = Pick<NarrowRow, 'rank' | 'seq'> & { readonly lease: JobLease };

export function createLeases(state: SqliteState, newNonce: () => string) {
  const { db, clock, narrowRows } = state;
  const { groups } = narrowRows;
  const anyReady = db.prepare('SELECT 1 FROM ready WHERE queue = ? LIMIT 1');
  const firstDelayed = db.prepare('SELECT ready_at FROM delayed WHERE queue = ? ORDER BY ready_at LIMIT 1');
  const due = `FROM delayed WHERE queue = ? AND ready_at <= ? ORDER BY ready_at, seq LIMIT ${stepSize}`;
  const copyDue = db.prepare(`
    INSERT INTO ready (queue, rank, seq, ready_at, attempt, interrupted)
    SELECT queue, rank, seq, ready_at, attempt, interrupted ${due}`);
  const removeDue = db.prepare(`
    DELETE FROM delayed WHERE queue = ? AND (ready_at, seq) IN (SELECT ready_at, seq ${due})`);
  const pausedQueues = db.prepare('SELECT name FROM queues WHERE paused = 1');
  const firstRanks = db.prepare(
    'SELECT queue, rank, seq FROM ready WHERE queue = ? ORDER BY rank, seq LIMIT ?',
  );
  const readFirst = db.prepare(`
    SELECT r.seq, r.rank, j.body, r.attempt, r.interrupted FROM ready r JOIN jobs j ON j.seq = r.seq
    WHERE r.queue = ? ORDER BY r.rank, r.seq LIMIT ?`);
  readFirst.setReturnArrays(true);
  const leaseFirst = db.prepare(`
    INSERT INTO leases (seq, queue, nonce, claimed_at, lease_until, attempt, interrupted)
    SELECT seq, queue, ?, ?, ?, attempt + 1, interrupted FROM ready WHERE queue = ? ORDER BY rank, seq LIMIT ?`);
  const leaseLined = db.prepare(`
    INSERT INTO leases (seq, queue, nonce, claimed_at, lease_until, attempt, interrupted)
    SELECT seq, queue, ?, ?, ?, attempt + 1, interrupted FROM grouped WHERE seq IN (SELECT value FROM json_each(?))`);
  // The rows that were read are the front of the queue, so all rows up to the last one are removed.
  const removeFirst = db.prepare('DELETE FROM ready WHERE queue = ? AND (rank, seq) <= (?, ?)');
  const expired = db.prepare(`
    DELETE FROM leases WHERE seq IN (SELECT seq FROM leases WHERE queue = ? AND lease_until <= ? LIMIT ${stepSize})
    RETURNING seq, queue, claimed_at, attempt, interrupted`);
  const anyExpired = db.prepare('SELECT 1 FROM leases WHERE queue = ? AND lease_until <= ? LIMIT 1');

  /** When the next delayed job becomes ready; `Infinity` = there is none. */
  function nextReadyAt(queue: string): number {
    return (firstDelayed.get(queue)?.ready_at as number | undefined) ?? Infinity;
  }

  function hasReady(queue: string, now: number): boolean {
    return nextReadyAt(queue) <= now || anyReady.get(queue) !== undefined;
  }

  function unpaused(queues: readonly string[]): readonly string[] {
    const paused = pausedQueues.all().map((row) => row.name as string);
    return paused.length === 0 ? queues : queues.filter((queue) => !paused.includes(queue));
  }

  function promote(queue: string, now: number): void {
    if (copyDue.run(queue, now).changes > 0) removeDue.run(queue, queue, now);
  }

  function leaseFrom(queue: string, max: number, nonce: string, now: number, until: number): Ranked[] {
    const rows = readFirst.all(queue, max) as unknown as ReadyRow[];
    const last = rows.at(-1);
    if (!last) return [];
    leaseFirst.run(nonce, now, until, queue, rows.length);
    removeFirst.run(queue, last[1], last[0]);
    return rows.map(([seq, rank, body, attempt, interrupted]) => {
      return { rank, seq, lease: leaseOf({ seq, queue, body, attempt, interrupted }, nonce, until) };
    });
  }

  /** How many jobs each queue gives when the first `max` jobs of all queues are leased. */
  function shares(queues: readonly string[], max: number): Map<string, number> {
    const first = queues.flatMap((queue) => firstRanks.all(queue, max) as unknown as FirstRank[]);
    const counts = new Map<string, number>();
    for (const { queue } of first.sort(byRank).slice(0, max)) counts.set(queue, (counts.get(queue) ?? 0) + 1);
    return counts;
  }

  /** Inside a transaction. */
  function leaseNow(queues: readonly string[], max: number, leaseMs: number, now: number): JobLease[] {
    const open = unpaused(queues);
    for (const queue of open) promote(queue, now);
    const nonce = newNonce();
    const until = now + leaseMs;
    const hasGroups = groups.isUsed();
    if (hasGroups) for (const queue of open) groups.promote(queue, now);
    const leases: JobLease[] = [];
    for (let more = true; more && leases.length < max; ) {
      const ranked = take(open, max - leases.length, nonce, now, until);
      for (const { lease } of ranked) leases.push(lease);
      if (!hasGroups || ranked.length === 0) break;
      const seqs = ranked.map(({ seq }) => seq);
      const { lined, ...next } = groups.leaseLines(seqs, max - leases.length, now);
      if (lined.length > 0) leaseLined.run(nonce, now, until, JSON.stringify(lined.map(({ seq }) => seq)));
      for (const row of lined) leases.push(leaseOf(row, nonce, until));
      more = next.more;
    }
    return leases;
  }

  function take(open: readonly string[], max: number, nonce: string, now: number, until: number): Ranked[] {
    const share = open.length === 1 ? new Map([[open[0]!, max]]) : shares(open, max);
    const ranked = [...share].flatMap(([queue, count]) => leaseFrom(queue, count, nonce, now, until));
    return share.size > 1 ? ranked.sort(byRank) : ranked;
  }

  return {
    leaseNow,

    /** Looks for work without a lock first, and leases if there is some. */
    lease(queues: readonly string[], max: number, leaseMs: number, now: number): JobLease[] {
      // An idle worker costs two index look-ups per queue, and no lock.
      const busy = db.run('looking for work', () => queues.filter((queue) => hasReady(queue, now)));
      if (busy.length === 0) return [];
      return db.transaction('leasing', () => leaseNow(busy, max, leaseMs, now));
    },

    /** The earliest of all these queues. */
    nextReadyAt(queues: readonly string[]): number {
      return Math.min(...db.run('looking for work', () => queues.map(nextReadyAt)));
    },

    /** Makes heads for groups that lack one. */
    heal(queue: string): void {
      if (db.run('reaping', groups.isUsed)) db.transaction('reaping', () => groups.heal(queue, clock.now()));
    },

    /** Requeues one step of expired leases; 0 = none is left. */
    reap(queue: string): number {
      const now = clock.now();
      if (db.run('reaping', () => anyExpired.get(queue, now)) === undefined) return 0;
      return db.transaction('reaping', () => {
        const rows = expired.all(queue, now) as unknown as EndedLease[];
        for (const { seq, attempt, claimed_at } of rows) {
          const report = reportLine({ ...lostAttempt(attempt), startedAt: claimed_at, endedAt: now });
          narrowRows.requeue({ seq, queue, readyAt: now, attempt, interrupted: 1 }, report, now);
        }
        return rows.length;
      });
    },
  };
}

function leaseOf(row: Omit<LinedRow, 'rank' | 'turn'>, nonce: string, until: number): JobLease {
  return {
    queue: row.queue,
    body: row.body,
    attempt: row.attempt + 1,
    token: tokenOf(row.seq, nonce),
    expiresAt: until,
    interrupted: row.interrupted === 1,
  };
}

function byRank(a: { rank: number; seq: number }, b: { rank: number; seq: number }): number {
  return a.rank - b.rank || a.seq - b.seq;
}

type Settler = JobSettler & {
  readonly hints: Required<Pick<BackendHints, 'ackAndFetch' | 'reapsForAll' | 'freeWaits'>>;
};

/** Settles leases. A lease is found by row number AND nonce, so a stale owner settles nothing. */
export function createSettler(state: SqliteState, keys: SqliteKeys, leases: Leases): Settler {
  const { db, clock, retention, narrowRows } = state;
  const { groups } = narrowRows;
  const endThese = db.prepare(`
    DELETE FROM leases WHERE seq IN (SELECT value FROM json_each(?)) AND nonce = ? AND lease_until > ? RETURNING seq`);
  endThese.setReturnArrays(true);
  const remove = db.prepare('DELETE FROM jobs WHERE seq = ?');
  const removeThese = db.prepare('DELETE FROM jobs WHERE seq IN (SELECT value FROM json_each(?))');
  // A completed job needs its body no more, so it is kept only if the job asks for that.
  const completeWith = (body: string) =>
    db.prepare(`
      UPDATE jobs SET ended = ${JobState.completed}, finished_at = ?, attempt = ?, body = ${body}, keep_until = ?, ${appendReport} WHERE seq = ?`);
  const complete = completeWith("''");
  const completeWhole = completeWith('body');
  const end = db.prepare(`
    UPDATE jobs SET ended = ?, finished_at = ?, attempt = ?, reason = ?, error = ?, keep_until = ?, ${appendReport} WHERE seq = ?`);
  const keepGrouping = db.prepare('UPDATE jobs SET grouping = ? WHERE seq = ?'); // for when it is retried
  const extend = db.prepare(
    'UPDATE leases SET lease_until = ? WHERE seq = ? AND nonce = ? AND lease_until > ?',
  );

  /** Ends the leases that are still owned, with one statement per fetch that made them. Returns row numbers by token. */
  function endAll(acks: readonly Ack[], now: number): Map<string, number> {
    const owners = acks.map(({ lease }) => ownership(lease));
    const ended = new Map<string, number>();
    for (const [nonce, mine] of Map.groupBy(owners, (owner) => owner.nonce)) {
      const seqs = JSON.stringify(mine.map(({ seq }) => seq));
      const rows = endThese.all(seqs, nonce, now) as unknown as [number][];
      for (const [seq] of rows) ended.set(tokenOf(seq, nonce), seq);
    }
    return ended;
  }

  function ackNow(acks: readonly Ack[], now: number): boolean[] {
    const ended = endAll(acks, now);
    if (ended.size > 0 && groups.isUsed()) groups.end([...ended.values()], now);
    narrowRows.tellEnds([...ended.values()]);
    const isForgotten = ({ keepMs = retention.completedMs }: Ack): boolean => keepMs === 0;
    const forgotten = acks.flatMap((ack) => (isForgotten(ack) ? (ended.get(ack.lease.token) ?? []) : []));
    if (forgotten.length > 0) removeThese.run(JSON.stringify(forgotten));
    return acks.map((ack) => {
      const { lease, report, complete: key, keepBody, keepMs } = ack;
      const seq = ended.get(lease.token);
      if (seq === undefined) return false;
      ended.delete(lease.token); // a lease that is passed twice settles once
      const keepUntil = keepMs === undefined ? null : now + keepMs;
      if (!isForgotten(ack))
        (keepBody ? completeWhole : complete).run(now, lease.attempt, keepUntil, reportLine(report), seq);
      if (key) keys.completeNow(key);
      return true;
    });
  }

  function nackNow({ lease, delayMs, countAttempt, report }: Nacked, now: number): boolean {
    const mine = narrowRows.endLease(lease, now);
    if (!mine) return false;
    const { seq, queue } = mine;
    const readyAt = now + Math.ceil(delayMs);
    const attempt = countAttempt ? mine.attempt : mine.attempt - 1;
    const line = countAttempt ? reportLine(report) : '';
    const interrupted = countAttempt ? 0 : mine.interrupted;
    narrowRows.requeue({ seq, queue, readyAt, attempt, interrupted }, line, now);
    return true;
  }

  /** Jobs that wait for a limit come back together. */
  const nackTogether = together(async (nacks: readonly Nacked[]) => {
    const now = clock.now();
    const settled = db.transaction('settling', () => nacks.map((one) => nackNow(one, now)));
    if (settled.includes(true)) state.wake();
    return settled;
  });

  return {
    async ack(acks) {
      return db.transaction('settling', () => ackNow(acks, clock.now()));
    },

    hints: {
      reapsForAll: true,
      freeWaits: true,
      async ackAndFetch(acks, { queues, max, leaseMs }) {
        const now = clock.now();
        return db.transaction('settling and leasing', () => {
          const settled = ackNow(acks, now);
          return { settled, leases: leases.leaseNow(queues, max, leaseMs, now) };
        });
      },
    },

    nack: (lease, how) => nackTogether({ lease, ...how }),

    async abandon(lease, { reason, error, report, keepMs }) {
      const now = clock.now();
      return db.transaction('settling', () => {
        const mine = narrowRows.endLease(lease, now);
        if (!mine) return false;
        narrowRows.tellEnds([mine.seq]);
        const state = JobState[statusOfEnd(reason)];
        const usualMs = reason === 'cancelled' ? retention.completedMs : Infinity;
        const keepUntil = keepMs === undefined ? null : now + keepMs;
        if ((keepMs ?? usualMs) === 0) remove.run(mine.seq);
        else end.run(state, now, mine.attempt, reason, error, keepUntil, reportLine(report), mine.seq);
        const grouping = groups.groupingOf(mine.seq);
        if (grouping) keepGrouping.run(JSON.stringify(grouping), mine.seq);
        groups.end([mine.seq], now);
        return true;
      });
    },

    async renew(leases, leaseMs) {
      const now = clock.now();
      return db.transaction('renewing', () =>
        leases.map((lease) => {
          const { seq, nonce } = ownership(lease);
          return extend.run(now + leaseMs, seq, nonce, now).changes === 1;
        }),
      );
    },
  };
}
