/** What is told of an attempt: to the record, where the queue keeps none itself, and to whoever listens. */

import type { App } from '../app/app.ts';
import { LongshoreError } from '../base/errors.ts';
import { errorText } from '../base/failure.ts';
import type { AttemptReport } from '../contract/outcome.ts';
import type { Admitted, AttemptResult } from './attempt.ts';
import type { Recording } from './recording.ts';
import type { Run } from './run.ts';
import { UnknownJob, type Verdict } from './verdict.ts';

/** Only of what is this job's own message: a forged or copied one could else write over the record of the real one. */
export async function record(
  recording: Recording,
  admission: Admitted | LongshoreError,
  verdict: Verdict,
  report: AttemptReport,
): Promise<void> {
  if (admission instanceof LongshoreError && !(admission instanceof UnknownJob)) return;
  await recording.settled(admission.envelope, {
    report,
    counted: verdict.verb !== 'nack' || verdict.countAttempt,
    runAt: verdict.verb === 'nack' ? report.endedAt + verdict.delayMs : null,
    reason: verdict.verb === 'abandon' ? verdict.reason : null,
    error: verdict.verb === 'abandon' ? errorText(report.error) : null,
  });
}

export function announceEnd(
  app: App,
  run: Run,
  admitted: Admitted | null,
  result: AttemptResult,
  report: AttemptReport,
): void {
  app.events.emit({
    type: 'job.settled',
    ...facts(run, admitted, report.attempt),
    outcome: result.outcome,
    settled: result.settled,
    durationMs: report.endedAt - report.startedAt,
    delayMs: result.delayMs,
    reason: result.reason,
    error: report.error && errorText(report.error),
  });
}

export function announceStart(app: App, admitted: Admitted): void {
  app.events.emit({ type: 'job.started', ...facts(admitted.run, admitted, admitted.attempt) });
}

const facts = (run: Run, admitted: Admitted | null, number: number) => ({
  id: run.id ?? '',
  job: admitted?.job.name ?? '',
  queue: run.lease.queue,
  attempt: number,
  tenantId: admitted?.envelope.context?.tenantId ?? null,
});
