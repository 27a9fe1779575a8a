/** Sends messages to SQS: new ones, copies of waiting or released ones, and dead letters. */

import { LongshoreError, shown } from '../../../core/base/errors.ts';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { type Failure, inBatches } from './batches.ts';
import { type Attributes, attributesOf, bytesOf, isFit, maxBodyBytes, type Tags } from './message.ts';
import type { SqsApi } from './sdk.ts';

export interface SqsMessage {
  readonly body: string;
  readonly attributes: Attributes;
  /** Delay in seconds, 0 to 900. */
  readonly delaySeconds: number;
  readonly group: string | null;
  /** When it may run (epoch ms), if that is later than SQS can delay. */
  readonly dueAt: number | null;
  /** A FIFO queue accepts one message with this id per five minutes. */
  readonly dedupId: string;
}

/** The longest delay of SQS. */
const longestDelayMs = 900_000;

/** A message that may run at `tags.notBefore`. If SQS cannot delay it that long, it is sent in hops. */
export function messageOf(body: string, tags: Tags, now: number): SqsMessage {
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

/** One answer per message: `null` = SQS has it. */
export function send(
  api: SqsApi,
  url: string,
  fifo: boolean,
  messages: readonly SqsMessage[],
  verb: 'send' | 'sendBack' = 'send',
): Promise<(Failure | null)[]> {
  return inBatches(messages, {
    bytesOf: ({ body, attributes }) => bytesOf(body, attributes),
    inOrder: fifo,
    entryOf: ({ body, attributes, delaySeconds, group, dedupId }) => ({
      MessageBody: body,
      MessageAttributes: attributes,
      ...(delaySeconds > 0 && !fifo && { DelaySeconds: delaySeconds }),
      // A FIFO queue needs a group. A message without one gets its own, because no order was asked for.
      ...((group !== null || fifo) && { MessageGroupId: groupId(group ?? dedupId) }),
      ...(fifo && { MessageDeduplicationId: dedupId }),
    }),
    request: (entries) => api[verb](url, entries),
  });
}

/** SQS allows 128 printable ASCII characters. Other characters become their code. */
export const groupId = (group: string): string =>
  group.replace(/[^!-~]/gu, (character) => `%${character.codePointAt(0)!.toString(16)}`);

/** Why SQS cannot carry this message; `null` = it can. */
export function unsendable(
  { body, notBefore, group }: Pick<OutgoingMessage, 'body' | 'notBefore' | 'group'>,
  fifo: boolean,
  now: number,
): LongshoreError | null {
  const oversize = tooLarge(body, maxBodyBytes);
  if (oversize) return oversize;
  if (!isFit(body)) {
    const message =
      'Expected characters that SQS can carry, got U+FFFE, U+FFFF or a control character. Encode that text.';
    return new LongshoreError('PAYLOAD', message);
  }
  if (group !== null && !/^.{1,128}$/.test(groupId(group))) {
    const message = `A group has 1 to 128 characters (characters other than printable ASCII count as several); got ${shown(group)}.`;
    return new LongshoreError('OPTION', message);
  }
  if (fifo && notBefore !== null && notBefore > now) {
    const message = 'A FIFO queue of SQS cannot delay a single message. Use a standard queue.';
    return new LongshoreError('LIMIT', message);
  }
  return null;
}
