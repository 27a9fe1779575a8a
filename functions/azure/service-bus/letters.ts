/** A dead letter: the message as it came, with why beside it. */

import type { DeadLetter } from '../../../core/contract/admin.ts';
import type { AbandonReason } from '../../../core/contract/outcome.ts';
import type { Abandon, JobLease } from '../../../core/contract/queue.ts';
import type { DeadLetterFacts, OutgoingParcel, ReceivedMessage } from './api.ts';
import { deliveryOf, messageIdOf, propertiesOf, someOf, type Tags, textOf } from './message.ts';

/** Bytes. Service Bus allows 4,096 characters; a body may leave less room. */
const longestError = 1_500;

/** For Service Bus' own dead letters. */
export function factsOf(lease: JobLease, why: Abandon, now: number): DeadLetterFacts {
  return {
    deadLetterReason: why.reason,
    deadLetterErrorDescription: cut(why.error),
    'longshore.attempt': String(lease.attempt),
    'longshore.diedAt': String(now),
  };
}

/** What a dead letter says of its end. */
export interface Letter {
  readonly reason: AbandonReason;
  readonly error: string;
  readonly attempt: number;
  readonly diedAt: number;
}

export const letterFor = (lease: JobLease, { reason, error }: Abandon, diedAt: number): Letter => {
  return { reason, error: cut(error), attempt: lease.attempt, diedAt };
};

/** For the `-failed` queue of a function, which cannot add anything to the message that it was given. */
export function letterParcel(body: string, tags: Tags, why: Letter): OutgoingParcel {
  return {
    messageId: messageIdOf(tags),
    body: Buffer.from(body),
    contentType: 'application/json',
    ...(tags.job !== '' && { subject: tags.job }),
    applicationProperties: {
      ...propertiesOf(tags),
      ...someOf({
        'longshore.reason': why.reason,
        'longshore.error': cut(why.error),
        'longshore.attempt': String(why.attempt),
        'longshore.diedAt': String(why.diedAt),
      }),
    },
  };
}

const reasons: readonly string[] = ['permanent', 'exhausted', 'crash-loop', 'rejected', 'expired'];

export function letterOf(message: ReceivedMessage, queue: string, now: number): DeadLetter {
  const { body, deliveryCount, enqueuedAt, tags } = deliveryOf(message);
  const { applicationProperties = {}, deadLetterReason, deadLetterErrorDescription } = message;
  const own = (name: string) => textOf(applicationProperties, `longshore.${name}`);
  const reason = deadLetterReason ?? own('reason');
  const isOurs = reasons.includes(reason);
  return {
    id: tags.id,
    queue,
    job: tags.job,
    reason: isOurs ? (reason as AbandonReason) : (movedFor[reason] ?? 'rejected'),
    error: isOurs ? (deadLetterErrorDescription ?? own('error')) : movedByServiceBus(message),
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

/** To so many bytes, never in the middle of a character. */
function cut(text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(longestError));
  return text.slice(0, read);
}
