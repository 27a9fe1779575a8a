/** `PATCH /jobs/:id` and `GET /jobs/:id/result`, which take what HTTP alone knows. */

import { type ErrorCode, LongshoreError, shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import type { Job } from '../../kernel/app/job.ts';
import { jobs } from '../../operations/jobs.ts';
import { job, keeperOf, pendingJobs } from '../../operations/resources.ts';
import { readJson } from './body.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { assertFlat, rulesOf } from './enqueue.ts';
import { asked, checkSupport, mine, tooLate } from './operations.ts';
import { optionsOfChange } from './options.ts';
import { Refusal } from './problem.ts';

export async function changeJob(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  const record = await mine(endpoint, call, job, id);
  await checkSupport(endpoint, pendingJobs, id);
  const client = await keeperOf(endpoint.client, id);
  const rules = rulesOf(endpoint, call, record.job);
  const body = await readJson(call.request, endpoint.maxBodyBytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const detail = `Expected an object with payload, delayMs, runAt or priority, got ${shown(body)}. GET /openapi.json describes the body.`;
    throw new Refusal(422, 'REQUEST', detail);
  }
  const { payload, ...options } = body as Record<string, unknown>;
  const change = optionsOfChange(options, { ...rules, limits: client.backend.limits });
  const hasPayload = Object.hasOwn(body, 'payload');
  if (hasPayload) assertFlat(payload);
  if (!hasPayload && Object.keys(change).length === 0) {
    const detail =
      'Expected at least one of payload, delayMs, runAt and priority, got none. Send what shall change.';
    throw new Refusal(400, 'OPTION', detail);
  }
  const whole = { ...change, ...(hasPayload && { payload }) };
  if (await asked(job, () => client.update(rules.job, id, whole)))
    return { status: 200, body: { id, status: 'changed' } };
  throw tooLate(endpoint, 'jobs', jobs.update.nothing!, id);
}

/** Ways for a wait to end that the record tells. */
const told: readonly ErrorCode[] = ['HANDLER', 'CANCELLED', 'EXPIRED', 'TIMEOUT', 'NOT_FOUND'];

export async function showResult(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  const timeoutMs = timeoutOf(endpoint, call.url);
  let record = await mine(endpoint, call, job, id);
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
    record = await mine(endpoint, call, job, id);
  }
  const { status, output, reason, error } = record;
  if (record.finishedAt !== null) return { status: 200, body: { id, status, output, reason, error } };
  // Not 408 or 504, which clients and proxies take for a failure and repeat by themselves.
  const statusUrl = `${endpoint.basePath}/jobs/${id}`;
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
