/** Converts messages to rows and back, and sends a batch of rows to the target, in order per group. */

import { type Clock, uuidv7 } from '../../core/base/clock.ts';
import { type ErrorCode, LongshoreError } from '../../core/base/errors.ts';
import { backendError } from '../../core/base/failure.ts';
import type { ChainFacts, MessageFacts } from '../../core/contract/outcome.ts';
import type { BackendLimits, JobSender, OutgoingMessage, SendResult } from '../../core/contract/queue.ts';
import { tooLarge } from '../../core/kit/body-limit.ts';
import { within } from '../waiting.ts';
import type { Fate, NewRow } from './table.ts';

/** After this time no further call to the target begins. The remaining rows are sent with the next batch. */
const batchMs = 5_000;
/** If the target does not answer a call within this time, it counts as down. */
const callMs = 10_000;
export const longestBatchMs = batchMs + callMs;

/** Errors of the message, not of the target: sending it again cannot help. */
const permanent: ReadonlySet<ErrorCode> = new Set(['LIMIT', 'OPTION', 'PAYLOAD', 'ENVELOPE']);

const untried: Fate = { state: 'kept', error: null };
const sent: Fate = { state: 'sent' };

/** Resolves with one fate per row. Never rejects. */
export async function sendBatch(
  texts: readonly string[],
  to: JobSender,
  clock: Clock,
  signal: AbortSignal,
): Promise<Fate[]> {
  const until = clock.now() + batchMs;
  const messages = texts.map(messageOf);
  const fates = texts.map((_, i) => (messages[i] ? untried : unreadable(texts[i]!, clock.now())));
  /** Groups with a message that was not sent. */
  const held = new Set<string | null>();
  for (const wave of wavesOf(messages)) {
    const indexes = wave.filter((index) => !held.has(messages[index]!.group));
    if (indexes.length === 0) continue;
    if (clock.now() >= until || signal.aborted) break;
    const some = indexes.map((index) => messages[index]!);
    let results: SendResult[];
    try {
      results = await within(clock, callMs, to.enqueue(some), late);
    } catch (cause) {
      const error = backendError('relaying', cause);
      for (const index of indexes) fates[index] = { state: 'kept', error };
      break; // the target cannot be reached
    }
    for (const [i, index] of indexes.entries()) {
      const message = some[i]!;
      fates[index] = fateOf(message, results[i]);
      if (fates[index].state === 'kept') held.add(message.group); // messages without a group are all in the first wave
    }
  }
  return fates;
}

/**
 * The indexes of the messages for each call. A call has at most one message per group, because a target may accept only a part of a call,
 * and the second message of a group must not overtake the first. Messages without a group are all in the first call.
 */
function wavesOf(messages: readonly (OutgoingMessage | null)[]): number[][] {
  const waves: number[][] = [];
  const next = new Map<string, number>();
  for (const [index, message] of messages.entries()) {
    if (!message) continue;
    const { group } = message;
    const wave = group === null ? 0 : (next.get(group) ?? 0);
    if (group !== null) next.set(group, wave + 1);
    waves[wave] ??= [];
    waves[wave].push(index);
  }
  return waves;
}

function fateOf({ id, queue }: OutgoingMessage, result: SendResult | undefined): Fate {
  if (result?.ok) return sent;
  const error = result?.error ?? new LongshoreError('BACKEND', 'The target gave no result.');
  return permanent.has(error.code) ? { state: 'refused', id, queue, error } : { state: 'kept', error };
}

function unreadable(text: string, now: number): Fate {
  const error = new LongshoreError(
    'CORRUPT',
    `Expected a row of the outbox to be a message as JSON, got another text of ${text.length} characters. Fix the program that writes to the table.`,
  );
  return { state: 'refused', id: `unreadable-${uuidv7(now)}`, queue: '', error };
}

function late(): never {
  throw new LongshoreError('TIMEOUT', `The target did not answer within ${callMs} ms.`);
}

/** JSON escapes characters that a database cannot store. Leaves out the hints, because a relay may send a message more than once. */
export const rowOf = ({ hints: _, ...message }: OutgoingMessage): NewRow => ({
  id: message.id,
  text: JSON.stringify(message),
});

/** `null` = the text is not from `rowOf`. Other programs can write to the table. */
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

/** Why the target would refuse the message; `null` = it would accept it. Checked on enqueue, because the sender cannot be informed later. */
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
