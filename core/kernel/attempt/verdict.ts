/** How attempts end: what becomes of a job, decided from what happened to it. */

import { steadyNow } from '../../base/clock.ts';
import { LongshoreError, PermanentError, RetryAfterError, SnoozeError } from '../../base/errors.ts';
import { reportError } from '../../base/failure.ts';
import type { AbandonReason, AttemptReport } from '../../contract/outcome.ts';
import type { Ack } from '../../contract/queue.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { exponential, longestDelayMs } from '../app/retry.ts';
import type { Admitted, Attempt, AttemptResult, End, Verdict } from './attempt.ts';
import { abortReason } from './run.ts';

/** How long a message waits that cannot run here or now, but may soon. */
export const releaseDelayMs = 5_000;

export function rejected(reason: AbandonReason, error: unknown): Verdict {
  return { verb: 'abandon', outcome: 'rejected', reason, error };
}

export function release(delayMs: number, error: unknown): Verdict {
  return { verb: 'nack', outcome: 'requeued', delayMs, countAttempt: false, error };
}

/**
 * Whether another worker may run the job: it waited here without being renewed, or a step before the handler took longer than
 * the lease. `null`: it is still ours.
 */
export function lostLease({ app, run }: Attempt): Verdict | null {
  if (steadyNow(app.clock) < run.expiresAt) return null;
  return { verb: 'nothing', outcome: 'requeued', error: abortReason('lease-lost') };
}

/** The handler begins now. Throws where it must not any more: what stands before it took longer than the lease, or the run was told to end. */
export function mayBegin(it: Attempt): void {
  const { run } = it;
  if (lostLease(it)) run.end('lease-lost');
  if (run.cause) throw abortReason(run.cause);
  run.began = true;
}

export function crashLoop({ maxRetries }: Envelope): Verdict {
  const error = new LongshoreError(
    'CRASH_LOOP',
    `All ${maxRetries + 1} attempts began and none ended: they took their workers down or lost their leases. If this job ends its process (out of memory, process.exit), give it one of its own with isolate: 'process'.`,
  );
  return dead('crash-loop', error);
}

export function afterFailure(it: Admitted, error: unknown): Verdict {
  // Without any delay it would come back at once and for ever.
  if (error instanceof SnoozeError) return release(Math.max(1, Math.ceil(error.retryAfterMs)), error);
  if (error instanceof PermanentError) return dead('permanent', error);
  if (it.number > it.envelope.maxRetries) return dead('exhausted', error);
  const delayMs = error instanceof RetryAfterError ? error.retryAfterMs : policyDelay(it, error);
  return delayMs === null
    ? dead('exhausted', error)
    : { verb: 'nack', outcome: 'requeued', delayMs: Math.ceil(delayMs), countAttempt: true, error };
}

/** What the handler wrote could not be committed: nothing is settled, and the attempt has failed. Throws other errors. */
export function failedCommit(it: Attempt, error: unknown): Verdict {
  const isRefused = it.run.tx !== null && error instanceof LongshoreError && error.code === 'HANDLER';
  if (!isRefused) throw error;
  return afterFailure(it as Admitted, error);
}

/** A roll-out may be under way: a young message is released. */
export function unknownJob(
  { app, startedAt, envelope }: Pick<Attempt, 'app' | 'startedAt' | 'envelope'>,
  name: string,
): Verdict {
  const { schedule, issuedAt } = envelope!;
  const isYoung = startedAt - (schedule ?? issuedAt) < app.unknownJobGraceMs;
  const next = isYoung ? 'It is released: a newer worker may know it.' : 'Deploy the job, then retry it.';
  const error = new LongshoreError('UNKNOWN_JOB', `No job "${name}" is defined here. ${next}`);
  // Spread, because an idle worker looks every 5 s: in step with that it would always be the one that takes the message again.
  const delayMs = Math.round(releaseDelayMs * (0.5 + app.random()));
  return isYoung ? release(delayMs, error) : rejected('rejected', error);
}

/** A schema may ask a database: only its "no" is final. A fault of its own or of the payload store is a failed attempt. */
export function unfit(it: Admitted, error: unknown): Verdict {
  return error instanceof LongshoreError && error.code !== 'BACKEND' && error.code !== 'CONFIG'
    ? rejected('rejected', error)
    : afterFailure(it, error);
}

