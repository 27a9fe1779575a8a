/** One message with its state in the memory backend. */

import type { DeadLetter, PeekedMessage } from '../../../core/contract/admin.ts';
import type { AbandonReason, AttemptReport, JobStatus, Progress } from '../../../core/contract/outcome.ts';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import type { JobRecord } from '../../../core/contract/store.ts';
import { factsFrom } from '../../../core/kit/records/facts.ts';
import { mostAttempts } from '../../../core/kit/records/row.ts';

export type State = 'ready' | 'delayed' | 'leased' | 'completed' | 'failed' | 'cancelled' | 'expired';

/** An entry's place in a ready list. */
export interface ReadyItem {
  readonly entry: Entry;
  readonly at: number;
  readonly rank: number;
  readonly seq: number;
}

export interface Entry {
  /** Order of arrival; breaks ties. */
  readonly seq: number;
  /** Replaced when a dead letter or a waiting job gets a new body. */
  message: OutgoingMessage;
  readonly createdAt: number;
  state: State;
  readyAt: number;
  rank: number;
  /** The last item of the entry; earlier items are stale. */
  item: ReadyItem | null;
  attempt: number;
  token: string;
  /** By the steady clock. */
  leaseUntil: number;
  leasedAt: number;
  interrupted: boolean;
  cancelRequested: boolean;
  finishedAt: number | null;
  readonly reports: AttemptReport[];
  progress: Progress | null;
  reason: AbandonReason | null;
  error: string | null;
  /** The body is shown after the job is done. */
  keepsBody: boolean;
  /** As in `Ack`; `null` = the usual retention. */
  keepMs: number | null;
  /** Place in the line of its group, kept for life; `null` = not joined yet. */
  place: number | null;
  /** The item in the line of its group; `null` = not in line. */
  lined: object | null;
}

export function newEntry(seq: number, message: OutgoingMessage, now: number): Entry {
  return {
    seq,
    message,
    createdAt: now,
    state: 'ready',
    readyAt: now,
    rank: 0,
    item: null,
    attempt: 0,
    token: '',
    leaseUntil: 0,
    leasedAt: 0,
    interrupted: false,
    cancelRequested: false,
    finishedAt: null,
    reports: [],
    progress: null,
    reason: null,
    error: null,
    keepsBody: false,
    keepMs: null,
    place: null,
    lined: null,
  };
}

export function addReport({ reports }: Entry, report: AttemptReport): void {
  if (reports.push(report) > mostAttempts) reports.shift();
}

/** Expired jobs are dead letters too; cancelled ones are not. */
export function isDead(entry: Entry): boolean {
  return entry.reason !== null && entry.reason !== 'cancelled';
}

/** Whether the job is done or was cancelled. A dead letter is not over: it may run again. */
export const isOver = (entry: Entry): boolean => entry.finishedAt !== null && !isDead(entry);

export function statusOf(entry: Entry): JobStatus {
  switch (entry.state) {
    case 'ready':
    case 'delayed':
      return entry.attempt > 0 ? 'retrying' : 'pending';
    case 'leased':
      return 'processing';
    default:
      return entry.state;
  }
}

export function recordOf(entry: Entry): JobRecord {
  const { message } = entry;
  const output = entry.state === 'completed' ? entry.reports.at(-1)?.output : null;
  return {
    id: message.id,
    queue: message.queue,
    job: message.job,
    tenantId: message.tenantId,
    status: statusOf(entry),
    priority: message.priority,
    createdAt: entry.createdAt,
    runAt: entry.readyAt,
    finishedAt: entry.finishedAt,
    ...factsFrom(message.facts, [...entry.reports]),
    progress: entry.progress,
    output: output == null ? null : JSON.parse(output),
    reason: entry.reason,
    error: entry.error,
  };
}

export function peekedOf({ message, readyAt, attempt }: Entry): PeekedMessage {
  const { id, queue, job, priority } = message;
  return { id, queue, job, priority, readyAt, attempt };
}

export function deadLetterOf(entry: Entry): DeadLetter {
  const { id, queue, job, body } = entry.message;
  return {
    id,
    queue,
    job,
    body,
    reason: entry.reason!,
    error: entry.error ?? '',
    attempt: entry.attempt,
    diedAt: entry.finishedAt!,
  };
}

export function before(a: Pick<Entry, 'rank' | 'seq'>, b: Pick<Entry, 'rank' | 'seq'>): boolean {
  return a.rank !== b.rank ? a.rank < b.rank : a.seq < b.seq;
}

export const isWaiting = ({ state }: Entry): boolean => state === 'ready' || state === 'delayed';

/** `delayed` becomes `ready` at the next fetch, so listings compare with the time. */
export const isReady = ({ state, readyAt }: Entry, now: number): boolean =>
  state === 'ready' || (state === 'delayed' && readyAt <= now);

/** Entries in the lines of their groups come after all others. */
function inOrder(a: Entry, b: Entry): number {
  if (!a.lined || !b.lined)
    return Number(a.lined !== null) - Number(b.lined !== null) || (before(a, b) ? -1 : 1);
  return a.place! - b.place! || a.seq - b.seq;
}

/** The waiting entries of a queue, in the order in which they are fetched. */
export function waitingOf(queue: string, entries: Iterable<Entry>, now: number): Entry[] {
  const waiting = [...entries].filter((entry) => entry.message.queue === queue && isWaiting(entry));
  const ready = waiting.filter((entry) => isReady(entry, now)).sort(inOrder);
  const delayed = waiting.filter((entry) => !isReady(entry, now)).sort((a, b) => a.readyAt - b.readyAt);
  return [...ready, ...delayed];
}
