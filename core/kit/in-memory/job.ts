/** A job of a queue that keeps its jobs in the memory of this process. */

import type { DeadLetter, PeekedMessage } from '../../contract/admin.ts';
import type { AbandonReason, AttemptReport, JobStatus, Progress } from '../../contract/outcome.ts';
import type { OutgoingMessage } from '../../contract/queue.ts';
import type { JobRecord } from '../../contract/store.ts';
import { factsFrom } from '../records/facts.ts';
import { mostAttempts } from '../records/row.ts';

type State = 'ready' | 'delayed' | 'leased' | 'completed' | 'failed' | 'cancelled' | 'expired';

export interface KeptJob {
  /** Order of arrival; breaks ties. */
  readonly seq: number;
  /** Replaced when a dead letter or a waiting job gets a new body. */
  message: OutgoingMessage;
  readonly createdAt: number;
  state: State;
  readyAt: number;
  /** The ready job with the lowest rank is leased first. */
  rank: number;
  /** For the queue's own lists: the item that stands for this job there. Other items of the job are stale. */
  item: object | null;
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
  /** It is ready and waits behind the head of its group. */
  inLine: boolean;
}

export function newJob(seq: number, message: OutgoingMessage, now: number): KeptJob {
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
    inLine: false,
  };
}

export function addReport({ reports }: KeptJob, report: AttemptReport): void {
  if (reports.push(report) > mostAttempts) reports.shift();
}

/** Expired jobs are dead letters too; cancelled ones are not. */
export function isDead(job: KeptJob): boolean {
  return job.reason !== null && job.reason !== 'cancelled';
}

/** Whether the job is done or was cancelled. A dead letter is not over: it may run again. */
export const isOver = (job: KeptJob): boolean => job.finishedAt !== null && !isDead(job);

function statusOf(job: KeptJob): JobStatus {
  switch (job.state) {
    case 'ready':
    case 'delayed':
      return job.attempt > 0 ? 'retrying' : 'pending';
    case 'leased':
      return 'processing';
    default:
      return job.state;
  }
}

export function recordOf(job: KeptJob): JobRecord {
  const { message } = job;
  const output = job.state === 'completed' ? job.reports.at(-1)?.output : null;
  return {
    id: message.id,
    queue: message.queue,
    job: message.job,
    tenantId: message.tenantId,
    status: statusOf(job),
    priority: message.priority,
    createdAt: job.createdAt,
    runAt: job.readyAt,
    finishedAt: job.finishedAt,
    ...factsFrom(message.facts, [...job.reports]),
    progress: job.progress,
    output: output == null ? null : JSON.parse(output),
    reason: job.reason,
    error: job.error,
  };
}

export function peekedOf({ message, readyAt, attempt }: KeptJob): PeekedMessage {
  const { id, queue, job, priority } = message;
  return { id, queue, job, priority, readyAt, attempt };
}

export function deadLetterOf({ message, reason, error, attempt, finishedAt }: KeptJob): DeadLetter {
  const { id, queue, job, body } = message;
  return { id, queue, job, body, reason: reason!, error: error ?? '', attempt, diedAt: finishedAt! };
}

/** Whether `a` is leased before `b` if both are ready. */
export function before(a: Pick<KeptJob, 'rank' | 'seq'>, b: Pick<KeptJob, 'rank' | 'seq'>): boolean {
  return a.rank !== b.rank ? a.rank < b.rank : a.seq < b.seq;
}

/** The order within the line of a group. */
export const byTurn = (a: KeptJob, b: KeptJob): number => a.place! - b.place! || a.seq - b.seq;

export const isWaiting = ({ state }: KeptJob): boolean => state === 'ready' || state === 'delayed';

/** `delayed` becomes `ready` at the next fetch, so listings compare with the time. */
export const isReady = ({ state, readyAt }: KeptJob, now: number): boolean =>
  state === 'ready' || (state === 'delayed' && readyAt <= now);

/** Jobs in the lines of their groups come after all others. */
function inOrder(a: KeptJob, b: KeptJob): number {
  if (a.inLine && b.inLine) return byTurn(a, b);
  return Number(a.inLine) - Number(b.inLine) || (before(a, b) ? -1 : 1);
}

/** The waiting jobs of a queue, in the order in which they are leased. */
export function waitingOf(queue: string, jobs: Iterable<KeptJob>, now: number): KeptJob[] {
  const waiting = [...jobs].filter((job) => job.message.queue === queue && isWaiting(job));
  const ready = waiting.filter((job) => isReady(job, now)).sort(inOrder);
  const delayed = waiting.filter((job) => !isReady(job, now)).sort((a, b) => a.readyAt - b.readyAt);
  return [...ready, ...delayed];
}
