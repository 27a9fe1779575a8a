/** What the compiler must accept and refuse, with valibot. Each marker names the error that has to be there. */

import { type Client, defineJob, defineSchedule, type Job } from 'longshore';
import * as v from 'valibot';
import { expectTypeOf } from 'vitest';

export const resize = defineJob({
  name: 'image.resize',
  payload: v.object({
    path: v.string(),
    width: v.pipe(v.string(), v.transform(Number)),
    format: v.optional(v.picklist(['webp', 'avif']), 'webp'),
  }),
  idempotencyKey(payload) {
    expectTypeOf(payload).toEqualTypeOf<{ path: string; width: number; format: 'webp' | 'avif' }>();
    return `${payload.path}@${payload.width}`;
  },
  async handle(payload, ctx) {
    expectTypeOf(payload).toEqualTypeOf<{ path: string; width: number; format: 'webp' | 'avif' }>();
    await ctx.enqueue(publish, { path: payload.path });
    // @ts-expect-error TS2322 another job's payload, inside a handler
    await ctx.enqueue(publish, { path: payload.width });
  },
});

export const publish = defineJob({
  name: 'image.publish',
  payload: v.strictObject({ path: v.string() }),
  // @ts-expect-error TS2322 a key is a text or null
  idempotencyKey: () => 7,
  handle: ({ path }) => path,
});

expectTypeOf(resize).toEqualTypeOf<
  Job<{ path: string; width: string; format?: 'webp' | 'avif' | undefined }, Promise<void>>
>();

export async function enqueue(client: Client): Promise<void> {
  await client.enqueue(resize, { path: 'a.png', width: '200' });
  // @ts-expect-error TS2322 the schema's output is not its input
  await client.enqueue(resize, { path: 'a.png', width: 200 });
  // @ts-expect-error TS2322 no such format
  await client.enqueue(resize, { path: 'a.png', width: '200', format: 'gif' });
  // @ts-expect-error TS2741 a member is missing
  await client.enqueue(resize, { path: 'a.png' });
  // @ts-expect-error TS2353 a member too many
  await client.enqueue(resize, { path: 'a.png', width: '200', height: '200' });
  // @ts-expect-error TS2769 one wrong payload of several
  await client.enqueueMany(publish, [{ path: 'a.png' }, { path: 1 }]);
}

export const schedules = [
  defineSchedule({ name: 'hourly', everyMs: 3_600_000, job: publish, payload: { path: 'index.html' } }),
  // @ts-expect-error TS2322 a schedule's payload is checked like any other
  defineSchedule({ name: 'wrong', everyMs: 3_600_000, job: publish, payload: { path: null } }),
];
