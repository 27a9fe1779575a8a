/** `GET /jobs/:id/result`. Loaded with the first one. */

import { type ErrorCode, LongshoreError, shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import type { Job } from '../../kernel/app/job.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { Refusal } from './problem.ts';
import { recordFor, statusUrlOf } from './records.ts';

/** Ways for a wait to end that the record tells. */
const told: readonly ErrorCode[] = ['HANDLER', 'CANCELLED', 'EXPIRED', 'TIMEOUT', 'NOT_FOUND'];

export async function showResult(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  const timeoutMs = timeoutOf(endpoint, call.url);
  let record = await recordFor(endpoint, call, id);
  if (record.finishedAt === null && timeoutMs > 0) {
    const waiting = endpoint.client.result({ name: record.job } as Job, id, {
      timeoutMs,
      signal: call.request.signal,
    });
    await waiting.catch((error) => {
      if (call.request.signal.aborted) return; // nobody reads the answer any more
      if (!(error instanceof LongshoreError && told.includes(error.code)))
        throw backendError('reading', error);
    });
    record = await recordFor(endpoint, call, id);
  }
  const { status, output, reason, error } = record;
  if (record.finishedAt !== null) return { status: 200, body: { id, status, output, reason, error } };
  // Not 408 or 504, which clients and proxies take for a failure and repeat by themselves.
  const statusUrl = statusUrlOf(endpoint, id);
  return { status: 202, body: { id, status, statusUrl }, headers: { 'retry-after': '1' } };
}

function timeoutOf({ resultTimeoutMs }: Endpoint, { searchParams }: URL): number {
  const wrong = (expected: string, got: string) =>
    new Refusal(400, 'OPTION', `Expected ${expected}, got ${got}. Leave it out to look at once.`);
  const other = [...searchParams.keys()].find((name) => name !== 'timeoutMs');
  if (other !== undefined) throw wrong('only timeoutMs in the query', shown(other));
  const given = searchParams.getAll('timeoutMs');
  if (given.length === 0) return 0;
  const [text] = given;
  if (given.length === 1 && /^\d{1,9}$/.test(text!) && Number(text) <= resultTimeoutMs) return Number(text);
  throw wrong(
    `timeoutMs once in the query, an integer from 0 to ${resultTimeoutMs}`,
    given.length === 1 ? shown(text) : `${given.length} of it`,
  );
}
