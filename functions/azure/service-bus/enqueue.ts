/** Sends messages of the app to their queues. */

import { priorities } from '../../../core/base/priority.ts';
import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { sendPerQueue } from '../../../core/kit/per-queue.ts';
import type { Connection } from './connection.ts';
import { serviceBusError } from './errors.ts';
import { busMessage } from './message.ts';
import type { QueueAddress } from './queues.ts';

export function createSender(
  { clock, addressOf, call }: Connection,
  maxBodyBytes: number,
  warn: (message: string) => void,
): JobSender {
  /** Names of jobs that were warned of. */
  const warnedOf = new Set<string>();

  /** A job with a priority is still enqueued, so that an app can move here from another queue. */
  function warnOfPriority({ job, queue, priority }: OutgoingMessage): void {
    if (priority === priorities.normal || warnedOf.has(job)) return;
    warnedOf.add(job);
    warn(
      `Service Bus has no priorities: job "${job}" has priority ${priority}, but waits in queue "${queue}" like all others. Give urgent jobs a queue of their own.`,
    );
  }

  async function send(
    { name, entity, sessions }: QueueAddress,
    messages: readonly OutgoingMessage[],
  ): Promise<SendResult[]> {
    const now = clock.now();
    const outgoing = messages.map(({ id, job, group, notBefore, body, hints }) => {
      // A moved message needs its own id: a queue that had the message before would drop it as a duplicate.
      const series = hints?.move ? `${id}:${hints.move}` : id;
      // A queue with sessions accepts only messages with a session: a job without a group gets its own.
      const session = group ?? (sessions ? series : null);
      const tags = { id, job, group: session, attempts: 0, copies: 0, series, interrupted: false };
      return busMessage(body, tags, notBefore, now);
    });
    const during = `sending to queue "${name}"`;
    const failures = await call(during, (api) => api.send(entity, outgoing));
    return messages.map(({ id }, i) =>
      failures[i] === null
        ? { ok: true, id, duplicate: false }
        : { ok: false, id, error: serviceBusError(during, failures[i]) },
    );
  }

  return {
    enqueue(messages) {
      for (const message of messages) warnOfPriority(message);
      return sendPerQueue(messages, {
        refusal: ({ body }) => tooLarge(body, maxBodyBytes),
        addressOf: ({ queue }) => addressOf(queue),
        send,
      });
    },
  };
}
