/** The texts that Redis keeps of a job, as jobs.lua describes them, and what callers see. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { quoted } from '../../../core/base/json.ts';
import type { DeadLetter, PeekedMessage } from '../../../core/contract/admin.ts';
import type { AbandonReason, AttemptReport, JobStatus } from '../../../core/contract/outcome.ts';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import type { JobRecord } from '../../../core/contract/store.ts';
import type { MovedJob } from '../../move/contract.ts';

/** Sorts by arrival. Microseconds, so that processes agree about the order as far as their clocks do. */
let lastPlace = 0;
const placeLength = 11;
/** The first digits change every 1.7 s. */
const lowDigits = 4;
const lowEnd = 36 ** lowDigits;
let high = -1;
let highText = '';

/** 12 characters: in which order it came, and its priority. */
export function nextPlace(priority: number): string {
  lastPlace = Math.max(lastPlace + 1, Date.now() * 1000);
  const low = lastPlace % lowEnd;
  const first = (lastPlace - low) / lowEnd;
  if (first !== high) {
    high = first;
    highText = first.toString(36).padStart(placeLength - lowDigits, '0');
  }
  return highText + low.toString(36).padStart(lowDigits, '0') + priority;
}

/** What orders members of equal rank, of different queues too. */
export const orderOf = (member: string): string => member.slice(0, placeLength);
export const idOf = (member: string): string => member.slice(placeLength + 1);

export function jobText(
  { job, tenantId, body }: OutgoingMessage,
  place: string,
  createdAt: number,
  readyAt: number,
): string {
  const facts = tenantId === null ? `[${quoted(job)}]` : JSON.stringify([job, tenantId]);
  const times = readyAt === createdAt ? createdAt : `${createdAt} ${readyAt}`;
  return `${place} ${times}\n${facts}\n${body}`;
}

export function bodyOf(text: string): string {
  return text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1);
}

interface Before {
  /** Attempts that have begun. */
  readonly before: number;
  /** The last of them did not end. */
  readonly interrupted: boolean;
}

const noneBefore: Before = { before: 0, interrupted: false };

export function attemptOf(state: string | null | undefined): Before {
  if (!state) return noneBefore;
  const [before, interrupted] = state.slice(0, state.indexOf('\n')).split(' ');
  return { before: Number(before), interrupted: interrupted === '1' };
}

export const reportText = (report: AttemptReport | undefined): string =>
  report ? JSON.stringify(report) : '';

/** The answer of `facts` and `whole`: of the living also its text, state, place and score. */
export type Found = readonly [
  ended: string | null,
  text?: string | null,
  state?: string | null,
  place?: 'ready' | 'delayed' | 'leased',
  score?: string | null,
];

interface Whole extends JobRecord {
  readonly order: string;
  readonly body: string;
  readonly attempt: number;
}

export function wholeOf(queue: string, id: string, found: Found): Whole | null {
  const [ended, text, state, place, score] = found;
  try {
    if (text) return livingOf(queue, id, text, state ?? null, place!, score ?? null);
    return ended ? endedOf(queue, id, ended) : null;
  } catch (cause) {
    throw new LongshoreError(
      'CORRUPT',
      `What Redis keeps of job ${id} in queue "${queue}" cannot be read. Something else has written to its keys.`,
      { cause },
    );
  }
}

function livingOf(
  queue: string,
  id: string,
  text: string,
  state: string | null,
  place: string,
  score: string | null,
): Whole {
  const [head, progress, reports] = state ? lines(state, 3) : ['0 0 0 ', '', ''];
  const [attempts, , , readyAt] = head!.split(' ');
  const facts = factsOf(text);
  const before = Number(attempts);
  const leased = place === 'leased';
  const due = place === 'delayed' && score ? Number(score) : Number(readyAt || facts.readyAt);
  return {
    ...recordOf(queue, id, facts, progress!, reports!),
    status: leased ? 'processing' : before > 0 ? 'retrying' : 'pending',
    runAt: due,
    finishedAt: null,
    output: null,
    reason: null,
    error: null,
    attempt: before + (leased ? 1 : 0),
  };
}

function endedOf(queue: string, id: string, ended: string): Whole {
  const [head, error, progress, reports, text] = lines(ended, 5);
  const [code, finishedAt, attempt, readyAt, reason] = head!.split(' ');
  const facts = factsOf(text!);
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
    attempt: Number(attempt),
  };
}

interface Facts {
  readonly place: string;
  readonly createdAt: number;
  readonly readyAt: number;
  readonly job: string;
  readonly tenantId: string | null;
  readonly body: string;
}

function factsOf(text: string): Facts {
  const [head, names, body] = lines(text, 3);
  const [place, createdAt, readyAt = createdAt] = head!.split(' ');
  const [job, tenantId = null] = JSON.parse(names!) as [string, string?];
  return {
    place: place!,
    createdAt: Number(createdAt),
    readyAt: Number(readyAt),
    job,
    tenantId,
    body: body!,
  };
}

function recordOf(queue: string, id: string, facts: Facts, progress: string, reports: string) {
  const { place, createdAt, job, tenantId, body } = facts;
  return {
    id,
    queue,
    job,
    tenantId,
    priority: Number(place[placeLength]),
    createdAt,
    attempts: JSON.parse(`[${reports}]`) as AttemptReport[],
    progress: progress === '' ? null : JSON.parse(progress),
    order: orderOf(place),
    body,
  };
}

/** The last one is the rest, whatever it holds. */
export function lines(text: string, count: number): string[] {
  const parts: string[] = [];
  let from = 0;
  while (parts.length < count - 1) {
    const to = text.indexOf('\n', from);
    if (to < 0) break;
    parts.push(text.slice(from, to));
    from = to + 1;
  }
  parts.push(text.slice(from));
  return parts;
}

export function publicRecord({ order: _, body: __, attempt: ___, ...record }: Whole): JobRecord {
  return record;
}

/** `null` = nobody holds it any more. */
export function heldOf(queue: string, id: string, found: Found): MovedJob | null {
  const whole = wholeOf(queue, id, found);
  if (whole?.status !== 'processing') return null;
  const { job, tenantId, body, priority, createdAt, runAt, attempts: reports, progress } = whole;
  const { before, interrupted } = attemptOf(found[2]);
  return {
    message: { id, queue, job, body, priority, notBefore: runAt, group: null, tenantId },
    createdAt,
    attempts: before,
    interrupted,
    reports,
    progress,
    death: null,
  };
}

export function deadLetterOf({
  id,
  queue,
  job,
  reason,
  error,
  attempt,
  finishedAt,
  body,
}: Whole): DeadLetter {
  return { id, queue, job, reason: reason!, error: error ?? '', attempt, diedAt: finishedAt!, body };
}

export function peekedOf({ id, queue, job, priority, runAt, attempt }: Whole): PeekedMessage {
  return { id, queue, job, priority, readyAt: runAt, attempt };
}
