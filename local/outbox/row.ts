/** Messages as the text of a row. JSON escapes what a database cannot store, so the same characters come out. */

import { LongshoreError } from '../../core/base/errors.ts';
import type { ChainFacts, MessageFacts } from '../../core/contract/facts.ts';
import type { BackendLimits, OutgoingMessage } from '../../core/contract/queue.ts';
import { tooLarge } from '../../core/kit/body-limit.ts';
import type { NewRow } from './table.ts';

/** Without hints: a relay may send it more than once. */
export const rowOf = ({ hints: _, ...message }: OutgoingMessage): NewRow => ({
  id: message.id,
  text: JSON.stringify(message),
});

/** `null` for a text that is not from `rowOf`: others can write to the table. */
export function messageOf(text: string): OutgoingMessage | null {
  let message: OutgoingMessage;
  try {
    message = JSON.parse(text) as OutgoingMessage;
  } catch {
    return null;
  }
  const {
    id,
    queue,
    job,
    body,
    priority,
    notBefore = null,
    group = null,
    tenantId = null,
    order,
    facts,
  } = message ?? {};
  const texts = [id, queue, job, body].every((member) => typeof member === 'string');
  return texts && Number.isInteger(priority)
    ? {
        ...{ id, queue, job, body, priority, notBefore, group, tenantId },
        ...((order === 'wait' || order === 'step-aside') && { order }),
        ...(areFacts(facts) && { facts }),
      }
    : null;
}

const areFacts = (facts: unknown): facts is MessageFacts =>
  typeof facts === 'object' &&
  facts !== null &&
  Object.entries(facts).every(([name, member]) =>
    name === 'chain' ? isChain(member) : typeof member === 'string',
  );

function isChain(chain: Partial<ChainFacts> | null | undefined): boolean {
  const { id, link, links } = chain ?? {};
  const areNames = (names: unknown): boolean =>
    Array.isArray(names) && names.every((name) => typeof name === 'string');
  return (
    typeof id === 'string' &&
    Number.isInteger(link) &&
    Array.isArray(links) &&
    links.every((one) => typeof one === 'string' || areNames(one))
  );
}

/** Why the target would refuse the message; `null` = it would take it. Checked here, because later the sender cannot be informed. */
export function refusal(
  { body, notBefore }: OutgoingMessage,
  { maxBodyBytes, maxDelayMs }: BackendLimits,
  now: number,
): LongshoreError | null {
  const error = tooLarge(body, maxBodyBytes);
  if (error) return error;
  const delayMs = notBefore === null ? 0 : notBefore - now;
  if (maxDelayMs !== null && delayMs > maxDelayMs) {
    return new LongshoreError('LIMIT', `Expected a delay of at most ${maxDelayMs} ms, got ${delayMs}.`);
  }
  return null;
}
