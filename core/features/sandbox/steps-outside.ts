/** The worker's side of the steps of an isolated handler: it keeps the results, and asks the isolate to run a step that has none. */

import type { HandlerContext } from '../../kernel/app/job.ts';
import type { Isolate } from './isolate.ts';
import { type DurableQuestion, type FromIsolate, unpackError } from './messages.ts';
import { createOpen } from './open.ts';
import { createReplies } from './replies.ts';

/** Open questions per attempt. Each takes the worker's memory until it is answered. */
const mostOpen = 1_000;

export function createStepsOutside(isolate: Isolate, ctx: HandlerContext) {
  const open = createOpen(mostOpen, 'steps, waits and events');
  const works = createReplies<unknown>(isolate);

  function granted(ask: number, question: DurableQuestion): Promise<unknown> {
    switch (question.verb) {
      case 'step':
        return ctx.step(question.name, ({ idempotencyKey }) =>
          works.to({ type: 'work', ask, idempotencyKey }),
        );
      case 'sleep':
        return ctx.sleep(question.time);
      case 'waitFor':
        return ctx.waitFor(question.event, question.options);
      case 'waitForBatch':
        return ctx.waitForBatch(question.batch, question.options);
      case 'emit':
        return ctx.emit(question.event, question.payload, question.options);
    }
  }

  return {
    grant: (ask: number, question: DurableQuestion): Promise<unknown> =>
      open(ask, () => granted(ask, question)),
    /** The work of a step has ended. */
    ended(message: Extract<FromIsolate, { type: 'did' | 'undone' }>): void {
      const work = works.take(message.ask);
      if (message.type === 'undone') work?.reject(unpackError(message.error));
      else work?.resolve(message.text === null ? undefined : JSON.parse(message.text));
    },
    end: works.end,
  };
}
