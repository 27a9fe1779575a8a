/** Isolated jobs with middleware of their own. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { threadId } from 'node:worker_threads';
import * as z from 'zod';
import { currentContext, defineJob, type HandlerContext, withContext } from '../../../../core/index.ts';
import { plain } from '../jobs.ts';

const store = new AsyncLocalStorage<string>();

export const where = (): string => `${process.pid}/${threadId}`;

const common = {
  module: import.meta.url,
  payload: z.object({ act: z.string() }),
  maxRetries: 0,
  use: [
    async (ctx: HandlerContext, next: () => Promise<unknown>) => {
      const inside = { ...ctx.context, actorId: 'job' };
      const output = await withContext(inside, () => store.run(where(), next));
      return output === null ? undefined : { output, job: where() };
    },
  ],
  async handle({ act }: { act: string }, ctx: HandlerContext): Promise<unknown> {
    if (act === 'throw') throw new TypeError('from the handler');
    if (act === 'nothing') return null;
    if (act === 'big') return 1n;
    const { id } = await ctx.enqueue(plain, { n: 1 });
    return { handler: where(), store: store.getStore(), context: [ctx.context, currentContext()], id };
  },
} as const;

export const threaded = defineJob({ ...common, name: 'threaded', isolate: 'thread' });
export const spawned = defineJob({ ...common, name: 'spawned', isolate: 'process' });
