/** The record of an attempt, for queues that keep none themselves. Never fails an attempt: a record only describes it. */

import { steadyNow } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import { errorText, reportingFailures } from '../../base/failure.ts';
import type { AttemptEnd, RecordedJob, RecordWriter } from '../../contract/store.ts';
import { messageFactsOf } from '../../envelope/facts.ts';
import { answered } from '../../kernel/attempt/answered.ts';
import type { Attempt, End, Step } from '../../kernel/attempt/attempt.ts';
import { writeLater } from '../../kernel/attempt/late-ends.ts';
import { keptOf, rejected } from '../../kernel/attempt/verdict.ts';

/** Only for the job's own message: a forged or copied one could overwrite the record of the real job. */
const needsRecord = (it: Attempt): boolean => it.envelope !== null && writerOf(it) !== undefined;

const writerOf = ({ ports }: Attempt): RecordWriter | undefined => ports.client.stores.records.writer;

export const recorded = {
  for: needsRecord,

  async run(it, next) {
    const { app, run, number, startedAt, ports } = it;
    const job = jobOf(it);
    const start = { owner: run.lease.token, attempt: number, at: startedAt, ...ports.by };
    const answer = await reportingFailures(app.events, 'recording a start', [job.id], () =>
      answered(it, 'The record store', writerOf(it)!.started(job, start)),
    );
    run.recording = { begun: !answer?.cancelled, interrupted: answer?.interrupted === true };
    if (run.recording.begun) return next();
    const error = new LongshoreError('CANCELLED', 'The job was cancelled before this attempt began.');
    return rejected('cancelled', error);
  },

  /**
   * The record is written before the queue. If a worker dies between the two, a record that is ahead is corrected by the next attempt; one that
   * is behind would stay so. If the lease has ended by this host's clock, the queue comes first: the lease may just have been renewed, and only
   * a settlement that took effect is recorded.
   */
  async settle(it, end, next) {
    if (it.run.tx) return next(end);
    const write = writeOf(it, end);
    const isOurs = steadyNow(it.app.clock) < it.run.expiresAt;
    const isWritten = isOurs && (await written(it, write));
    if (isOurs && !isWritten && it.run.needsRecord) throw it.run.needsRecord;
    const settled = await next(end);
    if (settled && !isWritten && (isOurs || !(await written(it, write)))) later(it, write);
    return settled;
  },
} satisfies Step;

/** Writes the record after the transaction has committed. */
export const recordedAfterCommit = {
  for: (it: Attempt) => it.run.tx !== null && needsRecord(it),

  async settle(it, end, next) {
    const write = writeOf(it, end);
    const settled = await next(end);
    if (settled && !(await written(it, write))) later(it, write);
    return settled;
  },
} satisfies Step;

type Write = () => Promise<void>;

/** `null` = the record is correct. */
function writeOf(it: Attempt, { verdict, report }: End): Write | null {
  const { run } = it;
  const isCounted = verdict.verb !== 'nack' || verdict.countAttempt;
  const reason = verdict.verb === 'abandon' ? verdict.reason : null;
  // A job that was released or cancelled before it began has not changed its record.
  if (!run.recording?.begun && (reason === 'cancelled' || !isCounted)) return null;
  return settling(writerOf(it)!, jobOf(it), run.lease.token, {
    report,
    counted: isCounted,
    runAt: verdict.verb === 'nack' ? report.endedAt + verdict.delayMs : null,
    reason,
    error: verdict.verb === 'abandon' ? errorText(report.error) : null,
    ...(verdict.verb !== 'nack' && keptOf(it, reason)),
  });
}

/** A function, so that a write that waits for the store does not keep the attempt in memory. */
const settling =
  (writer: RecordWriter, job: RecordedJob, token: string, end: AttemptEnd): Write =>
  () =>
    writer.settled(job, token, end);

/** Resolves with whether the record is correct. */
async function written(it: Attempt, write: Write | null): Promise<boolean> {
  if (!write) return true;
  const { events } = it.app;
  const id = it.envelope!.identifier;
  const answer = () =>
    answered(
      it,
      'The record store',
      write().then(() => true),
    );
  return (await reportingFailures(events, 'recording an end', [id], answer)) !== null;
}

const later = ({ ports, envelope }: Attempt, write: Write | null): void => {
  if (write) writeLater(ports.client, { id: envelope!.identifier, write });
};

/** Also works for an unknown job. */
function jobOf({ envelope, job: known, run }: Pick<Attempt, 'envelope' | 'job' | 'run'>): RecordedJob {
  const { identifier: id, queue, job, context, priority, issuedAt: createdAt, schedule } = envelope!;
  const facts = messageFactsOf(envelope!);
  return {
    id,
    queue,
    job,
    tenantId: context?.tenantId ?? null,
    priority,
    createdAt,
    runAt: schedule ?? createdAt,
    ...(facts && { facts }),
    ...(known?.keepPayload && { body: run.lease.body }),
  };
}
