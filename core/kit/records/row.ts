/**
 * The record of a job whose queue keeps none, and all its changes. Writes come late, twice and out of order, so each
 * change is a function of the current row: a stale owner can only add the report of its own attempt.
 */

import type { Replacement, WaitingChange } from '../../contract/admin.ts';
import type { AbandonReason, AttemptReport, MessageFacts } from '../../contract/outcome.ts';
import type {
  AttemptEnd,
  AttemptStart,
  Begun,
  CancelResult,
  JobRecord,
  RecordedJob,
  Retention,
} from '../../contract/store.ts';
import { factsFrom, withLastLines } from './facts.ts';
import { shortOwner } from './owner.ts';

type Said = 'name' | 'idempotencyKey' | 'schedule' | 'requestId' | 'traceparent' | 'chain' | 'maxAttempts';

/** Rows of earlier versions have no optional members. */
export interface RecordRow extends Omit<JobRecord, 'output' | 'startedAt' | Said> {
  readonly facts?: MessageFacts;
  /** Kept for display. */
  readonly body?: string;
  /** The worker of the running attempt. */
  readonly by?: Pick<AttemptReport, 'worker' | 'host'> | null;
  /** Token of the lease that last changed the status. */
  readonly owner: string | null;
  /** Attempts that have begun and were counted. */
  readonly attempt: number;
  /** Start of the running attempt. */
  readonly startedAt: number | null;
  /** When the status last changed. */
  readonly movedAt: number;
  readonly cancelRequested: boolean;
  /**
   * Until then an ended row is kept, even when it is no longer shown: its sender may still report it as new, or a worker may
   * still receive its message and ask whether it was cancelled.
   */
  readonly guardedUntil: number;
  /**
   * For a job with its own retention: the moment from which the store's retention is counted, so that both end together. Absent =
   * from `finishedAt`.
   */
  readonly agedFrom?: number;
}

/** The moment from which the store's retention is counted; `null` = the job has not ended. */
export const agesFrom = ({ finishedAt, agedFrom }: RecordRow): number | null =>
  finishedAt === null ? null : (agedFrom ?? finishedAt);

/** A sender may report a job this long after a worker has ended it. */
const lateMs = 60_000;
/** Managed queues keep a message for 14 days at most; a day more for clocks and retries. */
const longestInQueueMs = 15 * 86_400_000;

/** A record keeps the last attempts only: otherwise each attempt would write more than the one before. */
export const mostAttempts = 30;

export function newRow(job: RecordedJob): RecordRow {
  const { id, queue, job: name, tenantId, priority, createdAt, runAt, facts, body } = job;
  return {
    id,
    queue,
    job: name,
    tenantId,
    priority,
    createdAt,
    runAt,
    status: 'pending',
    owner: null,
    attempt: 0,
    startedAt: null,
    movedAt: createdAt,
    cancelRequested: false,
    finishedAt: null,
    attempts: [],
    progress: null,
    reason: null,
    error: null,
    guardedUntil: 0,
    ...(facts && { facts }),
    ...(body !== undefined && { body }),
  };
}

/** The row after a change; `null` = unchanged. */
export interface Change<T> {
  readonly row: RecordRow | null;
  readonly answer: T;
}

export function begin(row: RecordRow | null, job: RecordedJob, start: AttemptStart): Change<Begun> {
  const before = row ?? newRow(job);
  if (before.status === 'cancelled') return { row: null, answer: isCancelled };
  const mine = runs(before, start.owner);
  if (!mine && !isNewer(before, start)) return { row: null, answer: goesOn(before) };
  const { owner, attempt, at, worker, host } = start;
  if (before.cancelRequested) {
    const guardedUntil = at + longestInQueueMs;
    return { row: cancelled(mine ? before : taken(before, at), at, guardedUntil), answer: isCancelled };
  }
  if (mine) return { row: null, answer: goesOn(before) };
  const running = {
    status: 'processing',
    owner: shortOwner(owner),
    attempt,
    startedAt: at,
    movedAt: at,
  } as const;
  const by = worker === undefined ? null : { worker, ...(host !== undefined && { host }) };
  const begun: RecordRow = { ...taken(before, at), ...running, ...reopened, by };
  return { row: begun, answer: goesOn(begun) };
}

