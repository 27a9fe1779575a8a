/** `/schedules`: those that were made at run time, of the caller's jobs and tenant. */

import { isName } from '../../base/checks.ts';
import { LongshoreError, shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import type { GuardedSchedules } from '../../features/schedules/stored/verbs.ts';
import type { StoredScheduleDefinition, StoredScheduleInfo } from '../../kernel/app/stored-schedule.ts';
import { iso } from '../../operations/shapes.ts';
import { readJson } from './body.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { openCursor, sealCursor } from './page-cursor.ts';
import { Refusal } from './problem.ts';

export async function listSchedules(endpoint: Endpoint, call: Call): Promise<Answer> {
  checkCaller(call);
  const { searchParams } = call.url;
  const unknown = [...searchParams.keys()].find((name) => name !== 'max' && name !== 'after');
  if (unknown !== undefined) throw wrong(`only max and after in the query, got ${shown(unknown)}. Remove it`);
  const max = searchParams.get('max') ?? '100';
  const after = searchParams.get('after');
  if (!/^\d{1,4}$/.test(max))
    throw wrong(`max in the query to be an integer from 1 to 1000, got ${shown(max)}`);
  const ring = endpoint.client.app.keyRing();
  const of = seesAll(call) ? null : JSON.stringify([call.caller.tenantId, [...(call.caller.jobs ?? [])]]);
  // One's own name does as well as a place.
  const from = after === null || of === null ? after : (openCursor(ring, of, after) ?? after);
  const page = { max: Number(max), ...(from !== null && { after: from }) };
  const { schedules, next } = await asked('listing schedules', () => endpoint.client.schedules.list(page));
  // A page may have fewer than `max`, and go on: those of others are left out.
  const mine = schedules.filter((one) => isMine(call, one)).map(viewOf);
  const place = next === null || of === null ? next : sealCursor(ring, of, next);
  return { status: 200, body: { schedules: mine, next: place } };
}

const seesAll = ({ caller }: Call): boolean => caller.tenantId === null && caller.jobs === null;

export async function showSchedule(endpoint: Endpoint, call: Call, name: string): Promise<Answer> {
  return { status: 200, body: viewOf(await mine(endpoint, call, name)) };
}

const members = ['job', 'payload', 'cron', 'everyMs', 'timezone', 'overlap', 'missed'];

export async function putSchedule(endpoint: Endpoint, call: Call, name: string): Promise<Answer> {
  checkCaller(call);
  const { app } = endpoint.client;
  const body = await readJson(call.request, endpoint.maxBodyBytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw unfit(`a schedule { "job", "payload", "cron" or "everyMs" }, got ${shown(body)}`);
  const unknown = Object.keys(body).find((member) => !members.includes(member));
  if (unknown !== undefined) throw unfit(`only ${members.join(', ')} in a schedule, got ${shown(unknown)}`);
  assertJson(body, 'schedule');
  const { job: jobName, ...definition } = body as Record<string, unknown>;
  if (typeof jobName !== 'string') throw unfit(`"job" to be the name of a job, got ${shown(jobName)}`);
  if (call.caller.jobs && !call.caller.jobs.has(jobName)) {
    const detail = `Expected a job that this credential may enqueue, got ${shown(jobName)}. Ask for a credential with this job.`;
    throw new Refusal(403, 'FORBIDDEN', detail);
  }
  const job = app.jobs.get(jobName);
  if (!job) {
    const detail = `Expected the name of a job, got ${shown(jobName)}. GET /openapi.json lists them.`;
    throw new Refusal(404, 'UNKNOWN_JOB', detail);
  }
  const { tenantId, actorId } = call.caller;
  const context = { ...(tenantId !== null && { tenantId }), ...(actorId !== null && { actorId }) };
  const said = Object.keys(context).length > 0 ? { context } : {};
  const all = { ...definition, name, job, ...said } as unknown as StoredScheduleDefinition<unknown>;
  // A name that somebody else has is not taken over, also when it was made a moment ago.
  let isThere = false;
  const over = (before: StoredScheduleInfo): void => {
    if (!isMine(call, before)) throw taken(name);
    isThere = true;
  };
  const { upsert } = endpoint.client.schedules as GuardedSchedules;
  const made = await asked('writing a schedule', () => upsert(all, over));
  return { status: isThere ? 200 : 201, body: viewOf(made) };
}

export async function removeSchedule(endpoint: Endpoint, call: Call, name: string): Promise<Answer> {
  await mine(endpoint, call, name);
  await asked('removing a schedule', () => endpoint.client.schedules.remove(name));
  return { status: 200, body: { name, removed: true } };
}

/** `POST /schedules/:name/pause`, `resume` and `run`. */
export const actOnSchedule =
  (verb: 'pause' | 'resume' | 'run') =>
  async (endpoint: Endpoint, call: Call, name: string): Promise<Answer> => {
    await mine(endpoint, call, name);
    const { schedules } = endpoint.client;
    if (verb === 'run') {
      const id = await asked('enqueueing', () => schedules.runNow(name));
      return { status: 202, body: { id, statusUrl: `${endpoint.basePath}/jobs/${id}` } };
    }
    const guard = (found: StoredScheduleInfo): void => checkMine(call, name, found);
    await asked('writing a schedule', () => (schedules as GuardedSchedules)[verb](name, guard));
    return { status: 200, body: viewOf(await mine(endpoint, call, name)) };
  };

/** Another's schedule, and one in code, is answered like one that does not exist. */
async function mine({ client }: Endpoint, call: Call, name: string): Promise<StoredScheduleInfo> {
  checkCaller(call);
  const found = isName(name) ? await asked('reading a schedule', () => client.schedules.get(name)) : null;
  checkMine(call, name, found);
  return found!;
}

function checkMine(call: Call, name: string, found: StoredScheduleInfo | null): void {
  if (found && isMine(call, found)) return;
  const detail = `Expected the name of a schedule that is yours, got ${shown(name)}. GET /schedules lists them.`;
  throw new Refusal(404, 'NOT_FOUND', detail);
}

function checkCaller({ caller }: Call): void {
  if (caller.schedules) return;
  const detail = 'Expected a credential that may make schedules, got another. Ask for one with "schedules".';
  throw new Refusal(403, 'FORBIDDEN', detail);
}

const isMine = ({ caller }: Call, { context, job }: StoredScheduleInfo): boolean =>
  (caller.tenantId === null || context?.tenantId === caller.tenantId) &&
  (caller.jobs === null || caller.jobs.has(job));

/** A failure of the store that is no answer to the caller becomes one of the backend. */
async function asked<T>(during: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (error instanceof LongshoreError && error.code === 'CONFIG')
      throw new Refusal(
        404,
        'NOT_FOUND',
        'Expected a path of this API, got /schedules, which this queue does not keep.',
      );
    // What a pattern or a zone lacks is said by others, who end no sentence.
    if (error instanceof LongshoreError && error.code === 'OPTION')
      throw new Refusal(400, 'OPTION', error.message.replace(/[^.]$/, '$&.'), { cause: error });
    if (error instanceof LongshoreError && error.code === 'CONFLICT')
      throw new Refusal(409, 'CONFLICT', error.message);
    throw error instanceof LongshoreError ? error : backendError(during, error);
  }
}

/** Times as RFC 3339, like everywhere in this API. */
function viewOf(info: StoredScheduleInfo): Record<string, unknown> {
  const { createdAt, changedAt, nextAt, pausedAt, failure, context, ...rest } = info;
  return {
    ...rest,
    tenantId: context?.tenantId ?? null,
    createdAt: iso(createdAt),
    changedAt: iso(changedAt),
    nextAt: nextAt === null ? null : iso(nextAt),
    pausedAt: pausedAt === null ? null : iso(pausedAt),
    failure: failure && { at: iso(failure.at), code: failure.code, message: failure.message },
  };
}

const wrong = (expected: string): Refusal => new Refusal(400, 'OPTION', `Expected ${expected}.`);

const unfit = (expected: string): Refusal => new Refusal(422, 'REQUEST', `Expected ${expected}.`);

const taken = (name: string): Refusal =>
  new Refusal(409, 'CONFLICT', `Expected a name that is free, got ${shown(name)}. Choose another.`);
