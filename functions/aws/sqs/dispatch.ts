/** Sends messages: at once, or by a schedule where SQS cannot delay for so long. */

import { type Failure, failedBy, thrownByAll } from './batches.ts';
import type { Connection } from './connection.ts';
import type { QueueAddress } from './queues.ts';
import { type SqsMessage, send } from './send.ts';

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

/** Turns an error into the answer of these messages: the others may have been sent. */
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
