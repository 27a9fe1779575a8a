/** A dead letter to send: the message as it came, with the reason as attributes. */

import type { Abandon, JobLease } from '../../../core/contract/queue.ts';
import { cutText } from '../../../core/kit/body-limit.ts';
import { type Attributes, attributesFrom, bytesOf } from './attributes.ts';
import { largestRequest } from './batches.ts';
import type { Receipt } from './leases.ts';
import type { SqsMessage } from './send.ts';

/** Bytes. A body leaves this much room beside the other attributes. */
const longestError = 1_500;

export function deadMessage(lease: JobLease, receipt: Receipt, why: Abandon, now: number): SqsMessage {
  const { id, job, group, lane, messageId } = receipt;
  const facts = {
    'longshore.id': id,
    'longshore.job': job,
    'longshore.lane': lane === 'normal' ? '' : lane,
    'longshore.reason': why.reason,
    'longshore.attempt': String(lease.attempt),
    'longshore.diedAt': String(now),
    'longshore.group': group ?? '',
  };
  const error = { 'longshore.error': cutText(why.error, longestError) };
  return {
    body: lease.body,
    attributes: largestThatFits(lease.body, [{ ...facts, ...error }, facts, {}]),
    delaySeconds: 0,
    dueAt: null,
    // Each in a group of its own: while one is looked at, a FIFO queue would show no more than ten of its group.
    group: null,
    // A message that dies again after a retry is another dead letter.
    dedupId: `${messageId}-${lease.attempt}`.slice(-128),
  };
}

/** A foreign body may leave no room for attributes. It goes to the dead letters without them. */
function largestThatFits(body: string, choices: readonly Record<string, string>[]): Attributes {
  const fits = (texts: Record<string, string>) => bytesOf(body, attributesFrom(texts)) <= largestRequest;
  return attributesFrom(choices.find(fits) ?? {});
}
