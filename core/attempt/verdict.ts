/** How attempts end: what becomes of a job, decided from what happened to it. */

import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import { exponential } from '../app/retry.ts';
import { LongshoreError, PermanentError, RetryAfterError } from '../base/errors.ts';
import { reportError } from '../base/failure.ts';
import type { AbandonReason, AttemptReport } from '../contract/outcome.ts';
import type { Envelope } from '../envelope/envelope.ts';

/** How an attempt shall end; each kind maps to one settle verb. */
export type Verdict =
  | { readonly verb: 'ack'; readonly outcome: 'acked' | 'skipped-idempotent'; readonly output: string | null }
  | {
      readonly verb: 'nack';
      readonly outcome: 'requeued';
      readonly delayMs: number;
      readonly countAttempt: boolean;
      readonly error: unknown;
    }
  | {
      readonly verb: 'abandon';
      readonly outcome: 'dead-lettered' | 'rejected';
      readonly reason: AbandonReason;
      readonly error: unknown;
    }
  | { readonly verb: 'nothing'; readonly outcome: 'requeued'; readonly error: unknown };

/** How long a message waits that cannot run here or now, but may soon. */
export const releaseDelayMs = 5_000;

/** A message of our own that names a job this process does not know or does not take. */
export class UnknownJob extends LongshoreError {
  readonly envelope: Envelope;
  readonly young: boolean;
  constructor(message: string, envelope: Envelope, young: boolean) {
    super('UNKNOWN_JOB', message);
    this.envelope = envelope;
    this.young = young;
  }
}

export function refuse(error: LongshoreError): Verdict {
  if (error instanceof UnknownJob && error.young) return release(releaseDelayMs, error);
  return rejected('rejected', error);
}

export function rejected(reason: AbandonReason, error: unknown): Verdict {
  return { verb: 'abandon', outcome: 'rejected', reason, error };
}

export function release(delayMs: number, error: unknown): Verdict {
  return { verb: 'nack', outcome: 'requeued', delayMs, countAttempt: false, error };
}

export function crashLoop({ maxRetries }: Envelope): Verdict {
  const error = new LongshoreError(
    'CRASH_LOOP',
    `All ${maxRetries + 1} attempts began and none ended: they took their workers down or lost their leases.`,
  );
  return { verb: 'abandon', outcome: 'dead-lettered', reason: 'crash-loop', error };
}

/** @param number of the attempt that failed, 1 = first */
export function afterFailure(
  app: App,
  job: Job,
  envelope: Envelope,
  number: number,
  error: unknown,
): Verdict {
  const final = (reason: AbandonReason): Verdict => ({
    verb: 'abandon',
    outcome: 'dead-lettered',
    reason,
    error,
  });
  if (error instanceof PermanentError) return final('permanent');
  if (number > envelope.maxRetries) return final('exhausted');
  const delayMs =
    error instanceof RetryAfterError ? error.retryAfterMs : policyDelay(app, job, number, error);
  return delayMs === null
    ? final('exhausted')
    : { verb: 'nack', outcome: 'requeued', delayMs: Math.ceil(delayMs), countAttempt: true, error };
}

/** A policy is the user's code: one that throws or answers with no delay must neither lose the job nor unsettle it. */
function policyDelay(app: App, job: Job, number: number, error: unknown): number | null {
  const failure = { attempt: number, error, random: app.random() };
  try {
    const delayMs = job.retry(failure);
    if (delayMs === null || (Number.isFinite(delayMs) && delayMs >= 0)) return delayMs;
  } catch {
    // As for an answer that is no delay.
  }
  return fallback(failure);
}

const fallback = exponential();

export function reportOf(
  verdict: Verdict,
  attempt: number,
  startedAt: number,
  endedAt: number,
): AttemptReport {
  const acked = verdict.verb === 'ack';
  return {
    attempt,
    startedAt,
    endedAt,
    outcome: verdict.outcome,
    error: acked || verdict.error === null ? null : reportError(verdict.error),
    output: acked ? verdict.output : null,
  };
}
