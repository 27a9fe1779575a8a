import { parse } from 'node:path';
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import * as z from 'zod';
import { defineJob } from '../../../core/index.ts';
import type { Services } from '../services.ts';

export function thumbnailJob({ files }: Services) {
  return defineJob({
    name: 'image.thumbnail',
    queue: 'images', // a queue of its own, so that it can get workers of its own
    payload: z.object({ file: z.string().regex(/^[\w-]+\.png$/), widthPx: z.int().min(16).max(4096) }),
    maxRetries: 1,
    timeoutMs: 15_000,
    retention: { completedMs: 0 }, // the picture itself shows that it is done: no record of millions of them
    async handle({ file, widthPx }) {
      const picture = await buffer(await files.read(file));
      // A picture that claims to be enormous must not fill the memory.
      const image = sharp(picture, { limitInputPixels: 50_000_000 }).resize({ width: widthPx }).webp();
      const { data, info } = await image.toBuffer({ resolveWithObject: true });
      await files.write(`thumbnails/${parse(file).name}-${widthPx}.webp`, data);
      return { width: info.width, height: info.height, bytes: info.size };
    },
  });
}
