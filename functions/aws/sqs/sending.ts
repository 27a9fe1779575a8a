/** Messages on their way to SQS: new ones, copies of such that wait or are released, and dead letters. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { SqsApi } from './api.ts';
import { type Attributes, attributesOf, bytesOf, isFit } from './attributes.ts';
import { type Failure, inBatches } from './batches.ts';
import type { Tags } from './message.ts';

export interface Parcel {
  readonly body: string;
  readonly attributes: Attributes;
  /** Hidden for so many seconds, 0 to 900. */
  readonly delaySeconds: number;
  readonly group: string | null;
  /** When it is due (epoch ms), if that is later than SQS can delay. */
  readonly dueAt: number | null;
  /** SQS takes one message of this name within five minutes, on FIFO queues. */
  readonly dedupId: string;
}

/** What SQS itself delays, ms. */
export const longestDelayMs = 900_000;

/** A message with its tags, due at `tags.notBefore`; a later moment than SQS can keep is reached in hops. */
export function parcelOf(body: string, tags: Tags, now: number): Parcel {
  const { notBefore } = tags;
  const delayMs = Math.max(0, (notBefore ?? now) - now);
  const dueAt = delayMs > longestDelayMs ? notBefore : null;
  return {
    body,
    attributes: attributesOf({ ...tags, notBefore: dueAt }),
    dueAt,
    delaySeconds: Math.ceil(Math.min(delayMs, longestDelayMs) / 1000),
    group: tags.group,
    dedupId: tags.id,
  };
}

/** One answer per parcel: `null` = SQS has it. */
export function send(
  api: SqsApi,
  url: string,
  fifo: boolean,
  parcels: readonly Parcel[],
): Promise<(Failure | null)[]> {
  return inBatches(parcels, {
    bytesOf: ({ body, attributes }) => bytesOf(body, attributes),
    inOrder: fifo,
    request: (batch, ids) =>
      api.send(
        url,
        batch.map(({ body, attributes, delaySeconds, group, dedupId }, i) => ({
          Id: ids[i]!,
          MessageBody: body,
          MessageAttributes: attributes,
          ...(delaySeconds > 0 && !fifo && { DelaySeconds: delaySeconds }),
          // Without a group every message of a FIFO queue is a group of its own: no order was asked for.
          ...((group !== null || fifo) && { MessageGroupId: groupId(group ?? dedupId) }),
          ...(fifo && { MessageDeduplicationId: dedupId }),
        })),
      ),
  });
}

/** SQS allows 128 printable ASCII characters; others are told apart by their code. */
function groupId(group: string): string {
  const safe = group.replace(/[^!-~]/gu, (character) => `%${character.codePointAt(0)!.toString(16)}`);
  if (safe.length <= 128) return safe;
  throw new LongshoreError('OPTION', `Expected a group that fits in 128 characters, got ${safe.length}.`);
}

/** Why SQS cannot carry this message; `null` when it can. */
export function unsendable(
  { body, notBefore }: { readonly body: string; readonly notBefore: number | null },
  fifo: boolean,
  maxBodyBytes: number,
  now: number,
): LongshoreError | null {
  if (body.length * 3 > maxBodyBytes && Buffer.byteLength(body) > maxBodyBytes) {
    return new LongshoreError(
      'LIMIT',
      `Expected a body of at most ${maxBodyBytes} bytes, got ${Buffer.byteLength(body)}. Store the data elsewhere and send its id.`,
    );
  }
  if (!isFit(body)) {
    const message =
      'Expected characters that SQS can carry, got U+FFFE, U+FFFF or a control character. Encode that text.';
    return new LongshoreError('PAYLOAD', message);
  }
  if (fifo && notBefore !== null && notBefore > now) {
    const message =
      'Expected no delay, because a FIFO queue of SQS knows none per message. Use a standard queue.';
    return new LongshoreError('LIMIT', message);
  }
  return null;
}