/** A job that was released or cancelled has not failed, whatever was thrown. */
export const isFailure = ({ error, counted, reason }: AttemptResult): boolean =>
  error !== null && counted && reason !== 'cancelled';

export function dead(reason: AbandonReason, error: unknown): Verdict {
  return { verb: 'abandon', outcome: 'dead-lettered', reason, error };
}

/** A policy is the user's code. One that throws, or returns no delay, must not lose the job or leave it unsettled. */
function policyDelay({ app, job, number }: Admitted, error: unknown): number | null {
  const failure = { attempt: number, error, random: app.random() };
  try {
    const delayMs = job.retry(failure);
    if (delayMs === null || (Number.isFinite(delayMs) && delayMs >= 0)) return delayMs;
  } catch {
    // As if it had returned no delay.
  }
  return fallback(failure);
}

const fallback = exponential();

export function endOf(it: Attempt, verdict: Verdict): End {
  const { app, number, startedAt, envelope, ports } = it;
  const isAck = verdict.verb === 'ack';
  // Members that may be missing are added after: to spread them costs more than all that is around it.
  const report: { -readonly [Name in keyof AttemptReport]: AttemptReport[Name] } = {
    attempt: number,
    startedAt,
    endedAt: app.clock.now(),
    outcome: verdict.outcome,
    error: isAck || verdict.error === null ? null : reportError(verdict.error),
    output: isAck ? verdict.output : null,
  };
  if (envelope) report.maxAttempts = envelope.maxRetries + 1;
  if (ports.by) {
    report.worker = ports.by.worker;
    report.host = ports.by.host;
  }
  return { verdict: withinReach(it, verdict), report };
}

/** What a handler or a policy asks for may be more than a store can hold, and would then never be settled. */
function withinReach({ ports }: Attempt, verdict: Verdict): Verdict {
  const mostMs = Math.min(longestDelayMs, ports.client.backend.limits.maxDelayMs ?? longestDelayMs);
  return verdict.verb === 'nack' && verdict.delayMs > mostMs ? { ...verdict, delayMs: mostMs } : verdict;
}

export function ackOf({ run, job }: Attempt, { report, complete }: End): Ack {
  const ack: { -readonly [Name in keyof Ack]: Ack[Name] } = { lease: run.lease, report };
  if (complete) ack.complete = complete;
  if (job?.keepPayload) ack.keepBody = true;
  if (job?.retention?.completedMs !== undefined) ack.keepMs = job.retention.completedMs;
  return ack;
}

/** How long the record of what is abandoned is kept, where its job says so. */
export function keptOf(
  { job }: Pick<Attempt, 'job'>,
  reason: AbandonReason | null,
): { readonly keepMs?: number } {
  const { completedMs, deadMs } = job?.retention ?? {};
  const keepMs = reason === null || reason === 'cancelled' ? completedMs : deadMs;
  return keepMs === undefined ? {} : { keepMs };
}

/** Nobody can run it again: it is done or cancelled, or its queue keeps no dead letter of it. A queue beside its store keeps one anyway. */
export const endsForGood = (it: Attempt, verdict: Verdict): boolean =>
  verdict.verb === 'ack' ||
  (verdict.verb === 'abandon' &&
    (verdict.reason === 'cancelled' ||
      (keptOf(it, verdict.reason).keepMs === 0 && !it.ports.client.stores.records.writer)));

export function resultOf(it: Attempt, { verdict, report }: End, settled: boolean): AttemptResult {
  const { run, job, number, startedAt, envelope } = it;
  const isFirst = number === 1 && envelope !== null && it.refusal === null;
  return {
    id: run.id,
    job: job?.name ?? null,
    outcome: verdict.outcome,
    settled,
    attempt: number,
    counted: verdict.verb !== 'nack' || verdict.countAttempt,
    durationMs: report.endedAt - startedAt,
    // Clocks of hosts differ: a job that ran before it was made has not waited.
    waitMs: isFirst ? Math.max(0, startedAt - (envelope.schedule ?? envelope.issuedAt)) : null,
    memoryBytes: run.memoryBytes,
    delayMs: verdict.verb === 'nack' ? verdict.delayMs : null,
    reason: verdict.verb === 'abandon' ? verdict.reason : null,
    error: report.error,
  };
}
