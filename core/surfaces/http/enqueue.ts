/** `POST /jobs/:name` and `POST /jobs`: validates the body and enqueues its jobs. */

import { createHash } from 'node:crypto';
import { LongshoreError, shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import { type Priority, priorities } from '../../base/priority.ts';
import type { BackendLimits } from '../../contract/queue.ts';
import type { App } from '../../kernel/app/app.ts';
import type { Job } from '../../kernel/app/job.ts';
import type { EnqueueCall } from '../../kernel/app/middleware.ts';
import type { EnqueuedJob, EnqueueOptions } from '../../kernel/app/options.ts';
import { longestDelayMs } from '../../kernel/app/retry.ts';
import { homeOf } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import type { MaybeUnique } from '../../kernel/enqueue/draft.ts';
import { enqueued, enqueueEach } from '../../kernel/enqueue/enqueue.ts';
import type { Upload } from '../../kernel/enqueue/offload.ts';
import { prepare } from '../../kernel/enqueue/prepare.ts';
import type { SendingClient } from '../../kernel/enqueue/send.ts';
import type { RoutedClient } from '../../routing/client.ts';
import { readJson } from './body.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { problemOf, Refusal, refusalOf } from './problem.ts';

export async function enqueueOne(endpoint: Endpoint, call: Call, name: string): Promise<Answer> {
  const rules = rulesOf(endpoint, call, name);
  const options = optionsOfQuery(call.url, call.request, rules);
  const payload = await readJson(call.request, endpoint.maxBodyBytes);
  const kind = { job: name, queue: options.queue ?? rules.job.queue };
  const [result] = await sendEach(endpoint, call, kind, [{ job: rules.job, payload, options }]);
  if (result instanceof Refusal) throw result;
  const accepted = acceptedOf(endpoint, result!);
  return { status: 202, body: accepted, headers: { location: accepted.statusUrl } };
}

export async function enqueueMany(endpoint: Endpoint, call: Call): Promise<Answer> {
  if (call.url.search !== '' || call.request.headers.has('idempotency-key')) {
    const detail =
      'Expected no query and no Idempotency-Key for many jobs at once, got one. Put them into the "options" of each item.';
    throw new Refusal(400, 'OPTION', detail);
  }
  const items = await readJson(call.request, endpoint.maxBodyBytes);
  if (!Array.isArray(items) || items.length === 0) {
    const got = Array.isArray(items) ? 'an empty one' : shown(items);
    throw unfit(`a list of at least one { "job", "payload", "options" }, got ${got}`);
  }
  if (items.length > endpoint.maxBatch) {
    const detail = `Expected at most ${endpoint.maxBatch} jobs at once, got ${items.length}. Send them in several requests.`;
    throw new Refusal(413, 'LIMIT', detail);
  }
  endpoint.takeTokens(call.caller, items.length - 1); // the request itself has taken a token for the first job

  const kind = { job: null, queue: null };
  const read = items.map((item) => {
    try {
      return itemOf(endpoint, call, item);
    } catch (error) {
      return refusalOf(error);
    }
  });
  return answerOf(endpoint, await sendEach(endpoint, call, kind, read));
}

/** 202 if all jobs were accepted, 207 if some were, and an error status if none was, for callers that only read the status. */
function answerOf(endpoint: Endpoint, results: readonly (EnqueuedJob | Refusal)[]): Answer {
  const refused = results.filter((one) => one instanceof Refusal);
  const shownResults = results.map((one) =>
    one instanceof Refusal ? problemOf(one) : { status: 202, ...acceptedOf(endpoint, one) },
  );
  if (refused.length < results.length) {
    for (const refusal of refused) if (refusal.status >= 500) endpoint.report(refusal);
    return { status: refused.length === 0 ? 202 : 207, body: { results: shownResults } };
  }
  const { status, code, headers, cause } = refused[0]!;
  const same = refused.every((one) => one.status === status && one.code === code);
  const detail = `Expected at least one job that can be accepted, got ${results.length} that cannot. Each has its reason in "results".`;
  throw new Refusal(same ? status : 422, same ? code : 'REQUEST', detail, {
    ...(same && { headers, cause }),
    extra: { results: shownResults },
  });
}

interface Item {
  readonly job: Job;
  readonly payload: unknown;
  readonly options: Options;
}

function itemOf(endpoint: Endpoint, call: Call, item: unknown): Item {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    throw unfit(`an item { "job", "payload", "options" }, got ${shown(item)}`);
  }
  const { job, payload = null, options, ...others } = item as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw unfit(`only "job", "payload" and "options" in an item, got ${shown(unknown)}`);
  }
  if (typeof job !== 'string') throw unfit(`"job" of an item to be the name of a job, got ${shown(job)}`);
  const rules = rulesOf(endpoint, call, job);
  return { job: rules.job, payload, options: optionsOfItem(options, rules) };
}

