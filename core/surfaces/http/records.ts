/** `GET` and `DELETE /jobs/:id`. */

import { namePattern } from '../../base/checks.ts';
import { shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import type { AttemptReport } from '../../contract/outcome.ts';
import type { JobRecord } from '../../contract/store.ts';
import { iso } from '../../operations/shapes.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { Refusal } from './problem.ts';

export async function showJob(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  return { status: 200, body: viewOf(await recordFor(endpoint, call, id), endpoint.stacks) };
}

export async function cancelJob(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  await recordFor(endpoint, call, id);
  const status = await endpoint.client.cancel(id).catch((cause) => {
    throw backendError('cancelling', cause);
  });
  switch (status) {
    case 'cancelled':
      return { status: 200, body: { id, status } };
    case 'cancelling': // its worker will see the mark, and may finish first
      return { status: 202, body: { id, status } };
    case 'finished': {
      const detail = `Expected a job that waits or runs, got one that has ended. GET ${statusUrlOf(endpoint, id)} says how.`;
      throw new Refusal(409, 'CONFLICT', detail);
    }
    default:
      throw unknown(id);
  }
}

export const statusUrlOf = ({ basePath }: Endpoint, id: string): string => `${basePath}/jobs/${id}`;

/** Another's job is answered like one that does not exist: an id must not be worth guessing. */
export async function recordFor({ client }: Endpoint, { caller }: Call, id: string): Promise<JobRecord> {
  if (!namePattern.test(id)) throw unknown(id);
  const record = await client.status(id).catch((cause) => {
    throw backendError('reading', cause);
  });
  const mine =
    record !== null &&
    (caller.tenantId === null || record.tenantId === caller.tenantId) &&
    (caller.jobs === null || caller.jobs.has(record.job));
  if (!mine) throw unknown(id);
  return record;
}

function unknown(id: string): Refusal {
  const detail = `Expected the id of a job that is still kept and yours, got ${shown(id)}. Check it: it came with the 202.`;
  return new Refusal(404, 'NOT_FOUND', detail);
}

/** Times as RFC 3339, like everywhere in this API. */
function viewOf(record: JobRecord, stacks: boolean): Record<string, unknown> {
  const { createdAt, runAt, finishedAt, startedAt: _, progress, attempts, ...rest } = record;
  return {
    ...rest,
    createdAt: iso(createdAt),
    runAt: iso(runAt),
    finishedAt: finishedAt === null ? null : iso(finishedAt),
    progress: progress && { ...progress, at: iso(progress.at) },
    attempts: attempts.map((attempt) => attemptOf(attempt, stacks)),
  };
}

function attemptOf(report: AttemptReport, stacks: boolean): Record<string, unknown> {
  const { attempt, startedAt, endedAt, outcome, error } = report;
  const { stack, ...rest } = error ?? {};
  return {
    attempt,
    startedAt: iso(startedAt),
    endedAt: iso(endedAt),
    outcome,
    error: error && (stacks && stack !== undefined ? error : rest),
  };
}
