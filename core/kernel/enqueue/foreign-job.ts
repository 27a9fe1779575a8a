/** Turns a message of another program into a job, as a rule says. */

import { createHash } from 'node:crypto';
import { within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import type { ForeignJob, ForeignMessage } from '../../contract/foreign.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { writeEnvelope } from '../../envelope/write-envelope.ts';
import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import { validate } from '../app/schema.ts';
import { keyOf } from './prepare.ts';

const longestReason = 300;
/** How long the job's schema may take: later messages wait for it, too. */
const longestMs = 30_000;

export interface ForeignRule<Body, Input> {
  /** The kind of messages, or a function that returns the sender of a message; `null` = the message is of another kind. */
  readonly from: 's3' | 'sns' | 'eventbridge' | ((body: unknown) => string | null);
  /** The allowed senders: ARNs of buckets (`s3`) or topics (`sns`), sources of events (`eventbridge`), or results of `from`. */
  readonly senders: readonly string[];
  readonly job: Job<Input>;
  /** Returns the payload, which the job's schema checks. If it throws, the message becomes a dead letter with that error. */
  readonly map: (body: Body) => Input;
}

/** Returns all senders that a message names; none = the message is of another kind. */
export type SendersOf = (body: unknown) => readonly unknown[];

/** `null` = the rule does not apply. An error = the message is refused. Rejects if the schema itself fails (a database is away) or takes more than 30 s. */
export async function foreignJob<Body, Input>(
  app: App,
  rule: ForeignRule<Body, Input>,
  sendersOf: SendersOf,
  message: ForeignMessage,
): Promise<ForeignJob | LongshoreError | null> {
  const { queue, messageId, body } = message;
  const job = rule.job as Job;
  const { name, priority, maxRetries, expiresInMs } = job;
  const event = isSigned.test(body.slice(-75)) ? null : eventOf(rule, sendersOf, body);
  if (!event) return null;
  let payload: Input;
  let idempotencyKey: string | null;
  try {
    payload = rule.map(event.body);
    assertJson(payload, 'payload');
  } catch (cause) {
    return refusalOf(message, job, cause);
  }
  const value = job.keyOf ? await validOf(app, job, payload) : null;
  try {
    idempotencyKey = value && keyOf(job, value.valid, {});
  } catch (cause) {
    return refusalOf(message, job, cause);
  }
  const now = app.clock.now();
  const issuedAt = Math.min(message.sentAt ?? now, now); // the clocks of two hosts
  const digest = createHash('sha256').update(`${queue}/${messageId}`).digest('hex');
  const id = `foreign-${digest.slice(0, 32)}`;
  const envelope: Envelope = {
    v: 1,
    job: name,
    payload,
    queue,
    priority,
    maxRetries,
    attempts: 0,
    name: null,
    identifier: id,
    idempotencyKey,
    schedule: null,
    issuedAt,
    expiresAt: expiresInMs === null ? null : issuedAt + expiresInMs,
    context: null,
  };
  return { id, job: name, body: writeEnvelope(envelope, app.keyRing()) };
}

/** Cuts the message of the error, because it may quote the whole message. */
function refusalOf({ queue }: ForeignMessage, { name }: Job, cause: unknown): LongshoreError {
  const { message } = toError(cause);
  const why = message.length > longestReason ? `${message.slice(0, longestReason)}…` : message;
  return new LongshoreError(
    'PAYLOAD',
    `The rule of queue "${queue}" made no job "${name}" of this message: ${why}`,
  );
}

/** `null` = the payload is invalid: the attempt will refuse it. */
async function validOf(
  { clock }: App,
  job: Job,
  payload: unknown,
): Promise<{ readonly valid: unknown } | null> {
  const late = (): never => {
    throw new LongshoreError(
      'BACKEND',
      `The schema of job "${job.name}" gave no answer for ${longestMs} ms.`,
    );
  };
  try {
    const valid = validate(job.schema, payload, job.name);
    return { valid: valid instanceof Promise ? await within(clock, longestMs, valid, late) : valid };
  } catch (error) {
    if (error instanceof LongshoreError && error.code === 'PAYLOAD') return null;
    throw error;
  }
}

/** `null` = the rule does not apply. */
function eventOf<Body, Input>(
  { senders }: ForeignRule<Body, Input>,
  sendersOf: SendersOf,
  text: string,
): { readonly body: Body } | null {
  try {
    const body: unknown = JSON.parse(text);
    const found = sendersOf(body);
    const isTaken = found.length > 0 && found.every((sender) => senders.includes(sender as string));
    return isTaken ? { body: body as Body } : null;
  } catch {
    return null;
  }
}

/** The end of a message that the app itself has sent. Rules do not apply to these. */
const isSigned = /^,"_sig":"[0-9a-f]{64}"\}$/;
