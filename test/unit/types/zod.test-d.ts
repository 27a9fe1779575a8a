/** What the compiler must accept and refuse, with zod. Each marker names the error that has to be there. */

import {
  type Client,
  type Contract,
  connect,
  createApp,
  defineJob,
  defineSchedule,
  type Job,
} from 'longshore';
import { memory } from 'longshore/local/memory';
import { testJobs } from 'longshore/testing';
import { expectTypeOf } from 'vitest';
import * as z from 'zod';

export const sendInvoice = defineJob({
  name: 'invoice.send',
  payload: z.object({
    invoiceId: z.string(),
    due: z.iso.date().transform((text) => new Date(text)),
    copies: z.number().default(1),
  }),
  idempotencyKey(payload) {
    expectTypeOf(payload).toEqualTypeOf<{ invoiceId: string; due: Date; copies: number }>();
    return payload.invoiceId;
  },
  async handle(payload, ctx) {
    expectTypeOf(payload).toEqualTypeOf<{ invoiceId: string; due: Date; copies: number }>();
    expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
    await ctx.enqueue(cleanUp, { olderThanDays: 7 });
    // @ts-expect-error TS2322 another job's payload, inside a handler
    await ctx.enqueue(cleanUp, { olderThanDays: 'seven' });
    // @ts-expect-error TS2561 a member that the other job does not know
    await ctx.enqueue(cleanUp, { olderThanDays: 7, olderThanYears: 1 });
    // @ts-expect-error TS2540 the facts of the job are not the handler's to change
    ctx.attempt = 1;
  },
});

export const cleanUp = defineJob({
  name: 'clean-up',
  payload: z.object({ olderThanDays: z.number() }),
  handle: ({ olderThanDays }) => ({ removed: olderThanDays }),
});

expectTypeOf(sendInvoice).toEqualTypeOf<
  Job<{ invoiceId: string; due: string; copies?: number | undefined }, Promise<void>>
>();

export async function enqueue(client: Client): Promise<void> {
  // What is enqueued is the schema's input: text for the date, and no copies are needed.
  await client.enqueue(sendInvoice, { invoiceId: '7', due: '2026-01-31' });
  await client.enqueue(sendInvoice, { invoiceId: '7', due: '2026-01-31', copies: 2 }, { delayMs: 1000 });
  // @ts-expect-error TS2322 a number for a text
  await client.enqueue(sendInvoice, { invoiceId: 7, due: '2026-01-31' });
  // @ts-expect-error TS2322 the schema's output is not its input
  await client.enqueue(sendInvoice, { invoiceId: '7', due: new Date() });
  // @ts-expect-error TS2741 a member is missing
  await client.enqueue(sendInvoice, { invoiceId: '7' });
  // @ts-expect-error TS2353 a member too many
  await client.enqueue(sendInvoice, { invoiceId: '7', due: '2026-01-31', copy: 2 });
  // @ts-expect-error TS2554 no payload at all
  await client.enqueue(sendInvoice);
  // @ts-expect-error TS2322 no such priority
  await client.enqueue(cleanUp, { olderThanDays: 1 }, { priority: 'urgent' });
  // @ts-expect-error TS2561 units are in the names
  await client.enqueue(cleanUp, { olderThanDays: 1 }, { delay: 1000 });

  await client.enqueueMany(cleanUp, [{ olderThanDays: 1 }, { olderThanDays: 2 }]);
  // @ts-expect-error TS2769 one wrong payload of several
  await client.enqueueMany(cleanUp, [{ olderThanDays: 1 }, { olderThanDays: '2' }]);
  // @ts-expect-error TS2769 one payload instead of a list
  await client.enqueueMany(cleanUp, { olderThanDays: 1 });
}

