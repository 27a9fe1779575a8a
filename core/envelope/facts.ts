/** What an envelope says of its job, for lists and records. */

import type { MessageFacts } from '../contract/facts.ts';
import type { Envelope } from './envelope.ts';
import { scheduleOf } from './schedule-of.ts';

type Facts = { -readonly [Name in keyof MessageFacts]: MessageFacts[Name] };

/** `undefined` = nothing: most jobs have none of it. */
export function factsOf(
  envelope: Pick<Envelope, 'name' | 'idempotencyKey' | 'context'>,
): MessageFacts | undefined {
  const { name, idempotencyKey, context } = envelope;
  if (name == null && idempotencyKey == null && context == null) return undefined;
  const { requestId, traceparent } = context ?? {};
  if (name == null && idempotencyKey == null && requestId === undefined && traceparent === undefined)
    return undefined;
  const facts: Facts = {};
  if (name != null) facts.name = name;
  if (idempotencyKey != null) facts.idempotencyKey = idempotencyKey;
  const schedule = scheduleOf(envelope);
  if (schedule !== null) facts.schedule = schedule;
  if (requestId !== undefined) facts.requestId = requestId;
  if (traceparent !== undefined) facts.traceparent = traceparent;
  return facts;
}
