/** The facts of a job in its envelope, for lists and records. */

import type { MessageFacts } from '../contract/outcome.ts';
import type { ChainLink } from './chain.ts';
import type { Envelope } from './envelope.ts';
import { scheduleOf } from './schedule-of.ts';

const noContext = {};

/** `undefined` = nothing: most jobs have none of it. */
export function messageFactsOf(
  envelope: Pick<Envelope, 'name' | 'idempotencyKey' | 'context' | 'chain'>,
): MessageFacts | undefined {
  const { name, idempotencyKey, context, chain } = envelope;
  const { requestId, traceparent }: Envelope['context'] & object = context ?? noContext;
  const isCaused = requestId !== undefined || traceparent !== undefined;
  if (name == null && idempotencyKey == null && !isCaused && !chain) return undefined;
  const schedule = scheduleOf(envelope);
  return {
    ...(name != null && { name }),
    ...(idempotencyKey != null && { idempotencyKey }),
    ...(schedule !== null && { schedule }),
    ...(requestId !== undefined && { requestId }),
    ...(traceparent !== undefined && { traceparent }),
    ...(chain && { chain: { ...chain, links: chain.links.map(nameOf) } }),
  };
}

const nameOf = (one: ChainLink) => ('job' in one ? one.job : one.map(({ job }) => job));
