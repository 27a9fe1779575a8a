/** One chain on the dashboard, what its jobs say of it, and jobs that sleep. */

import { expect, it } from 'vitest';
import * as z from 'zod';
import { type Client, createApp, defineJob } from '../../../core/index.ts';
import { createDashboard } from '../../../core/surfaces/dashboard/index.ts';
import { testApp } from '../../testing/index.ts';
import { studio } from '../chains/kit.ts';
import { asker, expectSafe, pageHeaders } from './kit.ts';

async function pageOf(client: Client, role: 'operator' | 'reader' = 'operator') {
  const handler = createDashboard(client, {
    authorize: () => ({ actor: 'ada', role }),
    testing: { newRequestId: () => 'made-id' },
  });
  const ask = asker(handler);
  const headers = await pageHeaders(ask, {});
  return {
    get: (path: string) => ask(`/api/${path}`, { headers }),
    post: (path: string) => ask(`/api/${path}`, { body: {}, headers }),
  };
}

it('shows the links of a chain without what they have returned, and cancels it', async () => {
  const { client, drain, probe, thumbnail, transcode, publish } = studio();
  await client.chain([probe, [thumbnail, transcode], publish], { file: 'a' }, { id: 'a' });
  const { get, post } = await pageOf(client);
  const before = await get('chains/a');
  expectSafe(before);
  expect(before.body).toMatchObject({
    ...{ id: 'a', state: 'running', link: 1 },
    links: [
      { link: 1, jobs: [{ id: 'chain.a.1', job: 'probe', record: { status: 'pending', error: null } }] },
      {
        link: 2,
        jobs: [
          { job: 'thumbnail', record: null },
          { job: 'transcode', record: null },
        ],
      },
      { link: 3, jobs: [{ id: 'chain.a.3', job: 'publish', record: null }] },
    ],
  });
  await drain();
  const { body, text } = await get('chains/a');
  expect(body.state).toBe('completed');
  expect(text).not.toContain('webm');
  expect((await get('jobs/chain.a.1')).body.record.chain).toMatchObject({ id: 'a', link: 1 });
  expect((await get('batches/chain.a.2')).body.chain).toEqual({ chain: 'a', link: 2 });
  expect((await post('chains/a/cancel')).body).toMatchObject({ status: 409 });

  await client.chain([probe, publish] as never, { file: 'b' } as never, { id: 'b' });
  const reader = await pageOf(client, 'reader');
  expect((await reader.post('chains/b/cancel')).body).toMatchObject({ status: 403 });
  expect((await post('chains/b/cancel')).body.message).toContain('no further link begins');
  for (const path of ['none', '%3Cb%3E'])
    expect((await get(`chains/${path}`)).body).toMatchObject({ status: 404 });
  const { entries } = await client.stores.audit!.page({});
  expect(entries[0]).toMatchObject({ action: 'chain.cancel', target: 'b', count: 1, phase: 'done' });
});

it('lists a job that sleeps apart from one that is delayed, and from one that is retried', async () => {
  const payload = z.object({});
  const naps = defineJob({
    name: 'naps',
    payload,
    async handle(_, ctx) {
      await ctx.sleep('2h');
    },
  });
  const waits = defineJob({
    name: 'waits',
    payload,
    async handle(_, ctx) {
      await ctx.waitFor('paid', { key: '<b>', timeoutMs: '3h' });
    },
  });
  const fails = defineJob({
    name: 'fails',
    payload,
    async handle() {
      throw new Error('down');
    },
  });
  const { client, drain } = testApp(createApp({ jobs: [naps, waits, fails] }));
  for (const one of [naps, waits, fails]) await client.enqueue(one, {});
  await drain();
  await client.enqueue(naps, {}, { delayMs: 60_000 });
  const { get } = await pageOf(client);
  const { jobs } = (await get('jobs')).body as {
    jobs: { job: string; status: string; sleeps: string | null }[];
  };
  expect(jobs.map(({ job, sleeps }) => [job, sleeps])).toEqual([
    ['naps', null],
    ['fails', null],
    ['waits', expect.stringContaining('waits for event paid with key "<b>", until ')],
    ['naps', expect.stringContaining('sleeps until ')],
  ]);
});