/** A caller that is limited to some jobs does not learn whether other jobs exist. */
export function rulesOf({ client }: Endpoint, { caller }: Call, name: string): OptionRules {
  const { app } = client;
  if (caller.jobs && !caller.jobs.has(name)) {
    const detail = `Expected a job that this credential may enqueue, got ${shown(name)}. Ask for a credential with this job.`;
    throw new Refusal(403, 'FORBIDDEN', detail);
  }
  const job = app.jobs.get(name);
  if (!job) {
    const detail = `Expected the name of a job, got ${shown(name)}. GET /openapi.json lists them.`;
    throw new Refusal(404, 'UNKNOWN_JOB', detail);
  }
  const { limits } = (homeOf(client, job) ?? client).backend;
  return { app, limits, job, isBound: caller.jobs !== null };
}

/** Runs before the schema, because a recursive schema would overflow the stack on a deeply nested payload. */
export function assertFlat(payload: unknown): void {
  try {
    assertJson(payload, 'payload');
  } catch (error) {
    if (!(error instanceof LongshoreError) || error.code !== 'LIMIT') throw error;
    throw new Refusal(422, 'LIMIT', `${error.message} Send flatter data.`, { cause: error });
  }
}

async function messageOf(
  client: SendingClient,
  call: Call,
  { job, payload, options }: Item,
  uploads: Upload[] | null,
): Promise<MaybeUnique> {
  assertFlat(payload);
  const message = await prepare(client, { job, payload, options, uploads });
  // Comes last: a refused request must not use up its key.
  if (options.idempotencyKey !== undefined) {
    await refuseOtherPayload(client, call, job, options.idempotencyKey, payload);
  }
  return message;
}

/** Refuses a key that came before with another payload: the caller would get the output of the other job. */
async function refuseOtherPayload(
  { app, stores }: SendingClient,
  { caller }: Call,
  job: Job,
  idempotencyKey: string,
  payload: unknown,
): Promise<void> {
  const key = `request:${JSON.stringify([caller.tenantId, job.name, idempotencyKey])}`;
  const digest = createHash('sha256').update(JSON.stringify(payload)).digest('hex');
  // The payload's digest is the owner of the claim, so the same payload can claim the key again and another one cannot.
  const until = app.clock.now() + job.idempotencyKeepMs;
  const claim = await stores.keys.claim(key, digest, until).catch((cause) => {
    throw backendError('looking at the idempotency key', cause);
  });
  if (claim.state === 'claimed') return;
  throw unfit(
    'the payload that came first with this idempotency key, got another. Repeat that one, or use a new key',
  );
}

/** Sends each job to its backend, one call for each backend. Returns a job or a refusal for each. */
async function sendEach(
  { client }: Endpoint,
  call: Call,
  kind: Omit<EnqueueCall, 'backend' | 'count'>,
  items: readonly (Item | Refusal)[],
): Promise<(EnqueuedJob | Refusal)[]> {
  const results: (EnqueuedJob | Refusal)[] = [];
  const homes = new Map<string, { readonly home: SendingClient; readonly indexes: number[] }>();
  for (const [i, item] of items.entries()) {
    try {
      if (item instanceof Refusal) throw item;
      const { name, client: home } = await homeFor(client, item);
      if (!homes.has(name)) homes.set(name, { home, indexes: [] });
      homes.get(name)!.indexes.push(i);
    } catch (error) {
      results[i] = refusalOf(error);
    }
  }
  const sent = [...homes.values()].map(async ({ home, indexes }) => {
    const some = indexes.map((i) => items[i] as Item);
    const found = await sendTo(home, call, kind, some).catch((cause) => {
      const error = backendError('enqueueing', cause);
      if (homes.size === 1) throw error;
      return indexes.map(() => refusalOf(error));
    });
    for (const [n, i] of indexes.entries()) results[i] = found[n]!;
  });
  await Promise.all(sent);
  return results;
}

