/** Ends leases. Every statement names the row AND the nonce of its lease, so a stale owner matches nothing. */

import type { Ack, JobLease, JobSettler } from '../../../core/contract.ts';
import type { SqliteState } from './index.ts';
import type { SqliteKeys } from './keys.ts';
import { appendReport, reportLine } from './rows.ts';
import { State } from './schema.ts';

export function createSettler(state: SqliteState, keys: SqliteKeys): JobSettler {
  const { db, clock, retention, ageingMs } = state;
  const owned = `seq = ? AND nonce = ? AND state = ${State.leased} AND lease_until > ?`;
  // The payload of a completed job is of no further use, so it is not kept.
  const complete = db.prepare(
    `UPDATE jobs SET state = ${State.completed}, finished_at = ?, body = '', ${appendReport} WHERE ${owned}`,
  );
  const remove = db.prepare(`DELETE FROM jobs WHERE ${owned}`);
  const removeThese = db.prepare(`
    DELETE FROM jobs WHERE seq IN (SELECT value FROM json_each(?)) AND nonce = ? AND state = ${State.leased}
      AND lease_until > ? RETURNING seq`);
  removeThese.setReturnArrays(true);
  const again = db.prepare(`
    UPDATE jobs SET ready_at = ?, rank = ? + priority * ${ageingMs},
      state = CASE WHEN cancel_requested THEN ${State.cancelled} ELSE ? END,
      finished_at = CASE WHEN cancel_requested THEN ? END,
      reason = CASE WHEN cancel_requested THEN 'cancelled' END,
      attempt = attempt - ?, interrupted = interrupted AND ?, ${appendReport}
    WHERE ${owned}`);
  const end = db.prepare(`
    UPDATE jobs SET state = ?, finished_at = ?, reason = ?, error = ?, ${appendReport} WHERE ${owned}`);
  const removeCancelled = db.prepare(`DELETE FROM jobs WHERE seq = ? AND state = ${State.cancelled}`);
  const extend = db.prepare(`UPDATE jobs SET lease_until = ? WHERE ${owned}`);

  function ackOne({ lease, report, complete: key }: Ack, now: number): boolean {
    const { seq, nonce } = ownership(lease);
    const { changes } =
      retention.completedMs === 0
        ? remove.run(seq, nonce, now)
        : complete.run(now, reportLine(report), seq, nonce, now);
    if (changes === 1 && key) keys.completeNow(key);
    return changes === 1;
  }

  /** With nothing to write into each row, one statement per claim that the leases came from. */
  function removeAll(acks: readonly Ack[], now: number): boolean[] {
    const byNonce = Map.groupBy(
      acks.map(({ lease }) => ownership(lease)),
      ({ nonce }) => nonce,
    );
    const removed = new Set<string>();
    for (const [nonce, mine] of byNonce) {
      const seqs = JSON.stringify(mine.map(({ seq }) => seq));
      const rows = removeThese.all(seqs, nonce, now) as unknown as [number][];
      for (const [seq] of rows) removed.add(tokenOf(seq, nonce));
    }
    return acks.map(({ lease, complete: key }) => {
      // Taken out of the set, so that a lease given twice in one call settles once.
      const settled = removed.delete(lease.token);
      if (settled && key) keys.completeNow(key);
      return settled;
    });
  }

  return {
    async ack(acks) {
      const now = clock.now();
      const [only] = acks;
      if (acks.length === 1 && !only!.complete) return [db.run('settling', () => ackOne(only!, now))];
      return db.transaction('settling', () =>
        retention.completedMs === 0 ? removeAll(acks, now) : acks.map((ack) => ackOne(ack, now)),
      );
    },

    async nack(lease, { delayMs, countAttempt, report }) {
      const now = clock.now();
      const { seq, nonce } = ownership(lease);
      const readyAt = now + Math.ceil(delayMs);
      const where = readyAt > now ? State.delayed : State.ready;
      const uncounted = countAttempt ? 0 : 1;
      const line = countAttempt ? reportLine(report) : '';
      const { changes } = db.run('settling', () => {
        const result = again.run(readyAt, readyAt, where, now, uncounted, uncounted, line, seq, nonce, now);
        if (result.changes === 1 && retention.completedMs === 0) removeCancelled.run(seq);
        return result;
      });
      if (changes === 1) state.wake();
      return changes === 1;
    },

    async abandon(lease, { reason, error, report }) {
      const now = clock.now();
      const { seq, nonce } = ownership(lease);
      const { changes } = db.run('settling', () => {
        if (reason === 'cancelled' && retention.completedMs === 0) return remove.run(seq, nonce, now);
        const ended = reason === 'cancelled' || reason === 'expired' ? State[reason] : State.failed;
        return end.run(ended, now, reason, error, reportLine(report), seq, nonce, now);
      });
      return changes === 1;
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

export const tokenOf = (seq: number, nonce: string): string => `${seq}.${nonce}`;

/** Row number and nonce. A token that is none of ours names row -1, which does not exist. */
export function ownership({ token }: Pick<JobLease, 'token'>): { seq: number; nonce: string } {
  const dot = token.indexOf('.');
  const seq = Number(token.slice(0, dot));
  return dot > 0 && Number.isSafeInteger(seq) ? { seq, nonce: token.slice(dot + 1) } : { seq: -1, nonce: '' };
}
