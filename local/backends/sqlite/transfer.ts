/** Transfers waiting jobs to and from another backend. A held job is a lease that never ends. */

import type { MessageFacts } from '../../../core/contract/outcome.ts';
import type { SendResult } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { statusOfEnd } from '../../../core/kit/records/row.ts';
import { type MovedJob, positionOfMoved, type QueueTransfer } from '../../move/contract.ts';
import { GroupState, groupingIn, groupingText } from '../shared/groups.ts';
import { JobState, recordOf, reportLine, type StoredRecord } from '../shared/report-lines.ts';
import { type NarrowRow, recordColumns } from './rows.ts';
import { factOf } from './schema.ts';
import type { SqliteState } from './state.ts';

/** Never the nonce of a fetch. */
const nonce = '~move';
const forever = Number.MAX_SAFE_INTEGER;
const heldColumns = `${recordColumns}, body, attempts AS attempt,
  (SELECT interrupted FROM leases WHERE leases.seq = job_states.seq) AS interrupted,
  (SELECT json_object('group', name, 'order', ordering) FROM grouped WHERE grouped.seq = job_states.seq) AS grouping`;

interface FreedRow extends NarrowRow {
  readonly cancelRequested: number;
}

type HeldRow = StoredRecord &
  Pick<NarrowRow, 'attempt' | 'interrupted'> & {
    readonly body: string;
    readonly grouping: string | null;
  };

