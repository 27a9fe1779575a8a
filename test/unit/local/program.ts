/** A small program as a user would write it: `node program.ts <file>`; prints what happens to its jobs. */

import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { createApp, defineJob, defineSchedule, keyRing } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { startLocal } from '../../../local/index.ts';

const say = (text: string) => process.stdout.write(`${text}\n`);
const job = defineJob({
  name: 'nap',
  payload: z.object({ ms: z.number() }),
  async handle({ ms }, ctx) {
    say(`nap ${ms} begins`);
    await delay(ms, undefined, { signal: ctx.signal });
    say(`nap ${ms} ends`);
  },
});
const beat = defineJob({ name: 'beat', payload: z.null(), handle: async () => say('beat') });
const app = createApp({
  jobs: [job, beat],
  schedules: [defineSchedule({ name: 'beat', everyMs: 1_000, job: beat, payload: null })],
  signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
});
const local = await startLocal(app, { backend: sqlite(process.argv[2]!), drainMs: 1_000, logger: false });
await local.client.enqueue(job, { ms: 700 });
await local.client.enqueue(job, { ms: 60_000 });
const summary = await local.done;
say(`stopped ${JSON.stringify(summary)}`);
