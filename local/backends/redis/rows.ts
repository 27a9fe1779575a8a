/** Reads and writes the texts of jobs in Redis. jobs.lua describes them. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { quoted } from '../../../core/base/json.ts';
import type { DeadLetter, DeadLetterSummary, PeekedMessage } from '../../../core/contract/admin.ts';
import type {
  AbandonReason,
  AttemptReport,
  JobStatus,
  MessageFacts,
} from '../../../core/contract/outcome.ts';
import type { Ack, GroupOrder, OutgoingMessage } from '../../../core/contract/queue.ts';
import type { JobRecord } from '../../../core/contract/store.ts';
import { factsFrom } from '../../../core/kit/records/facts.ts';
import type { MovedJob } from '../../move/contract.ts';
import type { RedisState } from './state.ts';
import { bodyFrom, storedBody } from './stored-body.ts';

export function jobText(
  message: OutgoingMessage,
  sortKey: string,
  createdAt: number,
  readyAt: number,
): string {
  const { job, tenantId, facts, group, order } = message;
  const rest = `${storedFactsOf(job, tenantId, facts)}\n${storedBody(message)}`;
  if (group !== null)
    return `${sortKey} ${createdAt} ${readyAt} ${orderLetter(order)}${quoted(group)}\n${rest}`;
  const times = readyAt === createdAt ? createdAt : `${createdAt} ${readyAt}`;
  return `${sortKey} ${times}\n${rest}`;
}

const orderLetter = (order: GroupOrder | undefined): string => (order ? order.charAt(0) : '-');
const orders: Readonly<Record<string, GroupOrder>> = { w: 'wait', s: 'step-aside' };

/** @param text the letter of the order, then the name as JSON; '' = no group */
function groupingIn(text: string): Pick<OutgoingMessage, 'group' | 'order'> {
  if (text === '') return { group: null };
  const order = orders[text.charAt(0)];
  return { group: JSON.parse(text.slice(1)), ...(order && { order }) };
}

/** The second line of the text of a job. */
export function storedFactsOf(job: string, tenantId: string | null, facts: MessageFacts | undefined): string {
  if (facts) return JSON.stringify([job, tenantId, facts]);
  return tenantId === null ? `[${quoted(job)}]` : JSON.stringify([job, tenantId]);
}

/** The id of the job that a token belongs to. */
export const leasedId = (token: string): string => token.slice(24);

/** @param text the text of a job, without the payload if only its size matters */
export function bodyOf(text: string, queue: string, id: string): string {
  const facts = text.indexOf('\n') + 1;
  const stored = text.slice(text.indexOf('\n', facts) + 1);
  return bodyFrom(stored, queue, id, text.slice(facts + 1, text.indexOf('"', facts + 2) + 1));
}

/** How many attempts have begun, and whether the last one was interrupted. */
export function attemptOf(state: string | null | undefined) {
  if (!state) return { before: 0, interrupted: false };
  const [before, interrupted] = state.slice(0, state.indexOf('\n')).split(' ');
  return { before: Number(before) || 0, interrupted: interrupted === '1' };
}

export const reportText = (report: AttemptReport | undefined): string =>
  report ? JSON.stringify(report) : '';

/** '' = the usual retention. */
export const msText = (keepMs: number | undefined): string =>
  keepMs === undefined ? '' : `${Math.ceil(keepMs)}`;

/**
 * The report of an ack. A `+` before it: the record keeps the body. `<ms>:` before that: the record has a retention of its own.
 *
 * @param usualMs retention of an ack that has none of its own; absent = the usual one
 */
export function ackedText({ report, keepBody, keepMs }: Ack, usualMs?: 0): string {
  const text = keepBody ? `+${reportText(report)}` : reportText(report);
  const ownMs = keepMs ?? usualMs;
  return ownMs === undefined ? text : `${msText(ownMs)}:${text}`;
}