export function sqliteTransfer(state: SqliteState, maxBodyBytes: number): QueueTransfer {
  const { db, clock, narrowRows, ageingMs } = state;
  const { groups } = narrowRows;
  const next = (table: string, order: string) =>
    db.prepare(`SELECT seq, queue, rank, ready_at AS readyAt, attempt, interrupted FROM ${table}
      WHERE queue = ? ORDER BY ${order}, seq LIMIT ?`);
  const nextReady = next('ready', 'rank');
  const nextDelayed = next('delayed', 'ready_at');
  /** Group by group, each in its order. */
  const nextInLine = db.prepare(`
    SELECT g.seq, g.queue, j.rank, j.ready_at AS readyAt, g.attempt, g.interrupted FROM grouped g JOIN jobs j ON j.seq = g.seq
    WHERE g.queue = ? AND g.state = ${GroupState.inLine} ORDER BY g.name, g.place, g.seq LIMIT ?`);
  const lease = db.prepare(`
    INSERT INTO leases (seq, queue, nonce, claimed_at, lease_until, attempt, interrupted)
    VALUES (?, ?, '${nonce}', ?, ${forever}, ?, ?)`);
  const listHeld = db.prepare(`
    SELECT ${heldColumns} FROM job_states WHERE seq IN (SELECT seq FROM leases WHERE queue = ? AND nonce = '${nonce}')
    ORDER BY rank, seq LIMIT ?`);
  const read = db.prepare(`SELECT ${heldColumns} FROM job_states WHERE seq = ?`);
  const free = db.prepare(`
    DELETE FROM leases WHERE nonce = '${nonce}' AND queue = ? AND seq = (SELECT seq FROM jobs WHERE id = ?)
    RETURNING seq, attempt, interrupted, queue,
      (SELECT rank FROM jobs j WHERE j.seq = leases.seq) AS rank,
      (SELECT ready_at FROM jobs j WHERE j.seq = leases.seq) AS readyAt,
      (SELECT cancel_requested FROM jobs j WHERE j.seq = leases.seq) AS cancelRequested`);
  const keepGrouping = db.prepare('UPDATE jobs SET grouping = ? WHERE seq = ?');
  const remove = db.prepare('DELETE FROM jobs WHERE seq = ?');
  const addQueue = db.prepare('INSERT INTO queues (name) VALUES (?) ON CONFLICT DO NOTHING');
  const insert = db.prepare(`
    INSERT INTO jobs (id, queue, job, tenant_id, priority, created_at, ready_at, rank, ended, finished_at, attempt, reason, error,
      progress, reports, facts, body, idempotency_key, schedule)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?16, ?17,
      ${factOf('idempotencyKey', '?16')}, ${factOf('schedule', '?16')})
    ON CONFLICT (id) DO NOTHING RETURNING seq`);

  function insertOne(job: MovedJob, now: number): SendResult {
    const { message, createdAt, attempts, death } = job;
    const { id, queue, priority, body } = message;
    const error = tooLarge(body, maxBodyBytes);
    if (error) return { ok: false, id, error };
    const readyAt = message.notBefore ?? now;
    const rank = readyAt + priority * ageingMs;
    const ended = death && JobState[statusOfEnd(death.reason)];
    const row = insert.get(
      ...[id, queue, message.job, message.tenantId, priority, createdAt, readyAt, rank],
      ...[ended, death?.at ?? null, attempts, death?.reason ?? null, death?.error ?? null],
      ...[job.progress && JSON.stringify(job.progress), job.reports.map(reportLine).join('') || null],
      ...[message.facts ? JSON.stringify(message.facts) : null, body],
    ) as { seq: number } | undefined;
    if (!row) return { ok: true, id, duplicate: true };
    narrowRows.remove({ seq: row.seq, queue, rank, readyAt }); // inserted by a trigger
    if (!death) lease.run(row.seq, queue, now, attempts, job.interrupted ? 1 : 0);
    const { group, order } = message;
    if (group !== null && death) keepGrouping.run(groupingText(message), row.seq);
    else if (group !== null)
      groups.add(row.seq, queue, { group, ...(order && { order }) }, positionOfMoved(job, now));
    return { ok: true, id, duplicate: false };
  }

  /** Ends the hold and returns its job, if there is one. */
  const freeOne = (queue: string, id: string) => free.get(queue, id) as unknown as FreedRow | undefined;

  return {
    async hold(queue, max) {
      const now = clock.now();
      return db.transaction('holding', () => {
        const ready = nextReady.all(queue, max);
        const first = [...ready, ...nextInLine.all(queue, max - ready.length)];
        const rows = [...first, ...nextDelayed.all(queue, max - first.length)] as unknown as NarrowRow[];
        const jobs = rows.map((row) => {
          narrowRows.remove(row);
          lease.run(row.seq, queue, now, row.attempt, row.interrupted);
          return movedOf(read.get(row.seq) as unknown as HeldRow);
        });
        groups.lease(
          rows.map(({ seq }) => seq),
          now,
        );
        return jobs;
      });
    },
    async held(queue, max) {
      const rows = db.run('listing', () => listHeld.all(queue, max));
      return (rows as unknown as HeldRow[]).map(movedOf);
    },
    async put(jobs) {
      const now = clock.now();
      return db.transaction('moving', () => {
        for (const queue of new Set(jobs.map(({ message }) => message.queue))) addQueue.run(queue);
        return jobs.map((job) => insertOne(job, now));
      });
    },
    async release(queue, ids) {
      const now = clock.now();
      const releaseOne = (id: string): boolean => {
        const held = freeOne(queue, id);
        if (!held) return false;
        if (held.cancelRequested) narrowRows.cancel(held.seq, held.attempt, now);
        else narrowRows.insert(held, now);
        return true;
      };
      const count = db.transaction('releasing', () => ids.filter(releaseOne).length);
      if (count > 0) state.wake();
      return count;
    },
    async remove(queue, ids) {
      const now = clock.now();
      return db.transaction('removing', () =>
        ids.map((id) => {
          const held = freeOne(queue, id);
          if (held?.cancelRequested) narrowRows.cancel(held.seq, held.attempt, now);
          else if (held) {
            remove.run(held.seq);
            groups.end([held.seq], now);
          }
          return held !== undefined && !held.cancelRequested;
        }),
      );
    },
  };
}

function movedOf(row: HeldRow): MovedJob {
  const { id, queue, job, tenantId, priority, createdAt, runAt, attempts, progress } = recordOf(row);
  return {
    message: {
      ...{ id, queue, job, body: row.body, priority, notBefore: runAt, tenantId },
      ...groupingIn(row.grouping),
      ...(row.facts && { facts: JSON.parse(row.facts) as MessageFacts }),
    },
    createdAt,
    attempts: row.attempt,
    interrupted: row.interrupted === 1,
    reports: attempts,
    progress,
    death: null,
  };
}
