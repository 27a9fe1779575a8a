/** Sends messages of the app to their queues. */

import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { sendPerQueue } from '../../../core/kit/per-queue.ts';
import { type Failure, failedBy, thrownByAll } from './batches.ts';
import { type Connection, failedEntry, sqsError } from './connection.ts';
import { laneOf, type QueueAddress } from './queues.ts';
import { messageOf, type SqsMessage, send, unsendable } from './send.ts';

export function createSender(connection: Connection): JobSender {
  const { clock, queues, addressOf, call } = connection;

  async function sendAll(address: QueueAddress, messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const now = clock.now();
    const outgoing = messages.map(({ id, job, group, notBefore, body, hints }) => {
      const message = messageOf(body, { id, job, group, attempts: 0, notBefore }, now);
      // A moved message needs its own id: a FIFO queue that had the message before would drop it as a duplicate.
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

/** One answer per message: `null` = it was sent or scheduled. Rejects when all failed. */
export async function dispatch(
  connection: Connection,
  address: QueueAddress,
  messages: readonly SqsMessage[],
  verb?: 'send' | 'sendBack',
): Promise<(Failure | null)[]> {
  const far = messages.some(({ dueAt }) => dueAt !== null) ? connection.scheduler : null;
  const scheduled = new Set(far ? messages.filter((message) => far.takes(address, message)) : []);
  const direct = messages.filter((message) => !scheduled.has(message));
  const [sent, planned] = await Promise.all([
    failing(direct, async () => send(await connection.api(), address.url, address.fifo, direct, verb)),
    failing([...scheduled], () => far!.schedule(address, [...scheduled])),
  ]);
  const answers = { sent: sent.values(), planned: planned.values() };
  return thrownByAll(
    messages.map((message) => (scheduled.has(message) ? answers.planned : answers.sent).next().value!),
  );
}

/** Turns an error into the answer for these messages: the others may have been sent. */
async function failing(
  messages: readonly SqsMessage[],
  work: () => Promise<(Failure | null)[]>,
): Promise<(Failure | null)[]> {
  if (messages.length === 0) return [];
  try {
    return await work();
  } catch (cause) {
    return messages.map(() => failedBy(cause));
  }
}
