/** Sends messages place by place, where a broker's call goes to one queue. */

import type { LongshoreError } from '../base/errors.ts';
import type { OutgoingMessage, SendResult } from '../contract/queue.ts';

export interface Sending<Place> {
  /** Why a message cannot be sent at all, told without a call. */
  refusal(message: OutgoingMessage): LongshoreError | null;
  placeOf(message: OutgoingMessage): Place;
  /** One result per message. Throws when the call as a whole fails. */
  send(place: Place, messages: readonly OutgoingMessage[]): Promise<SendResult[]>;
}

/** One result per message, in order. Throws only when no place could be reached. */
export async function sendPlaced<Place>(
  messages: readonly OutgoingMessage[],
  { refusal, placeOf, send }: Sending<Place>,
): Promise<SendResult[]> {
  const results = new Map<OutgoingMessage, SendResult>();
  const ready = messages.filter((message) => {
    const error = refusal(message);
    if (error) results.set(message, { ok: false, id: message.id, error });
    return !error;
  });
  const failed: LongshoreError[] = [];
  const groups = Map.groupBy(ready, placeOf);
  for (const [place, group] of groups) {
    const sent = await send(place, group).catch((error: LongshoreError) => {
      failed.push(error);
      return group.map(({ id }): SendResult => ({ ok: false, id, error }));
    });
    for (const [i, message] of group.entries()) results.set(message, sent[i]!);
  }
  if (failed.length > 0 && failed.length === groups.size) throw failed[0];
  return messages.map((message) => results.get(message)!);
}
