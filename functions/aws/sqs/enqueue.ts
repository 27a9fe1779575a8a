/** Sends messages of the app to their queues. */

import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { sendPerQueue } from '../../../core/kit/per-queue.ts';
import type { Connection } from './connection.ts';
import { dispatch } from './dispatch.ts';
import { failedEntry, sqsError } from './errors.ts';
import { laneOf } from './lanes.ts';
import type { QueueAddress } from './queues.ts';
import { messageOf, unsendable } from './send.ts';

export function createSender(connection: Connection): JobSender {
  const { clock, queues, addressOf, call } = connection;

  async function sendAll(address: QueueAddress, messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const now = clock.now();
    const outgoing = messages.map(({ id, job, group, notBefore, body, hints }) => {
      const message = messageOf(body, { id, job, group, attempts: 0, notBefore }, now);
      // A moved message needs an id of its own: a FIFO queue that had it before would drop it as a duplicate.
      return hints?.move ? { ...message, dedupId: `${id}:${hints.move}`.slice(-128) } : message;
    });
    const during = `sending to queue "${address.name}"`;
    const failures = await call(during, () => dispatch(connection, address, outgoing));
    return messages.map(({ id }, i) => {
      const failure = failures[i];
      if (!failure) return { ok: true, id, duplicate: false };
      const { cause } = failure;
      return { ok: false, id, error: cause ? sqsError(during, cause) : failedEntry(during, failure) };
    });
  }

  return {
    enqueue(messages) {
      const now = clock.now();
      return sendPerQueue(messages, {
        refusal: (message) => unsendable(message, addressOf(message.queue).fifo, now),
        addressOf: ({ queue, priority }) => laneOf(queues.lanesOf(queue), priority),
        send: sendAll,
      });
    },
  };
}
