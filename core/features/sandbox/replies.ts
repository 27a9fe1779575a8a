/** The requests of the worker to an isolate that wait for a reply. */

import type { Isolate } from './isolate.ts';
import type { ToIsolate } from './messages.ts';

type Asking = Extract<ToIsolate, { readonly type: 'work' | 'pull' }>;

export function createReplies<T>(isolate: Isolate) {
  const open = new Map<number, PromiseWithResolvers<T>>();
  let over: { readonly reason: unknown } | null = null;
  return {
    to(message: Asking): Promise<T> {
      if (over) return Promise.reject(over.reason); // the isolate may have the next job by now
      const reply = Promise.withResolvers<T>();
      open.set(message.ask, reply);
      isolate.send(message);
      return reply.promise;
    },
    /** `undefined` = no request waits for this reply: drop it. */
    take(ask: number): PromiseWithResolvers<T> | undefined {
      const reply = open.get(ask);
      open.delete(ask);
      return reply;
    },
    /** Rejects all requests: the attempt or its isolate has ended. */
    end(reason: unknown): void {
      over = { reason };
      for (const reply of open.values()) reply.reject(reason);
      open.clear();
    },
  };
}