const reopened = { finishedAt: null, reason: null, error: null, guardedUntil: 0 } as const;
const isCancelled: Begun = { cancelled: true, interrupted: false };
const goesOn = ({ attempts }: RecordRow): Begun => {
  return { cancelled: false, interrupted: attempts.at(-1)?.outcome === 'interrupted' };
};

export function end(
  row: RecordRow | null,
  job: RecordedJob,
  owner: string,
  { report, counted, runAt, reason, error, keepMs }: AttemptEnd,
  retention: Retention,
): RecordRow | null {
  const before = row ?? newRow(job);
  const { attempt, startedAt, endedAt: at } = report;
  const mine = runs(before, owner);
  // The end counts even if the start could not be recorded.
  const unseen = !mine && !isOf(before, owner) && isNewer(before, { attempt, at: startedAt });
  // A cancelled job stays cancelled, unless it ran nevertheless and succeeded.
  const tooLate = before.status === 'cancelled' && report.outcome !== 'acked';
  if (!(mine || unseen) || tooLate) return counted ? lineOnly(before, report) : null;

  const { agedFrom: _, ...open } = mine ? before : taken(before, startedAt);
  const attempts = counted ? withLine(open.attempts, report) : open.attempts;
  const done = counted ? attempt : attempt - 1;
  const moved: RecordRow = {
    ...open,
    owner: shortOwner(owner),
    attempt: done,
    startedAt: null,
    movedAt: at,
    attempts,
  };
  if (runAt !== null) {
    if (before.cancelRequested) return cancelled({ ...moved, runAt }, at, runAt + longestInQueueMs);
    return { ...moved, runAt, status: done > 0 ? 'retrying' : 'pending', finishedAt: null };
  }
  const ended = { cancelRequested: false, finishedAt: at, reason, error, guardedUntil: at + lateMs };
  const status = statusOfEnd(reason);
  const usualMs = isDead({ status }) ? retention.deadMs : retention.completedMs;
  return { ...moved, ...ended, status, ...(keepMs !== undefined && { agedFrom: at + keepMs - usualMs }) };
}

/** The job waits again, and its attempts are counted from 0, as in its queue. */
export function retried(row: RecordRow, at: number, replacement?: Replacement): RecordRow {
  const { agedFrom: _, ...dead } = row;
  const waiting: RecordRow = { ...dead, ...reopened, status: 'pending', attempt: 0, runAt: at, movedAt: at };
  return replacement ? withText(waiting, replacement) : waiting;
}

/** Replaces the body only in rows that keep one. */
function withText(row: RecordRow, { body, facts }: Replacement): RecordRow {
  const { facts: _, ...others } = row;
  return { ...others, ...(facts && { facts }), ...(row.body !== undefined && { body }) };
}

/** `null` = the job does not wait. */
export function changed(row: RecordRow, at: number, change: WaitingChange): RecordRow | null {
  if (row.finishedAt !== null || row.status === 'processing') return null;
  const { priority = row.priority, notBefore, body, facts } = change;
  const runAt = notBefore === undefined ? row.runAt : Math.max(at, notBefore ?? at);
  const moved: RecordRow = { ...row, priority, runAt };
  return body === undefined ? moved : withText(moved, { body, ...(facts && { facts }) });
}

export function cancel(row: RecordRow, at: number): Change<CancelResult> {
  if (row.finishedAt !== null) return { row: null, answer: 'finished' };
  if (row.status === 'processing') {
    return { row: row.cancelRequested ? null : { ...row, cancelRequested: true }, answer: 'cancelling' };
  }
  return { row: cancelled(row, at, Math.max(at, row.runAt) + longestInQueueMs), answer: 'cancelled' };
}

