/** Jobs that send batches and chains from an isolate. Imported by the test and, in each thread or process, by the isolate. */

import { isMainThread } from 'node:worker_threads';
import * as z from 'zod';
import { defineJob, fixed, type HandlerContext, type LongshoreError } from '../../../../core/index.ts';

export const double = defineJob({ name: 'double', payload: z.number(), handle: (n) => n * 2 });
export const length = defineJob({ name: 'length', payload: z.string(), handle: (text) => text.length });
export const sum = defineJob({
  name: 'sum',
  payload: z.array(z.number()),
  handle: (all) => all.reduce((a, b) => a + b, 0),
});
export const whose = defineJob({
  name: 'whose',
  payload: z.object({ batchId: z.string() }),
  handle: (_, { context }) => context.tenantId ?? null,
});
/** Not in the app. */
export const unknown = defineJob({ name: 'unknown', payload: z.number(), handle: () => {} });

/** What a stream of a file is like: it knows no end, and says when it was closed. */
let closed = 0;
async function* numbers(to: number, at: (n: number) => void = () => {}): AsyncGenerator<number> {
  try {
    for (let n = 0; n < to; n++) {
      at(n);
      yield n;
    }
  } finally {
    closed++;
  }
}

const ways = (n: number) =>
  n % 2
    ? { job: double, payload: n }
    : { job: length, payload: 'x'.repeat(n), options: { name: `no. ${n}` } };

type Act = (ctx: HandlerContext) => unknown;

const acts: Record<string, Act> = {
  batch: async (ctx) => {
    const { id } = await ctx.step('send', () =>
      ctx.batch('numbers', numbers(250), {
        map: ways,
        chunkSize: 40,
        keepResults: true,
        onComplete: whose,
      }),
    );
    const end = await ctx.waitForBatch<number>(id, { timeoutMs: '1h' });
    return { id, results: end!.results, succeeded: end!.succeeded };
  },
  again: async (ctx) => {
    const { attempt } = ctx;
    const batch = await ctx.batch(
      'again',
      numbers(300, (n) => {
        if (attempt === 1 && n === 130) throwOrDie();
      }),
      { job: double, chunkSize: 40, options: { priority: 'low' } },
    );
    return batch;
  },
  wrong: async (ctx) => {
    closed = 0;
    const said: unknown[] = [];
    const note = (error: LongshoreError) => void said.push([error.code, error.message]);
    await ctx.batch('wrong', numbers(9), {} as never).catch(note);
    await ctx.batch('wrong-items', {} as never, { job: double }).catch(note);
    await ctx.batch('strange', numbers(9), { job: unknown }).catch(note);
    await ctx.batch('bad', [1, 'two', 3] as number[], { job: double }).catch(note);
    await ctx.batch('no-json', [1, new Map()] as number[], { job: double }).catch(note);
    const third = () =>
      numbers(9, (n) => {
        if (n === 3) throw new Error('no more');
      });
    await ctx.batch('stops', third(), { job: double, chunkSize: 2 }).catch(note);
    const map = (n: number): { job: typeof double; payload: number } => {
      if (n === 2) throw new Error('no child');
      return { job: double, payload: n };
    };
    await ctx.batch('maps', numbers(9), { map }).catch(note);
    const tx = { map: (n: number) => ({ job: double, payload: n, options: { tx: () => {} } }) };
    await ctx.batch('clone', numbers(9), tx as never).catch(note);
    await ctx.waitForBatch('nobody', { timeoutMs: 1 }).catch(note);
    await ctx.chain([unknown], 1).catch(note);
    await ctx.chain([] as never, 1 as never).catch(note);
    await ctx.chain([double], new Map() as never).catch(note);
    return { said, closed };
  },
  chain: async (ctx) => {
    const options = { id: 'video-1' };
    const chain = await ctx.chain(
      [length, [double, { job: double, options: { name: 'second' } }], sum],
      'hello',
      options,
    );
    const again = await ctx.chain([length], 'hello', options);
    return { chain, again };
  },
  leaves: (ctx) => {
    const endless = numbers(Number.POSITIVE_INFINITY);
    void ctx.batch('left', endless, { job: double, chunkSize: 10_000 }).catch(() => {});
  },
};

function throwOrDie(): void {
  if (isMainThread) process.kill(process.pid, 'SIGKILL');
  process.exit(1); // ends a thread only
}

const common = {
  payload: z.object({ act: z.string() }),
  module: import.meta.url,
  timeoutMs: 60_000,
  maxRetries: 1,
  retry: fixed(10),
  handle: ({ act }: { act: string }, ctx: HandlerContext) => acts[act]!(ctx),
} as const;

export const threaded = defineJob({ ...common, name: 'threaded', isolate: 'thread' });
export const forked = defineJob({ ...common, name: 'forked', isolate: 'process' });
