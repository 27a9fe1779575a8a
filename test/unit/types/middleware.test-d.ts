/** What the compiler must accept and refuse as middleware. Each marker names the error that has to be there. */

import {
  createApp,
  defineJob,
  type JobContext,
  type Middleware,
  type TransactionContext,
  withContext,
} from 'longshore';
import { telemetry } from 'longshore/otel';
import { expectTypeOf } from 'vitest';
import * as z from 'zod';

const timing: Middleware = async (ctx, next) => {
  expectTypeOf(ctx).toEqualTypeOf<TransactionContext>();
  expectTypeOf(await next()).toEqualTypeOf<unknown>();
};

export const job = defineJob({
  name: 'job',
  payload: z.object({}),
  use: [(ctx, next) => withContext({ ...ctx.context, actorId: ctx.id }, next)],
  handle: () => {},
});

export const app = createApp({
  jobs: [job],
  use: [
    timing,
    telemetry({ attempts: 'linked' }),
    async (ctx, next) => {
      expectTypeOf(ctx.context).toEqualTypeOf<JobContext>();
      return next();
    },
    {
      async enqueue(call, next) {
        expectTypeOf(call.queue).toEqualTypeOf<string | null>();
        return (await next()).filter(({ ok }) => ok);
      },
    },
  ],
});

// @ts-expect-error TS2322 what next() gives is not passed on
export const silent: Middleware = { enqueue: async (_, next) => void (await next()) };
export const guessing: Middleware = async (ctx, next) => {
  // @ts-expect-error TS2339 a middleware sees no payload
  ctx.payload;
  // @ts-expect-error TS2554 there is nothing to pass on
  return next(ctx);
};
// @ts-expect-error TS2353 it is not called that
export const before: Middleware = { before: () => {} };
const around = { enqueue: telemetry().enqueue };
// @ts-expect-error TS2322 only an app stands around enqueueing
defineJob({ name: 'x', payload: z.object({}), use: [around], handle: () => {} });
// @ts-expect-error TS2322 one of two words
telemetry({ attempts: 'parent' });
