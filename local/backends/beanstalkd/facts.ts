/**
 * A job of beanstalkd is a body and nothing beside it, and the body is the envelope. What lists have to say of a job, and the level
 * that it keeps when it goes back into line, is read from there. Nothing that decides whether it runs is.
 */

import { createHash } from 'node:crypto';
import type { Envelope } from '../../../core/envelope/envelope.ts';

export interface Facts {
  readonly id: string;
  readonly job: string;
  /** 0 (first) to 9 (last). */
  readonly priority: number;
}

const normal = 5;
const longestName = 128;

/** @param jobId names the job where its body does not */
export function factsOf(body: string, jobId: number): Facts {
  let parsed: Partial<Record<keyof Envelope, unknown>> | null = null;
  try {
    parsed = JSON.parse(body);
  } catch {
    // Whoever runs it will refuse it. Here it only needs a name.
  }
  const { identifier, job, priority } = parsed ?? {};
  const level = typeof priority === 'number' && priority >= 0 && priority <= 9 ? priority : normal;
  return { id: nameOf(identifier) || `beanstalkd-${jobId}`, job: nameOf(job), priority: level };
}

const nameOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, longestName) : '');

/** Tells jobs apart that have the same number: a server without a binlog begins to count anew. Of the body as text, as a lease has it. */
export const markOf = (body: string): string =>
  createHash('sha256').update(body).digest('base64url').slice(0, 16);
