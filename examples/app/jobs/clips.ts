/**
 * A clip for the shop's page, an animated picture: looked at, cut into segments that are made smaller at the same time, joined again and
 * published. A chain of jobs, where each gets what the one before has returned.
 */

import { parse } from 'node:path';
import { buffer } from 'node:stream/consumers';
import sharp, { type Sharp } from 'sharp';
import * as z from 'zod';
import { type Client, defineJob, PermanentError } from '../../../core/index.ts';
import type { Services } from '../services.ts';

/** Of each of the jobs. */
const common = { queue: 'images', timeoutMs: 15_000 } as const;
const framesPerSegment = 12;
const widthPx = 160;
/** Of all frames together: a clip that claims to be enormous must not fill the memory. */
const limitInputPixels = 50_000_000;

const file = z.string().regex(/^[\w-]+\.(gif|webp)$/);
const written = z.object({ file: z.string(), width: z.int(), height: z.int(), bytes: z.int() });
const clip = z.object({ file, frames: z.int().min(1), delaysMs: z.array(z.int().min(0)) });
const segment = z.object({ file, from: z.int().min(0), frames: z.int().min(1) });
const joined = written.extend({ frames: z.int() });

export type ClipJobs = ReturnType<typeof clipJobs>;

export function clipJobs({ files }: Services) {
  const nameOf = (file: string, end: string) => `clips/${parse(file).name}-${end}.webp`;
  const read = async (name: string) => buffer(await files.read(name));

  async function write(name: string, image: Sharp) {
    const { data, info } = await image.toBuffer({ resolveWithObject: true });
    await files.write(name, data);
    return { file: name, width: info.width, height: info.pageHeight ?? info.height, bytes: info.size };
  }

  const probeClip = defineJob({
    name: 'clip.probe',
    ...common,
    payload: z.object({ file }),
    async handle({ file }) {
      const source = await read(file);
      const found = await sharp(source, { animated: true, limitInputPixels })
        .metadata()
        .catch((cause: Error) => {
          throw new PermanentError(`${file} is no picture: ${cause.message}`, { cause });
        });
      const frames = found.pages ?? 1;
      return { file, frames, delaysMs: found.delay ?? Array<number>(frames).fill(0) };
    },
  });

  /** The frame in the middle, large. */
  const drawPoster = defineJob({
    name: 'clip.poster',
    ...common,
    payload: clip,
    async handle({ file, frames }) {
      const middle = sharp(await read(file), { page: Math.floor(frames / 2), limitInputPixels });
      return write(nameOf(file, 'poster'), middle.webp());
    },
  });

  const shrinkSegment = defineJob({
    name: 'clip.segment',
    ...common,
    payload: segment,
    async handle({ file, from, frames }) {
      const part = sharp(await read(file), { page: from, pages: frames, limitInputPixels });
      return write(
        nameOf(file, String(from)),
        part.resize({ width: widthPx }).webp({ lossless: true, effort: 0 }),
      );
    },
  });

  const shrinkClip = defineJob({
    name: 'clip.shrink',
    ...common,
    payload: clip,
    async handle({ file, frames, delaysMs }, ctx) {
      const starts = Array.from(
        { length: Math.ceil(frames / framesPerSegment) },
        (_, i) => i * framesPerSegment,
      );
      const segments = starts.map((from) => ({
        file,
        from,
        frames: Math.min(framesPerSegment, frames - from),
      }));
      const batch = await ctx.batch('segments', segments, { job: shrinkSegment, keepResults: true });
      // Meanwhile the job holds no worker. It goes on here with what the segments have returned, in their order.
      const end = await ctx.waitForBatch<z.infer<typeof written>>(batch, { timeoutMs: '1h' });
      if (!end) throw new Error('The segments were not ready within an hour.');
      if (end.failed > 0)
        throw new PermanentError(
          `${end.failed} of ${end.total} segments failed. Run longshore batches retry ${batch.id}, then retry this dead letter.`,
        );
      const parts = end.results!.flatMap((part) => part ?? []);
      const strips = await Promise.all(
        parts.map(async (part) =>
          sharp(await read(part.file), { animated: true })
            .ensureAlpha()
            .raw()
            .toBuffer(),
        ),
      );
      const { width, height: pageHeight } = parts[0]!;
      const raw = { width, height: pageHeight * frames, channels: 4, pageHeight } as const;
      const image = sharp(Buffer.concat(strips), { raw }).webp({ delay: delaysMs });
      return { ...(await write(nameOf(file, 'small'), image)), frames };
    },
  });

  const publishClip = defineJob({
    name: 'clip.publish',
    ...common,
    payload: z.tuple([written, joined]),
    async handle([poster, clip]) {
      const page = { poster, clip };
      await files.write(`${clip.file}.json`, JSON.stringify(page));
      return page;
    },
  });

  return { probeClip, drawPoster, shrinkSegment, shrinkClip, publishClip };
}

/** What the web app does when a clip was uploaded. Resolves with the chain: its id tells how far it is. */
export function addClip(client: Client, jobs: ClipJobs, file: string) {
  const { probeClip, drawPoster, shrinkClip, publishClip } = jobs;
  return client.chain([probeClip, [drawPoster, shrinkClip], publishClip], { file });
}
