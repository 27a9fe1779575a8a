/** The verbs of the laws about what is written, without a queue: late, twice or out of order, as a law needs it. */

import assert from 'node:assert/strict';
import type { Outcome } from '../../../core/base/events.ts';
import type { AbandonReason, AttemptReport } from '../../../core/contract/outcome.ts';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import type { JobRecord, RecordedJob, RecordWriter } from '../../../core/contract/store.ts';
import type { Kit } from './kit.ts';

export interface Recorder {
  readonly writer: RecordWriter;
  readonly job: RecordedJob;
  enqueued(): Promise<void>;
  /** Answers whether the job was cancelled. The owner is `lease <attempt>`, unless another is given. */
  started(attempt: number, at?: number, owner?: string): Promise<boolean>;
  settled(report: AttemptReport, rest?: EndOptions): Promise<void>;
  record(): Promise<JobRecord>;
}

export interface EndOptions {
  readonly owner?: string;
  readonly counted?: boolean;
  readonly runAt?: number;
  readonly reason?: AbandonReason;
  readonly error?: string;
  readonly keepMs?: number;
}

/** @param opening which opening of the storage is written to */
export function recorder(t: Kit, change: Partial<OutgoingMessage> = {}, opening = 0): Recorder {
  const { id, queue, job: name, tenantId, priority, notBefore } = t.message(change);
  const createdAt = t.now();
  const job = { id, queue, job: name, tenantId, priority, createdAt, runAt: notBefore ?? createdAt };
  return about(t, job, opening);
}

/** The same job, written over another opening. */
export function about(t: Kit, job: RecordedJob, opening: number): Recorder {
  const { records } = t.openings[opening % t.openings.length]!.stores!;
  assert.ok(records.writer, 'the store offers no write side');
  const { writer } = records;
  return {
    writer,
    job,
    enqueued: () => writer.enqueued([job]),
    async started(attempt, at = t.now(), owner = `lease ${attempt}`) {
      return (await writer.started(job, { owner, attempt, at })).cancelled;
    },
    settled: (report, { owner = `lease ${report.attempt}`, runAt, reason, ...rest } = {}) =>
      writer.settled(job, owner, {
        report,
        counted: true,
        runAt: runAt ?? null,
        reason: reason ?? null,
        error: null,
        ...rest,
      }),
    async record() {
      const record = await records.get(job.id);
      assert.ok(record, 'expected the job to have a record');
      return record;
    },
  };
}

/** The report of an attempt that started at `startedAt` and ends now. */
export function reportAt(
  t: Kit,
  attempt: number,
  startedAt: number,
  outcome: Outcome,
  rest: Partial<AttemptReport> = {},
): AttemptReport {
  return { attempt, startedAt, endedAt: t.now(), outcome, error: null, output: null, ...rest };
}

export const outcomesOf = ({ attempts }: JobRecord): string[] =>
  attempts.map(({ attempt, outcome }) => `${attempt} ${outcome}`);