/** Whether the attempt of this owner is running, as far as the record knows. */
export const runs = (row: RecordRow, owner: string): boolean =>
  row.status === 'processing' && isOf(row, owner);

/** Version 0.1.0 has stored owners of any length. */
const isOf = (row: RecordRow, owner: string): boolean =>
  row.owner === owner || row.owner === shortOwner(owner);

export function recordOf(row: RecordRow): JobRecord {
  const { id, queue, job, tenantId, status, priority, createdAt, runAt, finishedAt, attempts } = row;
  const { progress, reason, error, startedAt } = row;
  const last = attempts.findLast(({ outcome }) => outcome === 'acked' || outcome === 'skipped-idempotent');
  const text = status === 'completed' ? last?.output : null;
  const output: unknown = text == null ? null : JSON.parse(text);
  const facts = { id, queue, job, tenantId, status, priority, createdAt, runAt, finishedAt };
  const running = startedAt === null ? {} : { startedAt };
  return { ...facts, ...factsFrom(row.facts, attempts), ...running, progress, output, reason, error };
}

/**
 * Compares attempt numbers, because the clocks of hosts may differ by more than a retry takes. Compares times too, because the
 * numbers start again after a dead letter was retried.
 */
function isNewer(row: RecordRow, { attempt, at }: Omit<AttemptStart, 'owner'>): boolean {
  return attempt > row.attempt || at > row.movedAt;
}

/** The report that stands in for a worker that never reported. */
export function lostAttempt(attempt: number): Omit<AttemptReport, 'startedAt' | 'endedAt'> {
  const message = 'The worker vanished or its lease ended before it reported a result.';
  return { attempt, outcome: 'interrupted', error: { code: 'LEASE_LOST', message }, output: null };
}

/** The row with a running attempt, which never reported its end, marked as lost. */
function taken(row: RecordRow, at: number): RecordRow {
  if (row.status !== 'processing') return row;
  const startedAt = row.startedAt!;
  const lost = { ...lostAttempt(row.attempt), startedAt, endedAt: Math.max(at, startedAt), ...row.by };
  return { ...row, runAt: lost.endedAt, attempts: withLine(row.attempts, lost) };
}

function cancelled(row: RecordRow, at: number, guardedUntil: number): RecordRow {
  const ended = { finishedAt: at, reason: 'cancelled', error: null, startedAt: null, movedAt: at } as const;
  const { agedFrom: _, ...others } = row;
  return { ...others, ...ended, status: 'cancelled', cancelRequested: false, guardedUntil };
}

function lineOnly(row: RecordRow, report: AttemptReport): RecordRow | null {
  const attempts = withLine(row.attempts, report);
  return attempts === row.attempts ? null : { ...row, attempts };
}

/** Keeps one report per attempt, the last ones. Only a worker's own report replaces a report that was assumed for it. */
function withLine(lines: readonly AttemptReport[], line: AttemptReport): readonly AttemptReport[] {
  const same = (other: AttemptReport) => other.attempt === line.attempt && other.startedAt === line.startedAt;
  const known = lines.find(same);
  if (known && (known.outcome !== 'interrupted' || line.outcome === 'interrupted')) return lines;
  const others = lines.filter((other) => other !== known);
  const sorted = [...others, line].sort((a, b) => a.startedAt - b.startedAt || a.attempt - b.attempt);
  return withLastLines(sorted.slice(-mostAttempts));
}

export function isDead({ status }: Pick<RecordRow, 'status'>): boolean {
  return status === 'failed' || status === 'expired';
}

/** @param reason why the job was abandoned; `null` = it completed */
export function statusOfEnd(reason: AbandonReason | null): 'completed' | 'failed' | 'cancelled' | 'expired' {
  if (reason === null) return 'completed';
  return reason === 'cancelled' || reason === 'expired' ? reason : 'failed';
}
