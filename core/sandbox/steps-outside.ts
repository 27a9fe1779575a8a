/** The worker's side of the steps of an isolated handler: it checks, remembers and answers, and has the isolate do the work. */

import type { HandlerContext } from '../app/job.ts';
import type { Isolate } from './isolate.ts';
import { type DurableQuestion, type FromIsolate, unpackError } from './messages.ts';
import { createOpen } from './open.ts';

/** At once, of one attempt: each takes memory of the worker until it is answered. */
const mostOpen = 1_000;

export function createStepsOutside(isolate: Isolate, ctx: HandlerContext) {
  const open = createOpen(mostOpen, 'steps, waits and events');
  const works = new Map<number, PromiseWithResolvers<unknown>>();
  let over: { readonly reason: unknown } | null = null;

  function perform(ask: number, idempotencyKey: string): Promise<unknown> {
    if (over) return Promise.reject(over.reason); // the isolate may have the next job by now
    const work = Promise.withResolvers<unknown>();
    works.set(ask, work);
    isolate.send({ type: 'work', ask, idempotencyKey });
    return work.promise;
  }

  function granted(ask: number, question: DurableQuestion): Promise<unknown> {
    switch (question.verb) {
      case 'step':
        return ctx.step(question.name, ({ idempotencyKey }) => perform(ask, idempotencyKey));
      case 'sleep':
        return ctx.sleep(question.time);
      case 'waitFor':
        return ctx.waitFor(question.event, question.options);
      case 'batchEnd':
        return ctx.batchEnd(question.batch, question.options);
      case 'emit':
        return ctx.emit(question.event, question.payload, question.options);
    }
  }

  return {
    grant: (ask: number, question: DurableQuestion): Promise<unknown> =>
      open(ask, () => granted(ask, question)),
    /** The work of a step has ended. One that nobody waits for is dropped. */
    ended(message: Extract<FromIsolate, { type: 'did' | 'undone' }>): void {
      const work = works.get(message.ask);
      works.delete(message.ask);
      if (message.type === 'undone') work?.reject(unpackError(message.error));
      else work?.resolve(message.text === null ? undefined : JSON.parse(message.text));
    },
    /** The attempt is over, or its isolate is. */
    end(reason: unknown): void {
      over = { reason };
      for (const work of works.values()) work.reject(reason);
      works.clear();
    },
  };
}