export async function enqueueSeveral(client: Client, days: readonly number[]): Promise<void> {
  const [invoice, cleaning] = await client.enqueueMany(
    [
      { job: sendInvoice, payload: { invoiceId: '7', due: '2026-01-31' }, options: { delayMs: 1000 } },
      { job: cleanUp, payload: { olderThanDays: 1 } },
    ],
    { context: { tenantId: 'acme' } },
  );
  expectTypeOf([invoice, cleaning]).toEqualTypeOf<Contract.SendResult[]>();
  await client.enqueueMany(days.map((olderThanDays) => ({ job: cleanUp, payload: { olderThanDays } })));
  await client.enqueueMany([]);
  await client.enqueueMany([
    { job: sendInvoice, payload: { invoiceId: '7', due: '2026-01-31' } },
    // @ts-expect-error TS2322 the payload of another job
    { job: cleanUp, payload: { olderThanDays: 'seven' } },
    // @ts-expect-error TS2353 a transaction belongs to the call
    { job: cleanUp, payload: { olderThanDays: 1 }, options: { tx: {} } },
  ]);
  // @ts-expect-error TS2769 each job has its own time
  await client.enqueueMany([{ job: cleanUp, payload: { olderThanDays: 1 } }], { delayMs: 1000 });
}

export const charge = defineJob({
  name: 'charge',
  payload: z.object({ order: z.string() }),
  handle: async ({ order }) => ({
    order,
    at: new Date(),
    items: [1, new Date()] as [number, Date],
    note: undefined as string | undefined,
    refund: () => order,
  }),
});

export async function results(client: Client, id: string): Promise<void> {
  // As JSON gives it back: dates are texts, and methods are gone.
  expectTypeOf(await client.result(charge, id, { timeoutMs: 1000 })).toEqualTypeOf<{
    order: string;
    at: string;
    items: [number, string];
    note: string | undefined;
  } | null>();
  expectTypeOf(await client.result(cleanUp, id, { timeoutMs: 0 })).toEqualTypeOf<{
    removed: number;
  } | null>();
  expectTypeOf(await client.result(sendInvoice, id, { timeoutMs: 0 })).toEqualTypeOf<null>();
  expectTypeOf(await client.result({} as Job, id, { timeoutMs: 0 })).toEqualTypeOf<unknown>();
  // @ts-expect-error TS2741 nobody waits for ever
  await client.result(cleanUp, id, {});
  // @ts-expect-error TS2554 the id alone says nothing of the type
  await client.result(id, { timeoutMs: 1000 });
}

export const schedules = [
  defineSchedule({ name: 'nightly', cron: '0 2 * * *', job: cleanUp, payload: { olderThanDays: 30 } }),
  // @ts-expect-error TS2322 a schedule's payload is checked like any other
  defineSchedule({ name: 'wrong', cron: '0 2 * * *', job: cleanUp, payload: { olderThanDays: '30' } }),
  // @ts-expect-error TS2741 a schedule needs a payload
  defineSchedule({ name: 'none', cron: '0 2 * * *', job: cleanUp }),
];

export const jobs = [
  // @ts-expect-error TS2322 a key is a text or null
  defineJob({ name: 'a', payload: z.object({ n: z.number() }), idempotencyKey: ({ n }) => n, handle() {} }),
  defineJob({
    name: 'b',
    payload: z.object({ n: z.number() }),
    // @ts-expect-error TS2339 a key is made of the payload
    idempotencyKey: ({ m }) => m,
    handle() {},
  }),
  // @ts-expect-error TS2345 a job needs a handler
  defineJob({ name: 'c', payload: z.object({}) }),
  // @ts-expect-error TS2353 a plain object is no schema
  defineJob({ name: 'd', payload: { id: 'string' }, handle() {} }),
  // @ts-expect-error TS2322 the timeout is in milliseconds
  defineJob({ name: 'e', payload: z.any(), timeoutMs: '5 minutes', handle() {} }),
];

// Any job fits into an app, whatever its payload; and a job without a payload is enqueued with an empty one.
const app = createApp({ jobs: [sendInvoice, cleanUp], accepts: { default: [cleanUp] } });
expectTypeOf(connect(app, memory())).toEqualTypeOf<Client>();
export const nothing = defineJob({ name: 'nothing', payload: z.object({}), handle() {} });
export const test = testJobs(nothing, cleanUp);
await test.enqueue(nothing, {});
await test.enqueue(cleanUp, { olderThanDays: 1 });
// @ts-expect-error TS2322 the testing kit checks payloads too
await test.enqueue(cleanUp, { olderThanDays: '1' });
