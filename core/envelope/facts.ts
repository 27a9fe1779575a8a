/** What an envelope says of its job, for lists and records. */

import type { MessageFacts } from '../contract/facts.ts';
import type { Envelope } from './envelope.ts';
import { scheduleOf } from './schedule-of.ts';

const noContext = {};

/** `undefined` = nothing: most jobs have none of it. */
export function messageFactsOf(
  envelope: Pick<Envelope, 'name' | 'idempotencyKey' | 'context'>,
): MessageFacts | undefined {
  const { name, idempotencyKey, context } = envelope;
  const { requestId, traceparent }: Envelope['context'] & object = context ?? noContext;
  if (name == null && idempotencyKey == null && requestId === undefined && traceparent === undefined)
    return undefined;
  const schedule = scheduleOf(envelope);
  return {
    ...(name != null && { name }),
    ...(idempotencyKey != null && { idempotencyKey }),
    ...(schedule !== null && { schedule }),
    ...(requestId !== undefined && { requestId }),
    ...(traceparent !== undefined && { traceparent }),
  };
}
