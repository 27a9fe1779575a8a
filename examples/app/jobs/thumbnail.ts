import { rename } from 'node:fs/promises';
import { join, parse } from 'node:path';
import sharp from 'sharp';
import * as z from 'zod';
import { defineJob } from '../../../core/index.ts';
import type { Services } from '../services.ts';

export function thumbnailJob({ folder }: Services) {
  return defineJob({
    name: 'image.thumbnail',
    queue: 'images', // a queue of its own, so that it can get workers of its own
    payload: z.object({ file: z.string().regex(/^[\w-]+\.png$/), widthPx: z.int().min(16).max(4096) }),
    maxRetries: 1,
    timeoutMs: 15_000,
    async handle({ file, widthPx }, ctx) {
      const path = join(folder, 'thumbnails', `${parse(file).name}-${widthPx}.webp`);
      const draft = `${path}.${ctx.id}`;
      // A picture that claims to be enormous must not fill the memory.
      const image = sharp(join(folder, file), { limitInputPixels: 50_000_000 });
      const { width, height, size } = await image.resize({ width: widthPx }).webp().toFile(draft);
      await rename(draft, path);
      return { width, height, bytes: size };
    },
  });
}
