/** Ends leases. Every statement names the row AND the nonce of its lease, so a stale owner matches nothing. */

import type { Ack, JobLease, JobSettler } from '../../../core/contract.ts';
import type { AttemptReport } from '../../../core/store.ts';
import type { SqliteState } from './index.ts';
import type { SqliteKeys } from './keys.ts';
import { State } from './schema.ts';

/** `reports` grows by one line of JSON per attempt; text is appended, never read back to be changed. */
const addReport = (n: number) =>
  `reports = CASE WHEN ?${n} IS NULL THEN reports WHEN reports IS NULL THEN ?${n} ELSE reports || char(10) || ?${n} END`;

export function createSettler(state: SqliteState, keys: SqliteKeys): JobSettler {
  const { db, clock, retention, ageingMs } = state;
  const owned = 'seq = ?1 AND nonce = ?2 AND state = 2 AND lease_until > ?3';
  // The payload of a completed job is of no further use, so it is not kept.
  const complete = db.prepare(
    `UPDATE jobs SET state = ${State.completed}, nonce = NULL, finished_at = ?3, body = '', ${addReport(4)} WHERE ${owned}`,
  );
  const remove = db.prepare(`DELETE FROM jobs WHERE ${owned}`);
  const again = db.prepare(`
    UPDATE jobs SET nonce = NULL, ready_at = ?4, rank = ?4 + priority * ${ageingMs},
      state = CASE WHEN cancel_requested THEN ${State.cancelled} WHEN ?4 > ?3 THEN ${State.delayed} ELSE ${State.ready} END,
      finished_at = CASE WHEN cancel_requested THEN ?3 END,
      reason = CASE WHEN cancel_requested THEN 'cancelled' END,
      attempt = attempt - ?5, interrupted = interrupted AND ?5, ${addReport(6)}
    WHERE ${owned}`);
  const end = db.prepare(`
    UPDATE jobs SET state = ?4, nonce = NULL, finished_at = ?3, reason = ?5, error = ?6, ${addReport(7)} WHERE ${owned}`);
  const extend = db.prepare(`UPDATE jobs SET lease_until = ?4 WHERE ${owned}`);

  function ackOne({ lease, report, complete: key }: Ack, now: number): boolean {
    const [seq, nonce] = parts(lease);
    const { changes } =
      retention.completedMs === 0
        ? remove.run(seq, nonce, now)
        : complete.run(seq, nonce, now, textOf(report));
    if (changes === 1 && key) keys.completeNow(key);
    return changes === 1;
  }

  return {
    async ack(acks) {
      const now = clock.now();
      const [only] = acks;
      if (acks.length === 1 && !only!.complete) return [db.run('settling', () => ackOne(only!, now))];
      return db.transaction('settling', () => acks.map((ack) => ackOne(ack, now)));
    },

    async nack(lease, { delayMs, countAttempt, report }) {
      const now = clock.now();
      const readyAt = now + Math.ceil(delayMs);
      const text = countAttempt ? textOf(report) : null;
      const { changes } = db.run('settling', () =>
        again.run(...parts(lease), now, readyAt, countAttempt ? 0 : 1, text),
      );
      if (changes === 1) state.wake();
      return changes === 1;
    },

    async abandon(lease, { reason, error, report }) {
      const now = clock.now();
      const [seq, nonce] = parts(lease);
      const { changes } = db.run('settling', () => {
        if (reason === 'cancelled' && retention.completedMs === 0) return remove.run(seq, nonce, now);
        const ended = reason === 'cancelled' || reason === 'expired' ? State[reason] : State.failed;
        return end.run(seq, nonce, now, ended, reason, error, textOf(report));
      });
      return changes === 1;
    },

    async renew(leases, leaseMs) {
      const now = clock.now();
      const renewOne = (lease: JobLease) => extend.run(...parts(lease), now, now + leaseMs).changes === 1;
      return db.transaction('renewing', () => leases.map(renewOne));
    },
  };
}

/** Row number and nonce; a token of another make names row -1, which does not exist. */
function parts({ token }: JobLease): [number, string] {
  const dot = token.indexOf('.');
  const seq = Number(token.slice(0, dot));
  return dot > 0 && Number.isSafeInteger(seq) ? [seq, token.slice(dot + 1)] : [-1, ''];
}

const textOf = (report: AttemptReport | undefined): string | null => (report ? JSON.stringify(report) : null);
