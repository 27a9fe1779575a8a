/**
 * What beanstalkd tells of jobs and tubes, in the YAML of `stats-job`, `stats-tube` and `list-tubes`: one `name: value` per line, so simple
 * that it needs no parser. What else lists show of a job, and the priority that it keeps when it is released, are read from its body, which is
 * the envelope. Nothing that decides whether it runs is.
 */

import { createHash } from 'node:crypto';
import type { Envelope } from '../../../core/envelope/envelope.ts';

/** What a server counts of one job. */
export interface JobStats {
  readonly tube: string;
  readonly state: 'ready' | 'delayed' | 'reserved' | 'buried';
  readonly pri: number;
  readonly ageSeconds: number;
  readonly ttrSeconds: number;
  /** Until its lease ends, or its delay. */
  readonly leftSeconds: number;
  readonly reserves: number;
  /** How many reservations their worker did not end: its connection was lost, or its time was up. */
  readonly losses: number;
}

export function jobStatsOf(text: string): JobStats {
  const state = wordIn(text, '\nstate: ') as JobStats['state'];
  const reserves = numberIn(text, '\nreserves: ');
  const ended = reserves - (state === 'reserved' ? 1 : 0);
  return {
    tube: wordIn(text, '\ntube: '),
    state,
    pri: numberIn(text, '\npri: '),
    ageSeconds: numberIn(text, '\nage: '),
    ttrSeconds: numberIn(text, '\nttr: '),
    leftSeconds: numberIn(text, '\ntime-left: '),
    reserves,
    losses: Math.max(0, ended - numberIn(text, '\nreleases: ') - numberIn(text, '\nburies: ')),
  };
}

export interface TubeStats {
  readonly ready: number;
  readonly delayed: number;
  readonly reserved: number;
  readonly buried: number;
  readonly paused: boolean;
}

export function tubeStatsOf(text: string): TubeStats {
  return {
    ready: numberIn(text, '\ncurrent-jobs-ready: '),
    delayed: numberIn(text, '\ncurrent-jobs-delayed: '),
    reserved: numberIn(text, '\ncurrent-jobs-reserved: '),
    buried: numberIn(text, '\ncurrent-jobs-buried: '),
    paused: numberIn(text, '\npause-time-left: ') > 0,
  };
}

export function tubesOf(text: string): string[] {
  const lines = text.split('\n');
  return lines.filter((line) => line.startsWith('- ')).map((line) => line.slice(2));
}

/** The server quotes names that YAML would read as something else. */
function wordIn(text: string, name: string): string {
  const start = text.indexOf(name);
  if (start < 0) return '';
  const from = start + name.length;
  const end = text.indexOf('\n', from);
  const word = text.slice(from, end < 0 ? text.length : end);
  return word.startsWith('"') ? word.slice(1, -1) : word;
}

/** Digit by digit: each lease reads eight numbers, and texts made of them would be most of its garbage. */
function numberIn(text: string, name: string): number {
  const start = text.indexOf(name);
  let number = 0;
  if (start < 0) return number;
  for (let at = start + name.length; ; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (!(digit >= 0 && digit <= 9)) return number;
    number = number * 10 + digit;
  }
}

/**
 * beanstalkd's priority has 32 bits, the smallest comes first, and among equals the oldest. Longshore uses it as a rank: the second in which a
 * job becomes ready, an hour later per priority level.
 */
const secondMs = 1_000;
/** Ranks count seconds from here, and last until 2156. */
const epochMs = Date.UTC(2020, 0, 1);
const largest = 2 ** 32 - 1;

const within = (n: number): number => Math.min(largest, Math.max(0, n));

export function rankOf(readyAtMs: number, level: number, ageingMs: number): number {
  return within(Math.floor((readyAtMs - epochMs + level * ageingMs) / secondMs));
}

/** When a job of this rank became ready; `null` for a number that another program has chosen. */
export function readyAtOf(rank: number, level: number, ageingMs: number): number | null {
  const readyAtMs = epochMs + rank * secondMs - level * ageingMs;
  return readyAtMs > epochMs ? readyAtMs : null;
}

/** Rounded up, so that no job is early. */
export const secondsOf = (ms: number): number => within(Math.ceil(ms / secondMs));

interface JobInfo {
  readonly id: string;
  readonly job: string;
  /** 0 (first) to 9 (last). */
  readonly priority: number;
}

const normal = 5;
const longestName = 128;

/** Unchecked. Empty for a body that is no envelope: the worker that runs it rejects it. */
export function envelopeIn(body: string): Partial<Record<keyof Envelope, unknown>> {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}

/** @param jobId names the job where its body does not */
export function infoOf(body: string, jobId: number): JobInfo {
  const { identifier, job, priority } = envelopeIn(body);
  const level = typeof priority === 'number' && priority >= 0 && priority <= 9 ? priority : normal;
  return { id: nameOf(identifier) || `beanstalkd-${jobId}`, job: nameOf(job), priority: level };
}

const nameOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, longestName) : '');

/** Of the body as a lease has it. Tells apart jobs with the same number: a server without a binlog starts from 1 again. */
export const markOf = (body: string): string =>
  createHash('sha256').update(body).digest('base64url').slice(0, 16);
