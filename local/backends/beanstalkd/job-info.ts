/**
 * A job of beanstalkd has a body and nothing beside it, and the body is the envelope. So what lists show of a job, and the
 * priority that it keeps when it is released, are read from there. Nothing that decides whether it runs is.
 */

import { createHash } from 'node:crypto';
import type { Envelope } from '../../../core/envelope/envelope.ts';

export interface JobInfo {
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
