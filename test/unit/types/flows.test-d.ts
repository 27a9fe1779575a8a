/** What the compiler must accept and refuse of chains, and of batches that hand results on. */

import { type Client, defineJob } from 'longshore';
import { expectTypeOf } from 'vitest';
import * as z from 'zod';

export const probe = defineJob({
  name: 'probe',
  payload: z.object({ file: z.string() }),
  handle: async ({ file }) => ({ file, seconds: 9, at: new Date() }),
});
export const thumbnail = defineJob({
  name: 'thumbnail',
  payload: z.object({ file: z.string() }),
  handle: async ({ file }) => `${file}.png`,
});
export const transcode = defineJob({
  name: 'transcode',
  payload: z.object({ file: z.string(), seconds: z.number(), bitrate: z.number().default(1) }),
  handle: ({ file }) => ({ file }),
});
export const publish = defineJob({
  name: 'publish',
  payload: z.tuple([z.string(), z.object({ file: z.string() })]),
  handle: async () => {},
});
export const dated = defineJob({ name: 'dated', payload: z.object({ at: z.date() }), handle() {} });
export const report = defineJob({
  name: 'report',
  payload: z.object({ batchId: z.string(), results: z.array(z.string()), to: z.string() }),
  handle() {},
});

export async function chains(client: Client): Promise<void> {
  const { ids } = await client.chain([probe, [thumbnail, transcode], publish], { file: 'a' });
  expectTypeOf(ids[0]).toEqualTypeOf<string>();
  expectTypeOf(ids[1][1]).toEqualTypeOf<string>();
  expectTypeOf(await client.result(publish, ids[2], { timeoutMs: 1 })).toEqualTypeOf<null>();
  await client.chain([{ job: probe, options: { delayMs: 5 } }, { job: transcode }], { file: 'a' });
  await client.chain([[thumbnail, transcode], publish], { file: 'a', seconds: 1 });
  // @ts-expect-error TS2345 the payload of all jobs of the first link
  await client.chain([[thumbnail, transcode], publish], { file: 'a' });
  // @ts-expect-error TS2322 not the payload of the first job
  await client.chain([probe, transcode], { file: 1 });
  // @ts-expect-error TS2322 the wrong order
  await client.chain([transcode, probe, publish], { file: 'a', seconds: 1 });
  // @ts-expect-error TS2322 what came out of the two stands in another order
  await client.chain([transcode, [probe, thumbnail], publish], { file: 'a', seconds: 1 });
  // @ts-expect-error TS2322 one of the two does not take it
  await client.chain([transcode, [thumbnail, transcode]], { file: 'a', seconds: 1 });
  // @ts-expect-error TS2322 a date is a text when it arrives
  await client.chain([probe, dated], { file: 'a' });
  // @ts-expect-error TS2322 a job with options does not take it either
  await client.chain([thumbnail, { job: transcode, options: { delayMs: 5 } }], { file: 'a' });
  // @ts-expect-error TS2345 no links
  await client.chain([], { file: 'a' });
  // @ts-expect-error TS2353 a moment would be the same for each run
  await client.chain([{ job: probe, options: { runAt: new Date() } }], { file: 'a' });
}

export async function results(client: Client, files: { file: string }[]): Promise<void> {
  await client.batch('all', files, {
    job: thumbnail,
    onResults: report,
    resultsPayload: { to: 'a@b.example' },
  });
  await client.batch('all', files, {
    map: ({ file }) => ({ job: thumbnail, payload: { file } }),
    onResults: report,
    resultsPayload: { to: 'a@b.example' },
  });
  // @ts-expect-error TS2345 a member of its payload is missing
  await client.batch('all', files, { job: thumbnail, onResults: report });
  // @ts-expect-error TS2345 the children return something else
  await client.batch('all', files, { job: probe, onResults: report, resultsPayload: { to: 'a@b.example' } });
  await client.batch('all', files, {
    // @ts-expect-error TS2322 so do those of map
    map: ({ file }) => ({ job: probe, payload: { file } }),
    onResults: report,
    resultsPayload: { to: 'a@b.example' },
  });
}
