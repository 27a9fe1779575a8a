/** Calls of `enqueue` at the same time share a round trip. Each gets its own results. */

import type { OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';

interface Waiting {
  readonly messages: readonly OutgoingMessage[];
  readonly resolve: (results: SendResult[]) => void;
}

/** Round trips at the same time. Later calls wait for the next one. */
const mostUnderWay = 2;

/**
 * From this number of calls on they leave in two groups, in successive turns of the event loop. In one group all callers would wait
 * while the server works, and the server would wait while they make their next messages.
 */
const worthHalving = 16;

/**
 * @param mostMessages a group with this many messages takes no more calls
 * @param store answers for every message, and never rejects
 */
export function sharing(
  mostMessages: number,
  store: (messages: readonly OutgoingMessage[]) => Promise<SendResult[]>,
): (messages: readonly OutgoingMessage[]) => Promise<SendResult[]> {
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
      void send(group, messages);
      if (!halved) continue;
      schedule(setImmediate);
      break;
    }
  }

  async function send(group: readonly Waiting[], all: readonly OutgoingMessage[]): Promise<void> {
    underWay++;
    const results = await store(all);
    underWay--;
    let from = 0;
    for (const { messages, resolve } of group) {
      resolve(group.length === 1 ? results : results.slice(from, from + messages.length));
      from += messages.length;
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
      schedule(queueMicrotask); // after all other calls of this turn
    });
}
