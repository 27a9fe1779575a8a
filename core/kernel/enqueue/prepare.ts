/** The checks between a call of `enqueue()` and a signed message. */

import { isDate } from 'node:util/types';
import { latestMs } from '../../base/clock.ts';
import { LongshoreError, shown } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import { hint } from '../../base/nearest.ts';
import { priorityOf } from '../../base/priority.ts';
import { faultOf } from '../../base/text.ts';
import type { BackendLimits, MessageHints, OutgoingMessage } from '../../contract/queue.ts';
import { contextMembers, type Envelope, type JobContext } from '../../envelope/envelope.ts';
import { messageFactsOf } from '../../envelope/facts.ts';
import { currentContext } from '../app/context.ts';
import type { Job } from '../app/job.ts';
import { checkKeys } from '../app/limit-keys.ts';
import type { EnqueueOptions } from '../app/options.ts';
import { validate } from '../app/schema.ts';
import { unsendable } from '../app/unsendable.ts';
import type { Client } from './client.ts';
import type { Draft, MaybeUnique } from './draft.ts';
import { partsOf } from './parts.ts';
import { queueOf } from './queue-of.ts';
import { sealed } from './seal.ts';
import { skewOf, type TimedClient } from './skew.ts';

/** Validates and signs a job. Asynchronous only if the job's schema is, or if the queue is asked for its time. */
export function prepare(client: TimedClient, draft: Draft): MaybeUnique | Promise<MaybeUnique> {
  const { job, payload, options } = draft;
  checkJob(client, job);
  const valid = checked(job, payload);
  if (job.unique || options.unique || options.debounce) return prepareUnique(client, draft, valid);
  const skewMs = skewOf(client, job, options);
  if (!(valid instanceof Promise) && typeof skewMs === 'number') return compose(client, draft, valid, skewMs);
  return Promise.all([valid, skewMs]).then(([value, ms]) => compose(client, draft, value, ms));
}

async function prepareUnique(client: TimedClient, draft: Draft, valid: unknown): Promise<MaybeUnique> {
  const value = await valid;
  return partsOf(client.app).uniqueness.ask(draft, value, async (timing, uploads, id) => {
    const options = { ...draft.options, ...timing };
    const skewMs = await skewOf(client, draft.job, options);
    return compose(client, { ...draft, options, uploads, id }, value, skewMs, false);
  });
}

export function checkJob({ app }: Pick<Client, 'app'>, job: Job): void {
  if (typeof job !== 'object' || job === null) {
    throw new LongshoreError('UNKNOWN_JOB', `Expected a job from defineJob(), got ${shown(job)}.`);
  }
  if (app.jobs.get(job.name) !== job) {
    throw new LongshoreError(
      'UNKNOWN_JOB',
      `Job "${job.name}" is not among the app's jobs. Add it to createApp({ jobs }).`,
    );
  }
}

/** The payload as the job's schema returns it. Throws `PAYLOAD`. */
export function checked(job: Job, payload: unknown): unknown | Promise<unknown> {
  try {
    // Checked before the schema, because a recursive schema would follow a cycle until the stack overflows.
    if (payload !== undefined) assertJson(payload, 'payload');
    const valid = validate(job.schema, payload, job.name);
    return valid instanceof Promise ? valid.catch((error) => refuse(job, error)) : valid;
  } catch (error) {
    return refuse(job, error);
  }
}

/** Rethrows. If no payload can ever fit the schema, the message says so: the caller cannot fix that. */
function refuse(job: Job, error: unknown): never {
  const isPayload = error instanceof LongshoreError && error.code === 'PAYLOAD';
  const why = isPayload ? unsendable(job) : null;
  if (!isPayload || why === null) throw error;
  const { message, issues } = error;
  throw new LongshoreError('PAYLOAD', `${message} ${why}`, { cause: error, ...(issues && { issues }) });
}

/** @param value the payload as the schema returned it */
function compose(
  client: Pick<Client, 'app' | 'backend'>,
  draft: Draft,
  value: unknown,
  skewMs: number,
  mayBeCopy: boolean = draft.id !== undefined,
): OutgoingMessage {
  const { job, payload, options, uploads, members } = draft;
  for (const name in options) if (!Object.hasOwn(optionNames, name)) throw unknownOption(name);
  const { app, backend } = client;
  const { limits } = backend;
  const now = app.clock.now();
  const issuedAt = now + skewMs;
  const id = draft.id ?? app.newId(now);
  const queue = queueOf(client, job, options);
  const schedule = scheduleOf(options, issuedAt, limits);
  const priority = options.priority === undefined ? job.priority : priorityOf(options.priority);
  const maxRetries = options.maxRetries ?? job.maxRetries;
  if (!Number.isSafeInteger(maxRetries) || maxRetries < 0) {
    throw wrongOption(`maxRetries to be an integer of 0 or more, got ${shown(maxRetries)}`);
  }
  const context = contextOf(options.context ?? currentContext());
  const rules = app.queueRules.get(queue);
  if (job.limits || rules?.limits) checkKeys(rules?.limits, job, value, context ?? {});
  const envelope: Envelope = {
    v: 1,
    job: job.name,
    // The input of the schema is sent, because its output may not be JSON, such as a date. The worker runs the schema again.
    // An undefined payload is left out, so the worker also sees `undefined`.
    payload,
    queue,
    priority,
    maxRetries,
    attempts: 0,
    name: labelOf(options),
    identifier: id,
    idempotencyKey: keyOf(job, value, options),
    schedule,
    issuedAt,
    expiresAt: job.expiresInMs === null ? null : (schedule ?? issuedAt) + job.expiresInMs,
    context,
    ...members,
  };
  const body = sealed(client, envelope, uploads);
  const group = groupOf(options);
  const order = group === null ? null : app.queueRules.get(queue)?.order;
  const facts = messageFactsOf(envelope);
  return {
    id,
    queue,
    job: job.name,
    body,
    priority,
    notBefore: schedule === null ? null : schedule - skewMs,
    group,
    tenantId: context?.tenantId ?? null,
    ...(order && { order }),
    ...(facts && { facts }),
    ...(app.ownIds && !mayBeCopy && { hints: isNew }),
  };
}

