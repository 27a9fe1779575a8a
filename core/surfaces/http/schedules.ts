/** `GET /schedules` and `PUT /schedules/:name`: of the caller's jobs and tenant. */

import { crypto } from '../../base/crypto.ts';
import { shown } from '../../base/errors.ts';
import { assertJson } from '../../base/json.ts';
import type { KeyRing } from '../../envelope/signing.ts';
import type { GuardedSchedules } from '../../features/schedules/stored/verbs.ts';
import type { StoredScheduleDefinition, StoredScheduleInfo } from '../../kernel/app/stored-schedule.ts';
import { schedule } from '../../operations/resources.ts';
import { readJson } from './body.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { asked, checkCaller, isMine, viewOf } from './operations.ts';
import { Refusal } from './problem.ts';

export async function listSchedules(endpoint: Endpoint, call: Call): Promise<Answer> {
  checkCaller(call, schedule);
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
  const { schedules, next } = await asked(schedule, () => endpoint.client.schedules.list(page));
  // A page may have fewer than `max`, and go on: those of others are left out.
  const mine = schedules
    .filter((one) => isMine(call, schedule, one))
    .map((one) => viewOf(endpoint, schedule, one));
  const place = next === null || of === null ? next : sealCursor(ring, of, next);
  return { status: 200, body: { schedules: mine, next: place } };
}

const seesAll = ({ caller }: Call): boolean => caller.tenantId === null && caller.jobs === null;

const members = ['job', 'payload', 'cron', 'everyMs', 'timezone', 'overlap', 'missed'];

export async function putSchedule(endpoint: Endpoint, call: Call, name: string): Promise<Answer> {
  checkCaller(call, schedule);
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
    if (!isMine(call, schedule, before)) throw taken(name);
    isThere = true;
  };
  const { upsert } = endpoint.client.schedules as GuardedSchedules;
  const made = await asked(schedule, () => upsert(all, over));
  return { status: isThere ? 200 : 201, body: viewOf(endpoint, schedule, made) };
}

const wrong = (expected: string): Refusal => new Refusal(400, 'OPTION', `Expected ${expected}.`);

const unfit = (expected: string): Refusal => new Refusal(422, 'REQUEST', `Expected ${expected}.`);

const taken = (name: string): Refusal =>
  new Refusal(409, 'CONFLICT', `Expected a name that is free, got ${shown(name)}. Choose another.`);

// Places in a list that has rows of others, too: a caller goes on from there, and does not read whose row is there.

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** @param of whom it is for: for another it opens nothing */
function sealCursor(ring: KeyRing, of: string, name: string): string {
  const iv = crypto().randomBytes(ivBytes);
  const cipher = crypto().createCipheriv(algorithm, keyOf(ring, of), iv);
  const sealed = Buffer.concat([cipher.update(name, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** `null` = it is none, or was made by a key that does not sign any more. */
function openCursor(ring: KeyRing, of: string, place: string): string | null {
  const bytes = Buffer.from(place, 'base64url');
  try {
    const decipher = crypto().createDecipheriv(algorithm, keyOf(ring, of), bytes.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    const opened = decipher.update(bytes.subarray(ivBytes + tagBytes));
    return Buffer.concat([opened, decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}

const keyOf = (ring: KeyRing, of: string): Buffer =>
  Buffer.from(ring.sign(`longshore place in a list for ${JSON.stringify(of)}`), 'hex');
