/** A dead letter on its way: the message as it came, with why as attributes. */

import type { Abandon, JobLease } from '../../../core/contract/queue.ts';
import { type Attributes, attributesFrom, bytesOf } from './attributes.ts';
import { largestRequest } from './batches.ts';
import type { Ticket } from './leases.ts';
import type { Parcel } from './sending.ts';

/** Bytes; what is left of the room that a body leaves for attributes. */
const longestError = 1_500;

export function deadParcel(lease: JobLease, ticket: Ticket, why: Abandon, now: number): Parcel {
  const { id, job, group, lane, messageId } = ticket;
  const facts = {
    'longshore.id': id,
    'longshore.job': job,
    'longshore.lane': lane === 'normal' ? '' : lane,
    'longshore.reason': why.reason,
    'longshore.attempt': String(lease.attempt),
    'longshore.diedAt': String(now),
  };
  const error = { 'longshore.error': cut(why.error, longestError) };
  return {
    body: lease.body,
    attributes: largestThatFits(lease.body, [{ ...facts, ...error }, facts, {}]),
    delaySeconds: 0,
    dueAt: null,
    group,
    // A message that dies again after a retry is another dead letter.
    dedupId: `${messageId}-${lease.attempt}`.slice(-128),
  };
}

/** A foreign body may leave no room; it goes to the dead letters all the same. */
function largestThatFits(body: string, choices: readonly Record<string, string>[]): Attributes {
  const fits = (texts: Record<string, string>) => bytesOf(body, attributesFrom(texts)) <= largestRequest;
  return attributesFrom(choices.find(fits) ?? {});
}

/** To so many bytes, never in the middle of a character. */
function cut(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