/** One result of `facts` and `whole`. All members except the first and the last belong to a job that has not ended. */
export type Found = readonly [
  ended: string | null,
  text?: string | null,
  state?: string | null,
  where?: 'ready' | 'delayed' | 'lined' | 'leased' | null,
  score?: string | null,
  bytesLeftOut?: number | null,
];

export interface Whole extends JobRecord {
  readonly arrival: string;
  readonly messageFacts: MessageFacts | undefined;
  readonly grouping: Pick<OutgoingMessage, 'group' | 'order'>;
  readonly body: string;
  /** Size of the body of an ended job, even if the body was not read. */
  readonly bytes: number;
  readonly attempt: number;
}

export function wholeOf(queue: string, id: string, found: Found): Whole | null {
  const [ended, text] = found;
  try {
    if (text != null) return livingOf(queue, id, text, found);
    return ended == null ? null : endedOf(queue, id, ended, found[5] ?? 0);
  } catch (cause) {
    throw new LongshoreError(
      'CORRUPT',
      `Job ${id} in queue "${queue}" cannot be read from Redis: another program has written to its keys.`,
      { cause },
    );
  }
}

function livingOf(queue: string, id: string, text: string, [, , state, where, score]: Found): Whole {
  const [head, progress, reports] = state ? lines(state, 3) : ['0 0 0 ', '', ''];
  const [attempts, , , readyAt] = head!.split(' ');
  const facts = factsOf(queue, id, text);
  const before = Number(attempts);
  const leased = where === 'leased';
  const runAt = where === 'delayed' && score ? Number(score) : Number(readyAt || facts.readyAt);
  return {
    ...recordOf(queue, id, facts, progress!, reports!),
    status: leased ? 'processing' : before > 0 ? 'retrying' : 'pending',
    runAt,
    finishedAt: null,
    output: null,
    reason: null,
    error: null,
    bytes: 0,
    attempt: before + (leased ? 1 : 0),
  };
}

function endedOf(queue: string, id: string, ended: string, bytesLeftOut: number): Whole {
  const [head, error, progress, reports, text] = lines(ended, 5);
  const [code, finishedAt, attempt, readyAt, reason] = head!.split(' ');
  const facts = factsOf(queue, id, text!);
  const record = recordOf(queue, id, facts, progress!, reports!);
  const output = code === 'completed' ? record.attempts.at(-1)?.output : null;
  return {
    ...record,
    status: code as JobStatus,
    runAt: Number(readyAt || facts.readyAt),
    finishedAt: Number(finishedAt),
    output: output == null ? null : JSON.parse(output),
    reason: (reason || null) as AbandonReason | null,
    error: error === '' ? null : JSON.parse(error!),
    bytes: Buffer.byteLength(facts.body) + bytesLeftOut,
    attempt: Number(attempt),
  };
}

function factsOf(queue: string, id: string, text: string) {
  const [head, names] = lines(text, 3);
  const [sortKey, createdAt, readyAt = createdAt, ...grouping] = head!.split(' ');
  const [job, tenantId = null, messageFacts] = JSON.parse(names!) as [
    string,
    (string | null)?,
    MessageFacts?,
  ];
  return {
    sortKey: sortKey!,
    createdAt: Number(createdAt),
    readyAt: Number(readyAt),
    job,
    tenantId,
    messageFacts,
    grouping: groupingIn(grouping.join(' ')),
    body: bodyOf(text, queue, id),
  };
}

type Facts = ReturnType<typeof factsOf>;

function recordOf(queue: string, id: string, facts: Facts, progress: string, reports: string) {
  const { sortKey, createdAt, job, tenantId, messageFacts, grouping, body } = facts;
  return {
    id,
    queue,
    job,
    tenantId,
    priority: priorityOf(sortKey),
    createdAt,
    ...factsFrom(messageFacts, JSON.parse(`[${reports}]`) as AttemptReport[]),
    progress: progress === '' ? null : JSON.parse(progress),
    arrival: arrivalOf(sortKey),
    messageFacts,
    grouping,
    body,
  };
}

