/** The events of an attempt. */

import { errorText } from '../base/failure.ts';
import type { Attempt, AttemptResult, End } from './attempt.ts';

export function announceStart(it: Attempt): void {
  it.app.events.emit({ type: 'job.started', ...factsOf(it) });
}

export function announceEnd(it: Attempt, result: AttemptResult, { verdict, report }: End): void {
  it.app.events.emit({
    type: 'job.settled',
    ...factsOf(it),
    outcome: result.outcome,
    settled: result.settled,
    counted: result.counted,
    durationMs: result.durationMs,
    waitMs: result.waitMs,
    delayMs: result.delayMs,
    reason: result.reason,
    error: report.error && errorText(report.error),
    cause: verdict.verb === 'ack' ? null : verdict.error,
  });
}

/** What every event of an attempt says of it. */
export const factsOf = ({ run, job, number, envelope }: Attempt) => ({
  // Of a message that is not verified, what it says itself: the last, because its payload stands before it.
  id: run.id ?? /^.*,"identifier":"([\w.-]{1,128})"/s.exec(run.lease.body)?.[1] ?? '',
  job: job?.name ?? '',
  queue: run.lease.queue,
  attempt: number,
  // Of a job that is not known here nothing is said but its id.
  tenantId: (job && envelope?.context?.tenantId) ?? null,
  requestId: (job && envelope?.context?.requestId) ?? null,
  traceparent: (job && envelope?.context?.traceparent) ?? null,
});
