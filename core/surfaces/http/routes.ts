/** The routing table, and the handlers that are not made from a record. Loaded with the first request that does not enqueue. */

import { crypto } from '../../base/crypto.ts';
import { type ErrorCode, LongshoreError, shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import type { KeyRing } from '../../envelope/signing.ts';
import type { GuardedSchedules } from '../../features/schedules/stored/verbs.ts';
import { emit } from '../../features/steps/emit.ts';
import type { EmitOptions } from '../../kernel/app/durable.ts';
import type { Job } from '../../kernel/app/job.ts';
import type { StoredScheduleDefinition, StoredScheduleInfo } from '../../kernel/app/stored-schedule.ts';
import { eachOf } from '../../kernel/enqueue/backends.ts';
import { jobs } from '../../operations/jobs.ts';
import { job, keeperOf, pendingJobs, schedule } from '../../operations/resources.ts';
import { readJson } from './body.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { assertFlat, enqueueMany, enqueueOne, optionsOfChange, rulesOf } from './enqueue.ts';
import { openApiOf } from './openapi.ts';
import {
  asked,
  checkCaller,
  checkSupport,
  isMine,
  mayUse,
  mine,
  type Run,
  routedOperations,
  runOf,
  tooLate,
  viewOf,
} from './operations.ts';
import { Refusal, refusalOf } from './problem.ts';

type Methods = Readonly<Record<string, Run>>;

/** Handlers of the operations with `byHand`, by `operationId`. */
export const byHand: Methods = { changeJob, getResult: showResult, listSchedules, putSchedule };

const showDocument: Run = async ({ client, basePath, metrics }, { caller }) => {
  const jobs = [...client.app.jobs.values()].filter(({ name }) => caller.jobs?.has(name) !== false);
  const has = {
    operations: routedOperations.filter(({ http }) => mayUse(caller, http.resource)),
    events: caller.events && [...caller.events],
    metrics: metrics !== null && caller.jobs === null && caller.tenantId === null,
  };
  return { status: 200, body: openApiOf(jobs, basePath, has) };
};

/** Metrics of all jobs, for callers that may see all of them. */
const showMetrics: Run = async ({ metrics }, { caller }) => {
  if (caller.tenantId !== null || caller.jobs !== null) {
    throw new Refusal(
      403,
      'FORBIDDEN',
      'Metrics cover all jobs, so they need a credential without a tenant and without "jobs". Make one for your monitoring.',
    );
  }
  return { status: 200, body: await metrics!.text(), contentType: metrics!.contentType };
};

/** Handlers by path and method. A path has at most one parameter. */
export const routes: Record<string, Methods> = {
  '/jobs': { POST: enqueueMany },
  '/jobs/{id}': { POST: enqueueOne },
  '/events/{event}': { POST: emitEvent },
  '/metrics': { GET: showMetrics },
  '/openapi.json': { GET: showDocument },
};
for (const operation of routedOperations) {
  const { method, operationId, path } = operation.http;
  routes[path] = { ...routes[path], [method]: byHand[operationId] ?? runOf(operation) };
}

const inOrder = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

const table = Object.entries(routes).map(([path, methods]) => ({
  path: new RegExp(`^${path.replace('.', '\\.').replace(/\{\w+\}/, '([^/]+)')}$`),
  methods,
}));

/** `null` = no such path. @param path without the base path */
export function match(path: string, method: string, hasMetrics: boolean) {
  for (const route of table) {
    if (route.methods.GET === showMetrics && !hasMetrics) continue;
    const found = route.path.exec(path);
    if (!found) continue;
    const { methods } = route;
    const named = inOrder.filter((name) => Object.hasOwn(methods, name === 'HEAD' ? 'GET' : name));
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    return { allow: [...named, 'OPTIONS'].join(', '), run, parameter: found[1] ?? '' };
  }
  return null;
}

/** Reads a body: an object with no other members than these. */
async function bodyOf(
  { maxBodyBytes }: Endpoint,
  request: Request,
  what: string,
  form: string,
  members: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const body = await readJson(request, maxBodyBytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw unfit(`${form}, got ${shown(body)}`);
  const unknown = Object.keys(body).find((member) => !members.includes(member));
  if (unknown !== undefined) throw unfit(`only ${members.join(', ')} in ${what}, got ${shown(unknown)}`);
  return body as Readonly<Record<string, unknown>>;
}

const eventMembers = ['payload', 'key', 'keepMs'];

async function emitEvent(endpoint: Endpoint, call: Call, event: string): Promise<Answer> {
  const { caller, request } = call;
  // The answer does not reveal whether a job waits for the event.
  if (caller.events !== null && !caller.events.has(event)) {
    const detail = `Expected an event that this credential may emit, got ${shown(event)}. Ask for a credential with this event.`;
    throw new Refusal(403, 'FORBIDDEN', detail);
  }
  const form = `an object with any of ${eventMembers.join(', ')}`;
  const body = await bodyOf(endpoint, request, 'an event', form, eventMembers);
  const { payload, ...options } = body as { payload?: unknown } & EmitOptions;
  if (payload !== undefined) assertFlat(payload);
  if (caller.tenantId !== null && options.keepMs !== undefined)
    throw unfit(
      'no keepMs from a credential that is bound to a tenant, because kept events reach all tenants. Leave it out',
    );
  const clients = eachOf(endpoint.client);
  if (!clients.some(({ stores }) => stores.steps)) {
    const detail = 'Expected a path of this API, got /events, because no store here keeps the steps of jobs.';
    throw new Refusal(404, 'NOT_FOUND', detail);
  }
  const reached = await emit(clients, event, payload, options, caller.tenantId).catch((cause) => {
    const refusal = refusalOf(cause);
    throw refusal.status < 500 ? refusal : backendError('emitting an event', cause);
  });
  return { status: 200, body: { event, reached } };
}

async function changeJob(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
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

/** Errors of `client.result` after which the record has the answer. */
const told: readonly ErrorCode[] = ['HANDLER', 'CANCELLED', 'EXPIRED', 'TIMEOUT', 'NOT_FOUND'];

async function showResult(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  const timeoutMs = timeoutOf(endpoint, call.url);
  let record = await mine(endpoint, call, job, id);
  if (record.finishedAt === null && timeoutMs > 0) {
    const waiting = endpoint.client.result({ name: record.job } as Job, id, {
      timeoutMs,
      signal: call.request.signal,
    });
    await waiting.catch((error) => {
      if (call.request.signal.aborted) return; // the caller has gone
      if (!(error instanceof LongshoreError && told.includes(error.code)))
        throw backendError('reading', error);
    });
    record = await mine(endpoint, call, job, id);
  }
  const { status, output, reason, error } = record;
  if (record.finishedAt !== null) return { status: 200, body: { id, status, output, reason, error } };
  // Not 408 or 504: clients and proxies treat those as failures and repeat the request.
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

async function listSchedules(endpoint: Endpoint, call: Call): Promise<Answer> {
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
  // `after` may also be the name of one of the caller's schedules.
  const from = after === null || of === null ? after : (openCursor(ring, of, after) ?? after);
  const page = { max: Number(max), ...(from !== null && { after: from }) };
  const { schedules, next } = await asked(schedule, () => endpoint.client.schedules.list(page));
  // Schedules of other callers are left out, so a page may have fewer than `max` entries and not be the last.
  const mine = schedules
    .filter((one) => isMine(call, schedule, one))
    .map((one) => viewOf(endpoint, schedule, one));
  const place = next === null || of === null ? next : sealCursor(ring, of, next);
  return { status: 200, body: { schedules: mine, next: place } };
}

const seesAll = ({ caller }: Call): boolean => caller.tenantId === null && caller.jobs === null;

const scheduleMembers = ['job', 'payload', 'cron', 'everyMs', 'timezone', 'overlap', 'missed'];

async function putSchedule(endpoint: Endpoint, call: Call, name: string): Promise<Answer> {
  checkCaller(call, schedule);
  const form = 'a schedule { "job", "payload", "cron" or "everyMs" }';
  const body = await bodyOf(endpoint, call.request, 'a schedule', form, scheduleMembers);
  assertJson(body, 'schedule');
  const { job: jobName, ...definition } = body;
  if (typeof jobName !== 'string') throw unfit(`"job" to be the name of a job, got ${shown(jobName)}`);
  const { job } = rulesOf(endpoint, call, jobName);
  const { tenantId, actorId } = call.caller;
  const context = { ...(tenantId !== null && { tenantId }), ...(actorId !== null && { actorId }) };
  const said = Object.keys(context).length > 0 ? { context } : {};
  const all = { ...definition, name, job, ...said } as unknown as StoredScheduleDefinition<unknown>;
  // Never overwrites a schedule of another caller, even if it was created a moment ago.
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

// Cursors are names that may belong to other callers. They are encrypted, so that the caller cannot read them.

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** @param of the caller: only the same caller can open the cursor */
function sealCursor(ring: KeyRing, of: string, name: string): string {
  const iv = crypto().randomBytes(ivBytes);
  const cipher = crypto().createCipheriv(algorithm, keyOf(ring, of), iv);
  const sealed = Buffer.concat([cipher.update(name, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** `null` = not a cursor, or sealed with a key that is no longer the signing key. */
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
