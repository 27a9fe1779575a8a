/** Calls of `enqueue` that come together share a round trip, each with its own results. */

import type { JobSender, OutgoingMessage, SendResult } from '../core/contract.ts';

interface Waiting {
  readonly messages: readonly OutgoingMessage[];
  readonly resolve: (results: SendResult[]) => void;
}

/** Round trips under way; what comes meanwhile goes with the next one. */
const mostUnderWay = 2;

/**
 * So many calls that come at once leave in two groups, one a turn after the other: callers that await their result
 * else all wait while the server works, and the server waits while they make their next messages.
 */
const worthHalving = 16;

/**
 * @param store answers for every message, and never rejects
 * @param mostMessages a group grows no further once it has so many
 */
export function sharing(
  mostMessages: number,
  store: (messages: readonly OutgoingMessage[]) => Promise<SendResult[]>,
): JobSender['enqueue'] {
  let waiting: Waiting[] = [];
  let underWay = 0;
  let scheduled = false;

  function flush(): void {
    scheduled = false;
    while (waiting.length > 0 && underWay < mostUnderWay) {
      const halved = underWay === 0 && waiting.length >= worthHalving;
      const mostCalls = halved ? Math.ceil(waiting.length / 2) : waiting.length;
      const messages: OutgoingMessage[] = [];
      let calls = 0;
      while (calls < mostCalls && messages.length < mostMessages) {
        for (const message of waiting[calls]!.messages) messages.push(message);
        calls++;
      }
      const group = waiting;
      waiting = calls === group.length ? [] : group.splice(calls);
      underWay++;
      void send(group, messages);
      if (!halved) continue;
      schedule(setImmediate);
      break;
    }
  }

  async function send(group: readonly Waiting[], messages: readonly OutgoingMessage[]): Promise<void> {
    const results = await store(messages);
    underWay--;
    let from = 0;
    for (const { messages: own, resolve } of group) {
      resolve(own.length === messages.length ? results : results.slice(from, from + own.length));
      from += own.length;
    }
    flush();
  }

  function schedule(later: (run: () => void) => unknown): void {
    if (scheduled) return;
    scheduled = true;
    later(flush);
  }

  return (messages) =>
    new Promise((resolve) => {
      waiting.push({ messages, resolve });
      schedule(queueMicrotask); // after everybody who enqueues in this turn has spoken
    });
}
