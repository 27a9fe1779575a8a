/** The job that a rule makes of a message of another program. */

import { createHash } from 'node:crypto';
import { assertJson } from '../base/json.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { writeEnvelope } from '../envelope/write-envelope.ts';
import type { App } from './app.ts';
import type { Job } from './job.ts';

export interface ForeignRule<Body, Input> {
  /** The kind of messages, or a function that names the sender of one; `null` = it is of another kind. */
  readonly from: 's3' | 'sns' | 'eventbridge' | ((body: unknown) => string | null);
  /** Who may have sent them: ARNs of buckets (`s3`) or topics (`sns`), sources of events (`eventbridge`), or what `from` gives. */
  readonly senders: readonly string[];
  readonly job: Job<Input>;
  /** The payload, which the job's schema checks. A message for which it throws is a dead letter. */
  readonly map: (body: Body) => Input;
}

export interface ForeignJob {
  readonly id: string;
  readonly job: string;
  /** The signed envelope. */
  readonly body: string;
}

export interface ForeignMessage {
  readonly queue: string;
  readonly messageId: string;
  readonly body: string;
}

/** Makes a job of a message that the rule takes; `null` for any other. */
export type Foreign = (message: ForeignMessage) => Promise<ForeignJob | null>;

/** All senders that a message names; none for one of another kind. */
export type SendersOf = (body: unknown) => readonly unknown[];

export function foreignJob<Body, Input>(
  app: App,
  rule: ForeignRule<Body, Input>,
  sendersOf: SendersOf,
  message: ForeignMessage,
): ForeignJob | null {
  const { queue, messageId, body } = message;
  const { job } = rule;
  const taken = isSigned.test(body.slice(-75)) ? null : payloadOf(rule, sendersOf, body);
  if (!taken) return null;
  const digest = createHash('sha256').update(`${queue}/${messageId}`).digest('hex');
  const id = `foreign-${digest.slice(0, 32)}`;
  const { name, priority, maxRetries } = job;
  const envelope: Envelope = {
    v: 1,
    job: name,
    payload: taken.payload,
    queue,
    priority,
    maxRetries,
    attempts: 0,
    name: null,
    identifier: id,
    idempotencyKey: null,
    schedule: null,
    issuedAt: app.clock.now(),
    expiresAt: null,
    context: null,
  };
  return { id, job: name, body: writeEnvelope(envelope, app.keyRing()) };
}

/** `null`: the rule does not take it. */
function payloadOf<Body, Input>(
  { senders, map }: ForeignRule<Body, Input>,
  sendersOf: SendersOf,
  text: string,
): { readonly payload: Input } | null {
  try {
    const body: unknown = JSON.parse(text);
    const found = sendersOf(body);
    if (found.length === 0 || !found.every((sender) => senders.includes(sender as string))) return null;
    const payload = map(body as Body);
    assertJson(payload, 'payload');
    return { payload };
  } catch {
    return null;
  }
}

/** The end of a message of the app's own, which is none of the rule's business. */
const isSigned = /^,"_sig":"[0-9a-f]{64}"\}$/;