const optionNames = {
  delayMs: true,
  runAt: true,
  priority: true,
  queue: true,
  idempotencyKey: true,
  maxRetries: true,
  name: true,
  group: true,
  tx: true,
  context: true,
  unique: true,
  debounce: true,
} satisfies Record<Exclude<keyof EnqueueOptions, 'backend'>, true>;

/** For callers without type checks: a misspelled option must not go unnoticed. */
const unknownOption = (name: string): LongshoreError =>
  name === 'backend'
    ? wrongOption('no option backend, because this client has one backend. Give connect() several by name')
    : new LongshoreError(
        'OPTION',
        `enqueue() has no option ${shown(name)}.${hint(name, Object.keys(optionNames))}`,
      );

/** Shared by all messages. */
const isNew: MessageHints = Object.freeze({ isNew: true });

/** `null` = at once. */
export function scheduleOf(
  { delayMs, runAt }: Pick<EnqueueOptions, 'delayMs' | 'runAt'>,
  now: number,
  limits: BackendLimits,
): number | null {
  if (delayMs === undefined && runAt === undefined) return null;
  if (delayMs !== undefined && runAt !== undefined) throw wrongOption('either delayMs or runAt, got both');
  if (delayMs !== undefined && !(Number.isFinite(delayMs) && delayMs >= 0)) {
    throw wrongOption(`delayMs to be 0 or more, got ${shown(delayMs)}; leave it out to run at once`);
  }
  if (runAt !== undefined && !(isDate(runAt) && Number.isFinite(runAt.getTime()))) {
    throw wrongOption(`runAt to be a valid date, got ${shown(runAt)}`);
  }
  const at = delayMs !== undefined ? now + Math.ceil(delayMs) : runAt!.getTime();
  if (at > latestMs)
    throw wrongOption(`delayMs to end at a time that a Date can hold, got ${shown(delayMs)}`);
  if (at <= now) return null;
  if (limits.maxDelayMs !== null && at - now > limits.maxDelayMs) {
    throw new LongshoreError(
      'LIMIT',
      `Expected a delay of at most ${limits.maxDelayMs} ms, got ${at - now}.`,
    );
  }
  return at;
}

function labelOf({ name }: EnqueueOptions): string | null {
  if (name === undefined || name === null) return null;
  const fault = faultOf(name);
  if (fault !== null) throw wrongOption(`a name ${fault}`);
  return name;
}

export function groupOf(options: Pick<EnqueueOptions, 'group'>): string | null {
  const group = options.group ?? null;
  if (group === null) return null;
  const fault = faultOf(group);
  if (fault !== null) throw wrongOption(`a group ${fault}`);
  return group;
}

export function keyOf(
  job: Job,
  value: unknown,
  options: Pick<EnqueueOptions, 'idempotencyKey'>,
): string | null {
  const key = options.idempotencyKey ?? ownKey(job, value);
  const fault = key === null ? null : faultOf(key);
  if (fault !== null) throw wrongOption(`an idempotency key ${fault}`);
  return key;
}

function ownKey(job: Job, value: unknown): string | null {
  try {
    return job.keyOf?.(value) ?? null;
  } catch (cause) {
    throw new LongshoreError(
      'PAYLOAD',
      `idempotencyKey() of job "${job.name}" threw: ${toError(cause).message}`,
      {
        cause,
      },
    );
  }
}

function contextOf(context: JobContext | undefined): JobContext | null {
  if (!context) return null;
  const members = contextMembers.filter((name) => context[name] !== undefined);
  for (const name of members) {
    const fault = faultOf(context[name], 256, 0);
    if (fault !== null) throw wrongOption(`context.${name} to be a text ${fault}`);
  }
  return members.length === 0 ? null : Object.fromEntries(members.map((name) => [name, context[name]]));
}

export function wrongOption(expected: string): LongshoreError {
  return new LongshoreError('OPTION', `Expected ${expected}.`);
}
