/** A dead letter: the message as it came, with the reason beside it. */

import type { DeadLetter } from '../../../core/contract/admin.ts';
import type { AbandonReason } from '../../../core/contract/outcome.ts';
import type { Abandon, JobLease } from '../../../core/contract/queue.ts';
import { cutText } from '../../../core/kit/body-limit.ts';
import type { BusMessage, DeadLetterFacts, ReceivedMessage } from './api.ts';
import { busMessage, deliveryOf, someOf, type Tags, textOf } from './message.ts';

/** Bytes. Service Bus allows 4,096 characters; a body may leave less room. */
const longestError = 1_500;

/** How a job ended. Stored as JSON in the intent log, so the names of its members stay. */
export interface Death {
  readonly reason: AbandonReason;
  readonly error: string;
  readonly attempt: number;
  readonly diedAt: number;
}

export const deathOf = (lease: JobLease, { reason, error }: Abandon, diedAt: number): Death => {
  return { reason, error: cutText(error, longestError), attempt: lease.attempt, diedAt };
};

/** For the dead-letter queue of Service Bus itself. */
export const factsOf = ({ reason, error, attempt, diedAt }: Death): DeadLetterFacts => ({
  deadLetterReason: reason,
  deadLetterErrorDescription: error,
  'longshore.attempt': String(attempt),
  'longshore.diedAt': String(diedAt),
});

/** For the `-failed` queue: a function cannot add anything to the message that it was given. */
export function deadMessage(body: string, tags: Tags, death: Death): BusMessage {
  const message = busMessage(body, tags, null, 0);
  const facts = someOf({
    'longshore.reason': death.reason,
    'longshore.error': death.error,
    'longshore.attempt': String(death.attempt),
    'longshore.diedAt': String(death.diedAt),
  });
  return { ...message, applicationProperties: { ...message.applicationProperties, ...facts } };
}

const reasons: readonly string[] = ['permanent', 'exhausted', 'crash-loop', 'rejected', 'expired'];

export function deadLetterOf(message: ReceivedMessage, queue: string, now: number): DeadLetter {
  const { body, deliveryCount, enqueuedAt, tags } = deliveryOf(message);
  const { applicationProperties = {}, deadLetterReason, deadLetterErrorDescription } = message;
  const own = (name: string) => textOf(applicationProperties, `longshore.${name}`);
  // Its own reason first: a letter that got too old in the -failed queue did not die of that.
  const reason = own('reason') || (deadLetterReason ?? '');
  const isOurs = reasons.includes(reason);
  return {
    id: tags.id,
    queue,
    job: tags.job,
    reason: isOurs ? (reason as AbandonReason) : (movedFor[reason] ?? 'rejected'),
    error: isOurs ? own('error') || (deadLetterErrorDescription ?? '') : movedByServiceBus(message),
    attempt: Number(own('attempt')) || tags.attempts + Math.max(1, deliveryCount - 1),
    diedAt: Number(own('diedAt')) || (enqueuedAt ?? now),
    body,
  };
}

const movedFor: Readonly<Record<string, AbandonReason>> = {
  MaxDeliveryCountExceeded: 'crash-loop',
  TTLExpiredException: 'expired',
};

function movedByServiceBus({ deadLetterReason, deadLetterErrorDescription }: ReceivedMessage): string {
  if (deadLetterReason === 'MaxDeliveryCountExceeded') {
    return 'CRASH_LOOP: Service Bus moved the message here, because it was delivered more often than the queue allows (maxDeliveryCount).';
  }
  if (deadLetterReason === 'TTLExpiredException')
    return 'EXPIRED: Service Bus moved the message here, because it was older than the queue allows.';
  return `BACKEND: ${deadLetterReason ?? 'Somebody else'} moved the message here. ${deadLetterErrorDescription ?? ''}`.trim();
}
