/** Decides how an attempt ends, from what happened to it. */

import { steadyNow } from '../../base/clock.ts';
import { LongshoreError, PermanentError, RetryAfterError, SnoozeError } from '../../base/errors.ts';
import { reportError } from '../../base/failure.ts';
import type { AbandonReason, AttemptReport } from '../../contract/outcome.ts';
import type { Ack } from '../../contract/queue.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { exponential, longestDelayMs } from '../app/retry.ts';
import type { Admitted, Attempt, AttemptResult, End, Verdict } from './attempt.ts';
import { abortReason } from './run.ts';

/** The delay of a job that cannot run here or now, but may run soon. */
export const releaseDelayMs = 5_000;

export function rejected(reason: AbandonReason, error: unknown): Verdict {
  return { verb: 'abandon', outcome: 'rejected', reason, error };
}

export function release(delayMs: number, error: unknown): Verdict {
  return { verb: 'nack', outcome: 'requeued', delayMs, countAttempt: false, error };
}

/**
 * The verdict if the lease has ended, because it was not renewed while the job waited or a step before the handler took too long:
 * another worker may run the job. `null` = the lease is still ours.
 */
export function lostLease({ app, run }: Attempt): Verdict | null {
  if (steadyNow(app.clock) < run.expiresAt) return null;
  return { verb: 'nothing', outcome: 'requeued', error: abortReason('lease-lost') };
}

/** Called just before the handler. Throws if it must not begin any more, because the lease has ended or the run was ended. */
export function mayBegin(it: Attempt): void {
  const { run } = it;
  if (lostLease(it)) run.end('lease-lost');
  if (run.cause) throw abortReason(run.cause);
  run.began = true;
}

export function crashLoop({ maxRetries }: Envelope): Verdict {
  const error = new LongshoreError(
    'CRASH_LOOP',
    `All ${maxRetries + 1} attempts began and none ended: each one's worker died or lost the lease. If this job ends its process (out of memory, process.exit), run it in a separate process with isolate: 'process'.`,
  );
  return dead('crash-loop', error);
}

export function afterFailure(it: Admitted, error: unknown): Verdict {
  // With no delay at all it would come back at once, again and again.
  if (error instanceof SnoozeError) return release(Math.max(1, Math.ceil(error.retryAfterMs)), error);
  if (error instanceof PermanentError) return dead('permanent', error);
  if (it.number > it.envelope.maxRetries) return dead('exhausted', error);
  const delayMs = error instanceof RetryAfterError ? error.retryAfterMs : policyDelay(it, error);
  return delayMs === null
    ? dead('exhausted', error)
    : { verb: 'nack', outcome: 'requeued', delayMs: Math.ceil(delayMs), countAttempt: true, error };
}

/** The verdict if the handler's writes could not be committed: the attempt has failed. Throws other errors. */
export function failedCommit(it: Attempt, error: unknown): Verdict {
  const isRefused = it.run.tx !== null && error instanceof LongshoreError && error.code === 'HANDLER';
  if (!isRefused) throw error;
  return afterFailure(it as Admitted, error);
}

/** Releases a young message, because a deployment may be under way, and rejects an old one. */
export function unknownJob(
  { app, startedAt, envelope }: Pick<Attempt, 'app' | 'startedAt' | 'envelope'>,
  name: string,
): Verdict {
  const { schedule, issuedAt } = envelope!;
  const isYoung = startedAt - (schedule ?? issuedAt) < app.unknownJobGraceMs;
  const next = isYoung ? 'It is released: a newer worker may know it.' : 'Deploy the job, then retry it.';
  const error = new LongshoreError('UNKNOWN_JOB', `No job "${name}" is defined here. ${next}`);
  // Random, because an idle worker fetches every 5 s: with a fixed delay the same worker would take the message each time.
  const delayMs = Math.round(releaseDelayMs * (0.5 + app.random()));
  return isYoung ? release(delayMs, error) : rejected('rejected', error);
}

/** Rejects a job whose payload is invalid. If the schema itself (it may ask a database) or the payload store fails, the attempt fails. */
export function unfit(it: Admitted, error: unknown): Verdict {
  return error instanceof LongshoreError && error.code !== 'BACKEND' && error.code !== 'CONFIG'
    ? rejected('rejected', error)
    : afterFailure(it, error);
}

/** A job that was released or cancelled has not failed, even if it threw. */
export const isFailure = ({ error, counted, reason }: AttemptResult): boolean =>
  error !== null && counted && reason !== 'cancelled';

export function dead(reason: AbandonReason, error: unknown): Verdict {
  return { verb: 'abandon', outcome: 'dead-lettered', reason, error };
}

/** A policy is user code. If it throws or returns an invalid delay, the default policy decides, so that the job is still settled. */
function policyDelay({ app, job, number }: Admitted, error: unknown): number | null {
  const failure = { attempt: number, error, random: app.random() };
  try {
    const delayMs = job.retry(failure);
    if (delayMs === null || (Number.isFinite(delayMs) && delayMs >= 0)) return delayMs;
  } catch {
    // Treated like an invalid delay.
  }
  return fallback(failure);
}

const fallback = exponential();

export function endOf(it: Attempt, verdict: Verdict): End {
  const { app, number, startedAt, envelope, ports } = it;
  const isAck = verdict.verb === 'ack';
  // Optional members are added afterwards, because spreading them costs more than the rest of this function.
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

/** Cuts a delay that is too long for the store, which would refuse to settle the job. */
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

/** How long the record of an abandoned job is kept, if its `retention` says so. */
export function keptOf(
  { job }: Pick<Attempt, 'job'>,
  reason: AbandonReason | null,
): { readonly keepMs?: number } {
  const { completedMs, deadMs } = job?.retention ?? {};
  const keepMs = reason === null || reason === 'cancelled' ? completedMs : deadMs;
  return keepMs === undefined ? {} : { keepMs };
}

/** Whether the job can never run again: it is done or cancelled, or no dead letter is kept. If the store is separate, the queue always keeps one. */
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
    // Clocks of hosts differ, so a job may seem to start before it was enqueued.
    waitMs: isFirst ? Math.max(0, startedAt - (envelope.schedule ?? envelope.issuedAt)) : null,
    memoryBytes: run.memoryBytes,
    delayMs: verdict.verb === 'nack' ? verdict.delayMs : null,
    reason: verdict.verb === 'abandon' ? verdict.reason : null,
    error: report.error,
  };
}
