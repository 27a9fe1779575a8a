/** Tells a record store what happens to a job whose queue keeps no records itself. Never rejects: records only describe. */

import type { App } from '../app/app.ts';
import { LongshoreError } from '../base/errors.ts';
import { toError } from '../base/failure.ts';
import type { AttemptEnd, RecordedJob, RecordWriter } from '../contract/store.ts';
import type { Envelope } from '../envelope/envelope.ts';

/** The record's side of one attempt. */
export interface Recording {
  /** Answers whether somebody has cancelled the job meanwhile: then it has ended, and must not run. */
  started(envelope: Envelope, attempt: number, at: number): Promise<boolean>;
  /** The attempt before this one never reported its end, as far as the store knows. */
  readonly interrupted: boolean;
  settled(envelope: Envelope, end: AttemptEnd): Promise<void>;
}

/** @param owner the lease's token */
export function createRecording(app: App, writer: RecordWriter, owner: string): Recording {
  let begun = false;
  let interrupted = false;
  return {
    get interrupted() {
      return interrupted;
    },
    async started(envelope, attempt, at) {
      begun = true;
      const job = jobOf(envelope);
      const answer = await reportingFailures(app, 'recording a start', [job.id], () =>
        writer.started(job, { owner, attempt, at }),
      );
      begun = !answer?.cancelled;
      interrupted = answer?.interrupted === true;
      return !begun;
    },
    async settled(envelope, end) {
      // What was given back or cancelled before it began has left its record as it was.
      if (!begun && (end.reason === 'cancelled' || !end.counted)) return;
      const job = jobOf(envelope);
      await reportingFailures(app, 'recording an end', [job.id], () => writer.settled(job, owner, end));
    },
  };
}

function jobOf({ identifier, queue, job, context, priority, issuedAt, schedule }: Envelope): RecordedJob {
  const tenantId = context?.tenantId ?? null;
  return { id: identifier, queue, job, tenantId, priority, createdAt: issuedAt, runAt: schedule ?? issuedAt };
}

export async function reportingFailures<T>(
  app: App,
  during: string,
  ids: readonly string[],
  write: () => Promise<T>,
): Promise<T | null> {
  try {
    return await write();
  } catch (cause) {
    const message = `The record store failed while ${during}: ${toError(cause).message}`;
    const error = cause instanceof LongshoreError ? cause : new LongshoreError('BACKEND', message, { cause });
    app.events.emit({ type: 'store.failed', during, ids, error });
    return null;
  }
}
