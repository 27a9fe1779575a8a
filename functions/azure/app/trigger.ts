/** Makes a lease from a message that the Functions host passes to a function. */

import { config, shown } from '../../../core/base/errors.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import { leaseFrom } from '../service-bus/locks.ts';
import { bodyText, countOf, type Delivery, tagsOf } from '../service-bus/message.ts';

/** `context.triggerMetadata` of a function. */
export type TriggerMetadata = Readonly<Record<string, unknown>>;

export interface LeaseTerms {
  /** The app's name of the queue, which is not in the metadata. */
  readonly queue: string;
  /** The host keeps the message locked until then (epoch ms). */
  readonly expiresAt: number;
}

/**
 * The lease of one message, for a trigger with `cardinality: 'one'`. Throws `CONFIG` for anything else.
 * @param message the function's first argument; the host has parsed JSON
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
  // The host turns a message id of digits into a number.
  const name =
    messageId === undefined || messageId === null ? `sequence-${sequenceNumber}` : texted(messageId);
  const group = sessionId === undefined || sessionId === null ? null : texted(sessionId);
  return {
    body: bodyText(message),
    lockToken,
    // The host counts the first delivery as 1, the SDK as 0.
    deliveryCount: Math.max(1, countOf(deliveryCount)),
    enqueuedAt: momentOf(metadata?.enqueuedTime ?? metadata?.enqueuedTimeUtc),
    tags: tagsOf(recordOf(applicationProperties), name, group),
  };
}

const texted = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

/** A time without a zone is UTC. */
function momentOf(value: unknown): number | null {
  if (typeof value !== 'string') return null;
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(value) ? value : `${value}Z`);
  return Number.isNaN(at) ? null : at;
}
