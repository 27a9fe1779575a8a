/**
 * What travels beside the body. The envelope is signed and never changes; these attributes route, count and name it. They
 * need no signature: anybody who may write to the queue could send the same envelope again anyway.
 */

/** What a copy of a message keeps. */
export interface Tags {
  readonly id: string;
  readonly job: string;
  /** SQS MessageGroupId. */
  readonly group: string | null;
  /** Attempts that earlier copies of this message have spent. */
  readonly attempts: number;
  /** Must not run before (epoch ms). SQS itself delays for 15 minutes at most. */
  readonly notBefore: number | null;
  /** It, or the message that it is a copy of, was received before, and nothing in the queue says how that ended. Only its record does. */
  readonly suspect?: boolean;
}

/** One delivery, from a receive call or from a Lambda event. */
export interface Delivery {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly receiveCount: number;
  readonly firstReceivedAt: number | null;
  readonly sentAt: number | null;
  readonly group: string | null;
  /** Longshore's own attributes. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Why the queue's rule made no job of it. */
  readonly refusal?: string;
}

/** @param attributes by name; those of other programs are left out */
export function deliveryFrom(
  { messageId, receiptHandle, body }: Pick<Delivery, 'messageId' | 'receiptHandle' | 'body'>,
  system: Readonly<Partial<Record<string, string>>> = {},
  attributes: readonly (readonly [string, string | undefined])[],
): Delivery {
  const own = attributes.filter(([name, text]) => name.startsWith('longshore.') && text !== undefined);
  return {
    messageId,
    receiptHandle,
    body,
    receiveCount: countOf(system.ApproximateReceiveCount) || 1,
    firstReceivedAt: countOf(system.ApproximateFirstReceiveTimestamp) || null,
    sentAt: countOf(system.SentTimestamp) || null,
    group: system.MessageGroupId ?? null,
    attributes: Object.fromEntries(own) as Record<string, string>,
  };
}

export function tagsOf({ messageId, group, attributes }: Delivery): Tags {
  return {
    id: (attributes['longshore.id'] ?? messageId).slice(0, longestName),
    job: (attributes['longshore.job'] ?? '').slice(0, longestName),
    group,
    attempts: countOf(attributes['longshore.attempts']),
    notBefore: countOf(attributes['longshore.notBefore']) || null,
    suspect: attributes['longshore.suspect'] !== undefined,
  };
}

const longestName = 128;

export function countOf(text: string | undefined): number {
  const count = Number(text ?? 0);
  return Number.isSafeInteger(count) && count >= 0 ? count : 0;
}
