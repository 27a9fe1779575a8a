/** Calls of `enqueue` that come together share a round trip, each with its own results. */

import type { OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';

type Send = () => Promise<SendResult[]>;

interface Waiting {
  readonly messages: readonly OutgoingMessage[];
  /** How it is sent, alone. */
  readonly own: Send | null;
  readonly resolve: (results: SendResult[]) => void;
}

export interface Sharing {
  /** Shares a round trip with others. */
  together(messages: readonly OutgoingMessage[]): Promise<SendResult[]>;
  /** Has one of its own, when it is its turn. */
  alone(send: Send): Promise<SendResult[]>;
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
): Sharing {
  let waiting: Waiting[] = [];
  let underWay = 0;
  let scheduled = false;

  function flush(): void {
    scheduled = false;
    while (waiting.length > 0 && underWay < mostUnderWay) {
      const { own } = waiting[0]!;
      if (own) {
        void send(waiting.splice(0, 1), own);
        continue;
      }
      const halved = underWay === 0 && waiting.length >= worthHalving;
      const mostCalls = halved ? Math.ceil(waiting.length / 2) : waiting.length;
      const messages: OutgoingMessage[] = [];
      let calls = 0;
      while (calls < mostCalls && messages.length < mostMessages && !waiting[calls]!.own) {
        for (const message of waiting[calls]!.messages) messages.push(message);
        calls++;
      }
      const group = waiting;
      waiting = calls === group.length ? [] : group.splice(calls);
      void send(group, () => store(messages));
      if (!halved) continue;
      schedule(setImmediate);
      break;
    }
  }

  async function send(group: readonly Waiting[], call: Send): Promise<void> {
    underWay++;
    const results = await call();
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

  function join(messages: readonly OutgoingMessage[], own: Send | null): Promise<SendResult[]> {
    return new Promise((resolve) => {
      waiting.push({ messages, own, resolve });
      schedule(queueMicrotask); // after everybody who enqueues in this turn has spoken
    });
  }

  return { together: (messages) => join(messages, null), alone: (send) => join([], send) };
}