const homeFor = async (client: Client, { job, options }: Item) =>
  client.backends ? (client as RoutedClient).sending(job, options) : { name: '', client };

/** Sends like `client.enqueue`: large payloads go to the payload store, many jobs in slices. */
async function sendTo(
  home: SendingClient,
  call: Call,
  kind: Omit<EnqueueCall, 'backend' | 'count'>,
  items: readonly Item[],
): Promise<(EnqueuedJob | Refusal)[]> {
  const queues: string[] = [];
  const every = { ...kind, count: items.length };
  const results = await enqueueEach(home, every, call.context, async (i, uploads) => {
    try {
      const message = await messageOf(home, call, items[i]!, uploads);
      queues[i] = message.queue;
      return message;
    } catch (error) {
      throw refusalOf(error); // any error of a schema is the answer for this job only
    }
  });
  return Array.from(results, (result, i) => {
    if (result?.ok) return enqueued(result, queues[i]!);
    return refusalOf(result?.error ?? new LongshoreError('BACKEND', 'The backend gave no result.'));
  });
}

function acceptedOf({ basePath }: Endpoint, job: EnqueuedJob) {
  return { ...job, statusUrl: `${basePath}/jobs/${job.id}` };
}

function unfit(expected: string): Refusal {
  return new Refusal(422, 'REQUEST', `Expected ${expected}. GET /openapi.json describes the body.`);
}

/** Options of a job that a caller may set, in the query or in an item of a bulk request. */
const inQuery = ['delayMs', 'runAt', 'priority', 'queue', 'maxRetries'] as const;
const inItem = [...inQuery, 'idempotencyKey'] as const;

type Settable = (typeof inItem)[number];
type Options = Pick<EnqueueOptions, Settable>;
type Raw = Readonly<Record<string, unknown>>;

/** Limits the retries that a caller can ask for, so that a broken job does not run for ever. */
const mostRetries = 100;

interface OptionRules {
  readonly app: App;
  readonly limits: BackendLimits;
  readonly job: Job;
  /** Whether the caller is limited to some jobs. If so, messages do not list queue names. */
  readonly isBound: boolean;
}

function optionsOfQuery(url: URL, request: Request, rules: OptionRules): Options {
  const raw: Record<string, unknown> = Object.create(null); // otherwise "__proto__" would set the prototype
  for (const name of new Set(url.searchParams.keys())) {
    const values = url.searchParams.getAll(name);
    if (values.length > 1) throw wrong(`"${name}" once in the query`, `${values.length} of it`, 'Send one');
    // Converts plain numbers of the query. Any other text stays a text, and is refused where a number is expected.
    const [text = ''] = values;
    raw[name] =
      ['delayMs', 'maxRetries', 'priority'].includes(name) && /^\d{1,16}$/.test(text) ? Number(text) : text;
  }
  const options = readOptions(raw, inQuery, 'in the query', rules);
  const key = request.headers.get('idempotency-key');
  return key === null ? options : { ...options, idempotencyKey: keyOf(key, 'the header Idempotency-Key') };
}

function optionsOfItem(value: unknown, rules: OptionRules): Options {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrong('"options" to be an object', shown(value), 'Leave it out for the defaults');
  }
  return readOptions(value as Raw, inItem, 'in "options"', rules);
}

/** Options in a change of a waiting job. */
export const optionsOfChange = (raw: Raw, rules: OptionRules): Options =>
  readOptions(raw, ['delayMs', 'runAt', 'priority'], 'beside payload', rules);

