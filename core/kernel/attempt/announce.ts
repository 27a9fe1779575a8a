/** The events of an attempt. */

import type { JobFacts, LongshoreEvent } from '../../base/events.ts';
import { errorText } from '../../base/failure.ts';
import type { Attempt, AttemptResult, End } from './attempt.ts';
import { callHooks } from './failure-hooks.ts';

export function announceStart(it: Attempt): void {
  it.app.events.emit({ type: 'job.started', ...attemptFacts(it) });
}

export function announceEnd(it: Attempt, result: AttemptResult, end: End): void {
  const { events, failureHooks } = it.app;
  if (!events.active && !failureHooks) return;
  const facts = attemptFacts(it);
  if (events.active) events.emit(endEvent(facts, result, end, waitsOf(it)));
  if (failureHooks) callHooks(it, facts, result, end);
}

/** The slot, time or event that the job waits for, in words; `null` = nothing. */
const waitsOf = ({ run }: Attempt): string | null =>
  run.waitsFor ? `waits for ${run.waitsFor.key}` : (run.steps?.parked?.waits ?? null);

function endEvent(
  facts: JobFacts,
  result: AttemptResult,
  { verdict, report }: End,
  waits: string | null,
): LongshoreEvent {
  return {
    type: 'job.settled',
    ...facts,
    outcome: result.outcome,
    settled: result.settled,
    counted: result.counted,
    durationMs: result.durationMs,
    waitMs: result.waitMs,
    delayMs: result.delayMs,
    reason: result.reason,
    waits,
    error: report.error && errorText(report.error),
    cause: verdict.verb === 'ack' ? null : verdict.error,
  };
}

/** The members that every event of an attempt has. */
export const attemptFacts = ({ run, job, number, envelope }: Attempt): JobFacts => ({
  // An unverified message: the last "identifier" in its text, because its payload, which comes before, may contain others.
  id: run.id ?? /^.*,"identifier":"([\w.-]{1,128})"/s.exec(run.lease.body)?.[1] ?? '',
  job: job?.name ?? '',
  queue: run.lease.queue,
  attempt: number,
  // For an unknown job only the id is reported.
  tenantId: (job && envelope?.context?.tenantId) ?? null,
  actorId: (job && envelope?.context?.actorId) ?? null,
  requestId: (job && envelope?.context?.requestId) ?? null,
  traceparent: (job && envelope?.context?.traceparent) ?? null,
});
