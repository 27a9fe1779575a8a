/** Messages as the text of a row. JSON escapes what a database cannot store, so the same characters come out. */

import { LongshoreError } from '../../core/base/errors.ts';
import type { BackendLimits, OutgoingMessage } from '../../core/contract/queue.ts';

/** Without hints: a relay may send it more than once. */
export const rowOf = ({ hints: _, ...message }: OutgoingMessage): string => JSON.stringify(message);

/** `null` for a text that `rowOf` has not made: somebody else can write to the table. */
export function messageOf(text: string): OutgoingMessage | null {
  let message: OutgoingMessage;
  try {
    message = JSON.parse(text) as OutgoingMessage;
  } catch {
    return null;
  }
  const { id, queue, job, body, priority, notBefore = null, group = null, tenantId = null } = message ?? {};
  const texts = [id, queue, job, body].every((member) => typeof member === 'string');
  return texts && Number.isInteger(priority)
    ? { id, queue, job, body, priority, notBefore, group, tenantId }
    : null;
}

/** Why the target would not take the message; `null` = it would. Once it is in the outbox its sender cannot be told. */
export function refusal(
  { body, notBefore }: OutgoingMessage,
  { maxBodyBytes, maxDelayMs }: BackendLimits,
  now: number,
): LongshoreError | null {
  if (body.length * 3 > maxBodyBytes && Buffer.byteLength(body) > maxBodyBytes) {
    const got = Buffer.byteLength(body);
    return new LongshoreError('LIMIT', `Expected a body of at most ${maxBodyBytes} bytes, got ${got}.`);
  }
  const delayMs = notBefore === null ? 0 : notBefore - now;
  if (maxDelayMs !== null && delayMs > maxDelayMs) {
    return new LongshoreError('LIMIT', `Expected a delay of at most ${maxDelayMs} ms, got ${delayMs}.`);
  }
  return null;
}
