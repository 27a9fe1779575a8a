/** An event for jobs on several backends. */

import { expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, type HandlerContext, startWorker } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { ring } from '../core/kit.ts';

it.each([
  ['each with a store of its own', false],
  ['which share a store', true],
])('an event reaches and wakes the jobs on all backends, %s', async (_, shared) => {
  const handle = async (_: unknown, ctx: HandlerContext): Promise<unknown> =>
    (await ctx.waitFor('go', { timeoutMs: '1d' }))?.payload;
  const mail = defineJob({ name: 'mail', payload: z.null(), handle });
  const thumb = defineJob({
    ...{ name: 'thumb', backend: 'fast', queue: 'images' },
    payload: z.null(),
    handle,
  });
  const app = createApp({ jobs: [mail, thumb], signing: ring });
  const backends = { default: memory(), fast: memory() };
  const { steps } = memoryStore();
  const store = shared ? { default: { steps: steps! }, fast: { steps: steps! } } : {};
  const client = connect(app, backends, { store });
  const ids = [(await client.enqueue(mail, null)).id, (await client.enqueue(thumb, null)).id];
  const drained = async () =>
    (await (await startWorker(app, { backend: backends, store, untilIdle: true })).done).counts.acked;
  expect(await drained()).toBe(0);
  expect(await client.emit('go', 'now')).toBe(2);
  expect(await drained()).toBe(2);
  for (const id of ids) expect((await client.status(id))?.output).toBe('now');
});
