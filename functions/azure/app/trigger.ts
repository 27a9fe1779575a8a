/** What the Functions host hands over with a message of Service Bus, and the lease that it makes. */

import { config, shown } from '../../../core/base/errors.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import { leaseFrom } from '../service-bus/leases.ts';
import { bodyText, countOf, type Delivery, tagsOf } from '../service-bus/message.ts';

/** `context.triggerMetadata` of a function. */
export type TriggerMetadata = Readonly<Record<string, unknown>>;

export interface LeaseTerms {
  /** The queue it comes from, as the app calls it: the metadata does not say. */
  readonly queue: string;
  /** Until then the host keeps the message locked (epoch ms). */
  readonly expiresAt: number;
}

/**
 * The lease of one message, for a trigger with `cardinality: 'one'`. Throws `CONFIG` for what is not such a message.
 * @param message what the function got: the host has parsed it, if it was JSON
 */
export function leaseOf(
  message: unknown,
  metadata: TriggerMetadata | undefined,
  { queue, expiresAt }: LeaseTerms,
): JobLease {
  return leaseFrom(deliveryFrom(message, metadata), queue, expiresAt);
}

export function deliveryFrom(message: unknown, metadata: TriggerMetadata | undefined): Delivery {
  const { lockToken, deliveryCount, messageId, sequenceNumber, sessionId } = metadata ?? {};
  const { applicationProperties = {} } = metadata ?? {};
  if (typeof lockToken !== 'string' || lockToken === '' || typeof deliveryCount !== 'number') {
    const got = metadata === undefined ? 'none' : `lockToken ${shown(lockToken)}`;
    throw config(
      `Expected the metadata of a message of Service Bus (lockToken, deliveryCount), got ${got}. Give this function a trigger with cardinality: 'one'.`,
    );
  }
  // A message id of digits has become a number.
  const name =
    messageId === undefined || messageId === null ? `sequence-${sequenceNumber}` : texted(messageId);
  const group = sessionId === undefined || sessionId === null ? null : texted(sessionId);
  return {
    body: bodyText(message),
    lockToken,
    // Here the first delivery has 1, and with the SDK it has 0.
    deliveryCount: Math.max(1, countOf(deliveryCount)),
    enqueuedAt: momentOf(metadata?.enqueuedTime ?? metadata?.enqueuedTimeUtc),
    tags: tagsOf(recordOf(applicationProperties), name, group),
  };
}

const texted = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

/** The host leaves the zone out where it means UTC. */
function momentOf(value: unknown): number | null {
  if (typeof value !== 'string') return null;
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(value) ? value : `${value}Z`);
  return Number.isNaN(at) ? null : at;
}
