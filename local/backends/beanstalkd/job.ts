/**
 * Reads the YAML of `stats-job`, `stats-tube` and `list-tubes`. It has one `name: value` per line, so it needs no parser. Other facts for
 * lists, and the priority for a release, come from the job's body, the envelope. Nothing that decides whether the job runs comes from there.
 */

import { createHash } from 'node:crypto';
import type { Envelope } from '../../../core/envelope/envelope.ts';

/** The server's statistics of one job. */
export interface JobStats {
  readonly tube: string;
  readonly state: 'ready' | 'delayed' | 'reserved' | 'buried';
  readonly pri: number;
  readonly ageSeconds: number;
  readonly ttrSeconds: number;
  /** Seconds until its reservation or its delay ends. */
  readonly leftSeconds: number;
  readonly reserves: number;
  /** Reservations that ended by themselves: the connection was lost, or the time was up. */
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

/** Parses digit by digit: each lease reads eight numbers, and substrings would be most of its garbage. */
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
 * A priority of beanstalkd has 32 bits; the smallest comes first, and among equals the oldest job. Longshore uses it as a rank: the second
 * in which a job becomes ready, plus `ageingMs` (an hour) per priority level.
 */
const secondMs = 1_000;
/** Ranks count seconds from this time, and last until 2156. */
const epochMs = Date.UTC(2020, 0, 1);
const largest = 2 ** 32 - 1;

const within = (n: number): number => Math.min(largest, Math.max(0, n));

export function rankOf(readyAtMs: number, level: number, ageingMs: number): number {
  return within(Math.floor((readyAtMs - epochMs + level * ageingMs) / secondMs));
}

/** When a job of this rank became ready; `null` = another program chose the priority. */
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

/** Parses the envelope without checks. Empty if the body is no envelope: the worker will reject the job. */
export function envelopeIn(body: string): Partial<Record<keyof Envelope, unknown>> {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}

/** @param jobId serves as the id if the body has none */
export function infoOf(body: string, jobId: number): JobInfo {
  const { identifier, job, priority } = envelopeIn(body);
  const level = typeof priority === 'number' && priority >= 0 && priority <= 9 ? priority : normal;
  return { id: nameOf(identifier) || `beanstalkd-${jobId}`, job: nameOf(job), priority: level };
}

const nameOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, longestName) : '');

/** Hash of a body. Tells apart jobs with the same number: a server without a binlog restarts from 1. */
export const markOf = (body: string): string =>
  createHash('sha256').update(body).digest('base64url').slice(0, 16);