/** The first `count` lines, then the rest as one text. */
function lines(text: string, count: number): string[] {
  const all = text.split('\n');
  if (all.length < count) return all;
  return [...all.slice(0, count - 1), all.slice(count - 1).join('\n')];
}

export function publicRecord({
  arrival: _,
  messageFacts: __,
  grouping: ___,
  body: ____,
  bytes: _____,
  attempt: ______,
  ...record
}: Whole): JobRecord {
  return record;
}

/** `null` = the job is no longer held. */
export function heldOf(queue: string, id: string, found: Found): MovedJob | null {
  const whole = wholeOf(queue, id, found);
  if (whole?.status !== 'processing') return null;
  const {
    job,
    tenantId,
    messageFacts,
    grouping,
    body,
    priority,
    createdAt,
    runAt,
    attempts: reports,
    progress,
  } = whole;
  const { before, interrupted } = attemptOf(found[2]);
  return {
    message: {
      ...{ id, queue, job, body, priority, notBefore: runAt, tenantId },
      ...grouping,
      ...(messageFacts && { facts: messageFacts }),
    },
    createdAt,
    attempts: before,
    interrupted,
    reports,
    progress,
    death: null,
  };
}

function deadOf({ id, queue, job, reason, error, attempt, finishedAt }: Whole) {
  return { id, queue, job, reason: reason!, error: error ?? '', attempt, diedAt: finishedAt! };
}

export const deadLetterOf = (whole: Whole): DeadLetter => ({ ...deadOf(whole), body: whole.body });

export function summaryOf(whole: Whole): DeadLetterSummary {
  const { bytes, tenantId } = whole;
  return { ...deadOf(whole), bytes, tenantId };
}

export function peekedOf({ id, queue, job, priority, runAt, attempt }: Whole): PeekedMessage {
  return { id, queue, job, priority, readyAt: runAt, attempt };
}

/** A member of `ready` or `delayed` is a sort key and an id. Redis sorts members of equal rank as text, which is by arrival. */
const arrivalLength = 11;
/** The digits before them change every 1.7 s, and are cached as text. */
const lowDigits = 4;
const lowEnd = 36 ** lowDigits;

/** Microseconds, so that the order holds across processes as far as their clocks agree. */
let lastArrival = 0;
let high = -1;
let highText = '';

/** 12 characters: a counter of arrival, and the priority. */
export function nextSortKey(priority: number): string {
  lastArrival = Math.max(lastArrival + 1, Date.now() * 1000);
  const low = lastArrival % lowEnd;
  const first = (lastArrival - low) / lowEnd;
  if (first !== high) {
    high = first;
    highText = first.toString(36).padStart(arrivalLength - lowDigits, '0');
  }
  return highText + low.toString(36).padStart(lowDigits, '0') + priority;
}

/** Sorts members of equal rank, even of different queues. Also takes a sort key. */
export const arrivalOf = (member: string): string => member.slice(0, arrivalLength);
const priorityOf = (sortKey: string): number => Number(sortKey[arrivalLength]);
export const idOf = (member: string): string => member.slice(arrivalLength + 1);

/** Returns the jobs that can be read, and warns of the others. Bodies can be long, so only `whole` reads them. */
export async function readJobs(
  state: RedisState,
  queue: string,
  ids: readonly string[],
  what: 'facts' | 'whole' = 'facts',
): Promise<Whole[]> {
  if (ids.length === 0) return [];
  const found = (await state.manage('reading', queue, what, ids)) as Found[];
  const unreadable: string[] = [];
  const jobs = found.flatMap((one, i) => {
    try {
      return wholeOf(queue, ids[i]!, one) ?? [];
    } catch {
      unreadable.push(ids[i]!);
      return [];
    }
  });
  if (unreadable.length > 0) state.warnUnreadable(queue, unreadable);
  return jobs;
}
