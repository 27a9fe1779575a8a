/** Ends leases. A lease is found by its row number AND its nonce, so a stale owner finds nothing to settle. */

import type { Ack, BackendHints, JobSettler } from '../../../core/contract/queue.ts';
import { statusOfEnd } from '../../../core/kit/records/row.ts';
import { JobState, reportLine } from '../shared/report-lines.ts';
import type { SqliteKeys } from './keys.ts';
import type { Leases } from './leases.ts';
import { ownership, tokenOf } from './narrow-rows.ts';
import { appendReport } from './rows.ts';
import type { SqliteState } from './state.ts';

type Settler = JobSettler & { readonly hints: Required<Pick<BackendHints, 'ackAndFetch' | 'reapsForAll'>> };

export function createSettler(state: SqliteState, keys: SqliteKeys, leases: Leases): Settler {
  const { db, clock, retention, narrowRows } = state;
  const { groups } = narrowRows;
  const endThese = db.prepare(`
    DELETE FROM leases WHERE seq IN (SELECT value FROM json_each(?)) AND nonce = ? AND lease_until > ? RETURNING seq`);
  endThese.setReturnArrays(true);
  const remove = db.prepare('DELETE FROM jobs WHERE seq = ?');
  const removeThese = db.prepare('DELETE FROM jobs WHERE seq IN (SELECT value FROM json_each(?))');
  // The payload of a completed job is of no further use, so it is kept only where its job asks for that.
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

  /** Ends the leases that are still owned, one statement per fetch that gave them out; returns their tokens. */
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
      ended.delete(lease.token); // so that a lease given twice in one call settles once
      const keepUntil = keepMs === undefined ? null : now + keepMs;
      if (!isForgotten(ack))
        (keepBody ? completeWhole : complete).run(now, lease.attempt, keepUntil, reportLine(report), seq);
      if (key) keys.completeNow(key);
      return true;
    });
  }

  return {
    async ack(acks) {
      return db.transaction('settling', () => ackNow(acks, clock.now()));
    },

    hints: {
      reapsForAll: true,
      async ackAndFetch(acks, { queues, max, leaseMs }) {
        const now = clock.now();
        return db.transaction('settling and leasing', () => {
          const settled = ackNow(acks, now);
          return { settled, leases: leases.leaseNow(queues, max, leaseMs, now) };
        });
      },
    },

    async nack(lease, { delayMs, countAttempt, report }) {
      const now = clock.now();
      const readyAt = now + Math.ceil(delayMs);
      const settled = db.transaction('settling', () => {
        const mine = narrowRows.endLease(lease, now);
        if (!mine) return false;
        const { seq, queue } = mine;
        const attempt = countAttempt ? mine.attempt : mine.attempt - 1;
        const line = countAttempt ? reportLine(report) : '';
        const interrupted = countAttempt ? 0 : mine.interrupted;
        narrowRows.requeue({ seq, queue, readyAt, attempt, interrupted }, line, now);
        return true;
      });
      if (settled) state.wake();
      return settled;
    },

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
