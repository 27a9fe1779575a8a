/** The example's clips: a chain that fans out and in, twice. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { addClip } from '../../../examples/app/jobs/clips.ts';
import { writeClip } from '../../../examples/demo/samples.ts';
import { openTestShop } from './shop.ts';

let shop: ReturnType<typeof openTestShop>;
beforeEach(() => {
  shop = openTestShop();
});
afterEach(() => shop.close());

it('shrinks the segments of a clip apart, and publishes it with its poster', async () => {
  const { t, jobs, folder } = shop;
  const file = await writeClip(folder, 30);
  const { id, ids } = await addClip(t.client, jobs, file);
  const results = await t.runFor('1m');
  const ran = (job: string) => results.filter((one) => one.job === job && one.outcome === 'acked').length;
  expect(['clip.probe', 'clip.poster', 'clip.segment', 'clip.shrink', 'clip.publish'].map(ran)).toEqual([
    1, 1, 3, 1, 1,
  ]);
  expect(await t.chains.get(id)).toMatchObject({ state: 'completed' });
  const page = await t.client.result(jobs.publishClip, ids[2], { timeoutMs: 0 });
  expect(page).toMatchObject({
    poster: { file: 'clips/harbour-poster.webp', width: 320, height: 200 },
    clip: { file: 'clips/harbour-small.webp', width: 160, height: 100, frames: 30 },
  });
  expect(JSON.parse(readFileSync(join(folder, 'clips/harbour-small.webp.json'), 'utf8'))).toEqual(page);

  const small = sharp(join(folder, 'clips/harbour-small.webp'), { animated: true });
  const { pages, pageHeight, delay } = await small.metadata();
  expect({ pages, pageHeight, delay }).toEqual({ pages: 30, pageHeight: 100, delay: Array(30).fill(80) });
  // The frames are in their order: the sun goes from left to right.
  const sunAt = async (page: number) => {
    const { data, info } = await sharp(join(folder, 'clips/harbour-small.webp'), { page })
      .extract({ left: 0, top: 40, width: 160, height: 1 })
      .greyscale()
      .raw()
      .toBuffer({ resolveWithObject: true });
    return data.indexOf(Math.max(...data)) / info.channels;
  };
  const places = await Promise.all([2, 11, 12, 23, 24, 28].map(sunAt));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

it('stops at what is no picture', async () => {
  const { t, jobs, folder } = shop;
  writeFileSync(join(folder, 'notes.gif'), 'not a picture');
  const { id } = await addClip(t.client, jobs, 'notes.gif');
  await t.drain();
  expect((await t.deadLetters())[0]).toMatchObject({ job: 'clip.probe', reason: 'permanent' });
  expect((await t.deadLetters())[0]?.error).toMatch(/notes\.gif is no picture: /);
  expect(await t.chains.get(id)).toMatchObject({ state: 'failed', link: 1 });
});

it('goes on after a segment that failed, when that and the clip are retried', async () => {
  const { t, jobs, folder, files } = shop;
  const { id } = await addClip(t.client, jobs, await writeClip(folder, 30));
  const { write } = files;
  files.write = async (name, content) => {
    if (name === 'clips/harbour-12.webp') throw new Error('the disk is full');
    await write(name, content);
  };
  await t.runFor('1d');
  expect(await t.chains.get(id)).toMatchObject({ state: 'failed', link: 2 });
  const [clip] = (await t.deadLetters()).filter(({ job }) => job === 'clip.shrink');
  const batch = /1 of 3 segments failed\. Run longshore batches retry (\S+),/.exec(clip!.error)![1]!;

  files.write = write;
  expect(await t.batches.retryFailed(batch)).toBe(1);
  await t.drain();
  await t.backend.admin!.deadLetters.retry([clip!.id]);
  const again = await t.runFor('1m');
  expect(again.filter(({ job }) => job === 'clip.segment')).toEqual([]);
  expect(await t.chains.get(id)).toMatchObject({ state: 'completed' });
});
