/**
 * Messages of other programs as jobs of the app: events of S3, notifications of SNS, whatever a rule knows. They carry no signature, so
 * who may write to the queue is for its access policy to say. The receiver signs the job that a rule makes of one; from there on
 * it is a job like any other. What no rule takes stays as it came, and is rejected for want of a signature.
 */

import { createHash } from 'node:crypto';
import { config, shown } from '../base/errors.ts';
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

/** Makes a job of a message that the rule takes; `null` for any other. */
export type Foreign = (message: {
  readonly queue: string;
  readonly messageId: string;
  readonly body: string;
}) => ForeignJob | null;

/** Throws `CONFIG` for a rule that could not work. */
export function foreign<Body, Input>(app: App, rule: ForeignRule<Body, Input>): Foreign {
  const { from, senders: allowed, job, map } = rule;
  const known = typeof from === 'string' && Object.hasOwn(senders, from) ? senders[from] : null;
  const sendersOf = typeof from === 'function' ? (body: unknown) => [from(body)] : known;
  if (!sendersOf) {
    throw config(`foreign() expects from to be s3, sns, eventbridge or a function, got ${shown(from)}.`);
  }
  if (
    !Array.isArray(allowed) ||
    !allowed.every((sender) => typeof sender === 'string') ||
    allowed.length === 0
  ) {
    throw config(`foreign() expects senders to be a list of texts, got ${shown(allowed)}.`);
  }
  if (app.jobs.get(job.name) !== job) {
    throw config(`foreign() expects a job of the app, got "${job.name}". Add it to createApp({ jobs }).`);
  }

  /** `null`: the rule does not take it. */
  function payloadOf(text: string): { readonly payload: Input } | null {
    try {
      const body: unknown = JSON.parse(text);
      const found = sendersOf!(body);
      if (found.length === 0 || !found.every((sender) => allowed.includes(sender as string))) return null;
      const payload = map(body as Body);
      assertJson(payload, 'payload');
      return { payload };
    } catch {
      return null;
    }
  }

  return ({ queue, messageId, body }) => {
    const taken = isSigned.test(body.slice(-75)) ? null : payloadOf(body);
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
  };
}

/** The end of a message of the app's own, which is none of the rule's business. */
const isSigned = /^,"_sig":"[0-9a-f]{64}"\}$/;

interface Known {
  readonly Records?: readonly {
    readonly eventSource?: unknown;
    readonly s3?: { readonly bucket?: { arn?: unknown } };
  }[];
  readonly Type?: unknown;
  readonly TopicArn?: unknown;
  readonly 'detail-type'?: unknown;
  readonly source?: unknown;
}

/** All senders that a message names; none for one of another kind. */
const senders = {
  s3: (body: unknown) =>
    ((body as Known).Records ?? []).map(({ eventSource, s3 }) =>
      eventSource === 'aws:s3' ? s3?.bucket?.arn : null,
    ),
  sns: (body: unknown) => ((body as Known).Type === 'Notification' ? [(body as Known).TopicArn] : []),
  eventbridge: (body: unknown) => ('detail-type' in (body as Known) ? [(body as Known).source] : []),
};