function readOptions(raw: Raw, names: readonly Settable[], where: string, rules: OptionRules): Options {
  const unknown = Object.keys(raw).find((name) => !names.includes(name as Settable));
  if (unknown !== undefined) {
    throw wrong(`only ${names.join(', ')} ${where}`, shown(unknown), 'Remove it');
  }
  if (raw.delayMs !== undefined && raw.runAt !== undefined) {
    throw wrong(`either delayMs or runAt ${where}`, 'both', 'Remove one');
  }
  const options: { -readonly [K in Settable]?: Options[K] } = {};
  const { delayMs, runAt, priority, queue, maxRetries, idempotencyKey } = raw;
  if (delayMs !== undefined) options.delayMs = delayOf(delayMs, where, rules);
  if (runAt !== undefined) options.runAt = momentOf(runAt, where, rules);
  if (priority !== undefined) options.priority = priorityOf(priority, where);
  if (queue !== undefined) options.queue = queueOf(queue, where, rules);
  if (maxRetries !== undefined) {
    if (!isCount(maxRetries) || maxRetries > mostRetries) {
      const expected = `maxRetries ${where} to be an integer from 0 to ${mostRetries}`;
      throw wrong(expected, shown(maxRetries), 'Leave it out for what the job says');
    }
    options.maxRetries = maxRetries;
  }
  if (idempotencyKey !== undefined) options.idempotencyKey = keyOf(idempotencyKey, `idempotencyKey ${where}`);
  return options;
}

function delayOf(value: unknown, where: string, rules: OptionRules): number {
  const most = mostDelayMs(rules);
  if (isCount(value) && value <= most) return value;
  throw wrong(
    `delayMs ${where} to be an integer from 0 to ${most}`,
    shown(value),
    'Leave it out to run at once',
  );
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i;

/** `null` = it is no moment in the form of RFC 3339. */
export function readMoment(value: unknown): Date | null {
  const [, year, month, day] = (typeof value === 'string' && rfc3339.exec(value)) || [];
  const moment = new Date(String(value));
  // `new Date` reads February 30 as March 2.
  const exists = new Date(`${year}-${month}-${day}T00:00:00Z`).getUTCDate() === Number(day);
  return year === undefined || !exists || Number.isNaN(moment.getTime()) ? null : moment;
}

function momentOf(value: unknown, where: string, rules: OptionRules): Date {
  const moment = readMoment(value);
  if (moment === null) {
    const expected = `runAt ${where} to be a moment like 2026-01-31T12:00:00Z (RFC 3339)`;
    throw wrong(expected, shown(value), 'In a query a "+" of an offset is written %2B');
  }
  const most = mostDelayMs(rules);
  if (moment.getTime() - rules.app.clock.now() > most) {
    throw wrong(
      `runAt ${where} at most ${most} ms from now`,
      shown(value),
      'Use a schedule for what is further away',
    );
  }
  return moment;
}

const mostDelayMs = ({ limits }: OptionRules): number =>
  Math.min(longestDelayMs, limits.maxDelayMs ?? longestDelayMs);

function priorityOf(value: unknown, where: string): Priority {
  if (isCount(value) && value <= 9) return value;
  if (typeof value === 'string' && Object.hasOwn(priorities, value)) return value as keyof typeof priorities;
  const expected = `priority ${where} to be ${Object.keys(priorities).join(', ')} or an integer from 0 (first) to 9`;
  throw wrong(expected, shown(value), 'Leave it out for what the job says');
}

/** Accepts the app's queues only. In another queue the job would wait for ever, and its name would stay in the storage. */
function queueOf(value: unknown, where: string, { app, job, isBound }: OptionRules): string {
  const queues = app.queues.filter((queue) => app.accepts.get(queue)?.has(job.name) !== false);
  if (typeof value === 'string' && queues.includes(value)) return value;
  const named = isBound ? '' : ` (${queues.join(', ') || 'none'})`;
  const expected = `queue ${where} to be one that takes job "${job.name}"${named}`;
  throw wrong(expected, shown(value), 'Leave it out for what the job says');
}

const visible = /^[\x21-\x7e]{1,256}$/;

/** The key, plain or in the quotes of a structured header field. */
function keyOf(value: unknown, where: string): string {
  const key = typeof value === 'string' ? (/^"([^"\\]*)"$/.exec(value)?.[1] ?? value) : '';
  // Such a job would replace a scheduled run, which would then be skipped as a duplicate.
  if (key.startsWith('schedule:')) {
    throw wrong(
      `${where} not to begin with "schedule:", as the keys of schedules do`,
      shown(value),
      'Send a UUID, for example',
    );
  }
  if (visible.test(key)) return key;
  throw wrong(
    `${where} to have 1 to 256 visible ASCII characters and no space`,
    shown(value),
    'Send a UUID, for example',
  );
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function wrong(expected: string, got: string, remedy: string): Refusal {
  return new Refusal(400, 'OPTION', `Expected ${expected}, got ${got}. ${remedy}.`);
}
