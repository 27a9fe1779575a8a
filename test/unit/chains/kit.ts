/** A studio whose videos go through a chain of three links. */

import * as z from 'zod';
import { createApp, defineJob } from '../../../core/index.ts';
import { testApp } from '../../testing/index.ts';

export function studio() {
  const runs: string[] = [];
  const fails = new Set<string>();
  const ran = (what: string, { id }: { readonly id: string }) => {
    runs.push(`${what} ${id}`);
    if (fails.has(what)) throw new Error(`${what} is broken`);
  };
  const probe = defineJob({
    name: 'probe',
    payload: z.object({ file: z.string() }),
    maxRetries: 0,
    async handle({ file }, ctx) {
      ran('probe', ctx);
      return { file, seconds: 90 };
    },
  });
  const thumbnail = defineJob({
    name: 'thumbnail',
    payload: z.object({ file: z.string() }),
    maxRetries: 0,
    async handle({ file }, ctx) {
      ran('thumbnail', ctx);
      return `${file}.png`;
    },
  });
  const transcode = defineJob({
    name: 'transcode',
    payload: z.object({ file: z.string(), seconds: z.number() }),
    maxRetries: 0,
    async handle({ file, seconds }, ctx) {
      ran('transcode', ctx);
      return { file: `${file}.webm`, seconds };
    },
  });
  const publish = defineJob({
    name: 'publish',
    payload: z.tuple([z.string(), z.object({ file: z.string(), seconds: z.number() })]),
    maxRetries: 0,
    async handle([image, video], ctx) {
      ran('publish', ctx);
      return { page: `${image} ${video.file} ${ctx.context.tenantId ?? 'nobody'}` };
    },
  });
  const t = testApp(createApp({ jobs: [probe, thumbnail, transcode, publish] }));
  return { ...t, runs, fails, probe, thumbnail, transcode, publish };
}
