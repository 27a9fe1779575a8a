/** Sends messages queue by queue, for brokers whose send call takes one queue. */

import type { LongshoreError } from '../base/errors.ts';
import type { OutgoingMessage, SendResult } from '../contract/queue.ts';

export interface PerQueue<Address> {
  /** The error of a message that cannot be sent, found without a call; `null` = it can be sent. */
  refusal(message: OutgoingMessage): LongshoreError | null;
  addressOf(message: OutgoingMessage): Address;
  /** One result per message. Throws when the call as a whole fails. */
  send(address: Address, messages: readonly OutgoingMessage[]): Promise<SendResult[]>;
}

/** One result per message, in order. Throws only when no address could be reached. */
export async function sendPerQueue<Address>(
  messages: readonly OutgoingMessage[],
  { refusal, addressOf, send }: PerQueue<Address>,
): Promise<SendResult[]> {
  const results = new Map<OutgoingMessage, SendResult>();
  const ready = messages.filter((message) => {
    const error = refusal(message);
    if (error) results.set(message, { ok: false, id: message.id, error });
    return !error;
  });
  const failed: LongshoreError[] = [];
  const groups = Map.groupBy(ready, addressOf);
  for (const [address, group] of groups) {
    const sent = await send(address, group).catch((error: LongshoreError) => {
      failed.push(error);
      return group.map(({ id }): SendResult => ({ ok: false, id, error }));
    });
    for (const [i, message] of group.entries()) results.set(message, sent[i]!);
  }
  if (failed.length > 0 && failed.length === groups.size) throw failed[0];
  return messages.map((message) => results.get(message)!);
}
