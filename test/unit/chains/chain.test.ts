import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createApp, defineJob } from '../../../core/index.ts';
import { clearQueue } from '../../../core/operations/forget-jobs.ts';
import { testApp, testJobs } from '../../testing/index.ts';
import { studio } from './kit.ts';

describe('a chain', () => {
  it('hands results on, to one job and to several, with the context', async () => {
    const { client, drain, runs, probe, thumbnail, transcode, publish } = studio();
    const chain = await client.chain(
      [probe, [thumbnail, transcode], publish],
      { file: 'a.mov' },
      { id: 'a', context: { tenantId: 'acme' } },
    );
    expect(chain).toEqual({
      id: 'a',
      ids: ['chain.a.1', ['batch.chain.a.2.0', 'batch.chain.a.2.1'], 'chain.a.3'],
    });
    expect(await client.chains.get('a')).toMatchObject({ state: 'running', link: 1 });
    expect((await drain()).map(({ outcome }) => outcome)).toEqual(['acked', 'acked', 'acked', 'acked']);
    expect(runs).toEqual([
      'probe chain.a.1',
      'thumbnail batch.chain.a.2.0',
      'transcode batch.chain.a.2.1',
      'publish chain.a.3',
    ]);
    expect(await client.result(publish, chain.ids[2], { timeoutMs: 0 })).toEqual({
      page: 'a.mov.png a.mov.webm acme',
    });
    expect(await client.chains.get('a')).toMatchObject({
      state: 'completed',
      link: 3,
      links: [
        { link: 1, status: 'completed', jobs: [{ id: 'chain.a.1', job: 'probe' }] },
        { link: 2, status: 'completed', jobs: [{ job: 'thumbnail' }, { job: 'transcode' }] },
        { link: 3, status: 'completed', jobs: [{ record: { chain: { id: 'a', link: 3 } } }] },
      ],
    });
    expect(await client.chain([probe], { file: 'b' }, { id: 'a' })).toMatchObject({ duplicate: true });
    expect(await drain()).toEqual([]);
  });

  it.each(['remove', 'clear'] as const)('is cancelled when its next link is taken out by %s', async (way) => {
    const { client, backend, drain, probe, transcode } = studio();
    const later = { job: transcode, options: { delayMs: 60_000 } };
    const { ids } = await client.chain([probe, later], { file: 'a' }, { id: 'a' });
    await drain();
    expect((await client.chains.get('a'))?.state).toBe('running');
    if (way === 'remove') expect(await client.remove(ids[1])).toBe(true);
    else expect(await clearQueue(client, 'default')).toBe(1);
    expect(await client.chains.get('a')).toMatchObject({ state: 'cancelled', link: 1 });
    expect(await backend.admin!.stats('default')).toMatchObject([{ delayed: 0 }]);
  });

  it('is completed when the record of its last link is not kept', async () => {
    const job = (name: string, parts = {}) =>
      defineJob({ name, payload: z.any(), handle: async () => name, ...parts });
    const [first, last] = [job('first'), job('last', { retention: { completedMs: 0 } })];
    const { client, drain } = testApp(createApp({ jobs: [first, last] }));
    await client.chain([first, last], {}, { id: 'a' });
    await drain();
    expect((await client.chains.get('a'))?.state).toBe('completed');
  });

  it('gives each link options of its own', async () => {
    const { client, drain, advance, status, probe, transcode } = studio();
    const { ids } = await client.chain(
      [
        { job: probe, options: { name: 'first' } },
        { job: transcode, options: { delayMs: 60_000, priority: 'high' } },
      ],
      { file: 'a' },
    );
    await drain();
    expect(await status(ids[1])).toMatchObject({ status: 'pending', priority: 2 });
    advance(60_000);
    expect(await drain()).toMatchObject([{ outcome: 'acked', job: 'transcode' }]);
  });

  it('stops at a dead letter, and goes on when that is retried', async () => {
    const { client, backend, drain, fails, runs, probe, thumbnail, transcode, publish } = studio();
    fails.add('probe').add('transcode');
    const { id } = await client.chain([probe, [thumbnail, transcode], publish], { file: 'a' });
    const retry = async (dead: string) => {
      expect(await drain()).toMatchObject([{}]);
      expect(await client.chains.get(id)).toMatchObject({ state: 'failed' });
      fails.delete(dead);
      const letters = await backend.admin!.deadLetters.list({});
      expect(letters.map(({ job }) => job)).toEqual([dead]);
      await backend.admin!.deadLetters.retry(letters.map(({ id }) => id));
    };
    await retry('probe');
    fails.add('thumbnail');
    await drain();
    fails.delete('thumbnail');
    fails.delete('transcode');
    const letters = await backend.admin!.deadLetters.list({});
    expect(letters.length).toBe(2);
    for (const letter of letters) {
      await backend.admin!.deadLetters.retry([letter.id]);
      await drain();
    }
    expect(await client.chains.get(id)).toMatchObject({ state: 'completed' });
    expect(runs.filter((run) => run.startsWith('publish')).length).toBe(1);
  });

  it('is waited for by the id of its last link, also before that is enqueued', async () => {
    const { client, clock, drain, fails, probe, transcode } = studio();
    const pass = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      clock.advance(1_000);
    };
    const good = await client.chain([probe, { job: transcode, options: { delayMs: 500 } }], { file: 'a' });
    const result = client.result(transcode, good.ids[1], { timeoutMs: 60_000 });
    await pass();
    await drain();
    await pass();
    await drain();
    await pass();
    expect(await result).toEqual({ file: 'a.webm', seconds: 90 });
    fails.add('probe');
    const third = await client.chain([probe, transcode], { file: 'c' }, { id: 'c' });
    await expect(client.result(transcode, third.ids[1], { timeoutMs: 0 })).rejects.toThrow(
      'has not ended within 0 ms',
    );
    await drain();
    await expect(client.result(transcode, third.ids[1], { timeoutMs: 9_000 })).rejects.toThrow(
      'Job chain.c.2 was not enqueued: job chain.c.1 has failed (exhausted): HANDLER: probe is broken',
    );
    for (const id of ['chain.c.3', 'chain.x.2', 'batch.chain.c.2.0'])
      await expect(client.result(transcode, id, { timeoutMs: 9_000 })).rejects.toThrow('is not known here');
  });

  it('that is cancelled starts no further link', async () => {
    const { client, drain, runs, probe, thumbnail, transcode, publish } = studio();
    const { id } = await client.chain([probe, [thumbnail, transcode], publish], { file: 'a' });
    expect(await client.chains.cancel(id)).toBe('cancelled');
    expect(await client.chains.cancel('other')).toBe('unknown');
    await drain();
    expect(runs).toEqual([]);
    const second = await client.chain([[thumbnail, transcode], publish], { file: 'a', seconds: 1 });
    expect(await client.chains.cancel(second.id)).toBe('cancelled');
    await drain();
    expect(runs).toEqual([]);
    expect(await client.chains.get(second.id)).toMatchObject({ state: 'cancelled', link: 1 });
  });
});

describe('a result that cannot be handed on', () => {
  const text = defineJob({
    name: 'text',
    payload: z.string(),
    handle: (text): unknown => (text === 'bigint' ? 1n : text === 'large' ? 'x'.repeat(70_000) : text),
  });
  const take = defineJob({ name: 'take', payload: z.number(), handle() {} });

  it.each(['bigint', 'large', 'a text'])('is a dead letter that names both jobs: %s', async (payload) => {
    const { client, drain, deadLetters } = testJobs(text, take);
    await client.chain([text, take as never], payload);
    expect(await drain()).toMatchObject([{ outcome: 'dead-lettered', reason: 'permanent' }]);
    const [letter] = await deadLetters();
    expect(letter!.error).toMatch(/Job "text" has succeeded, .* job "take", the next link of chain job-0001/);
  });

  it('of several jobs makes the next one a dead letter, which can be mended', async () => {
    const { client, drain, deadLetters } = testJobs(text, take);
    await client.chain([[text, text], take as never], 'a');
    await drain();
    expect(await deadLetters()).toMatchObject([{ id: 'chain.job-0001.2', job: 'take', reason: 'rejected' }]);
  });
});

describe('is refused', () => {
  const plain = defineJob({ name: 'plain', payload: z.any(), handle: () => 1 });
  const unique = defineJob({
    name: 'unique',
    payload: z.any(),
    unique: { key: () => 'a', during: 'waiting' },
    handle: () => 1,
  });
  const other = defineJob({ name: 'other', payload: z.any(), handle: () => 1 });
  const { client } = testApp(createApp({ jobs: [plain, unique] }));

  it.each([
    ['an empty chain', [], {}, /a chain to be a list of 1 to 100 links, got 0/],
    ['an empty link', [plain, []], {}, /a link of a chain to be a list of 1 to 100 jobs, got 0/],
    ['a job that is not in the app', [plain, other], {}, /"other" is not among the app's jobs/],
    ['a unique job', [plain, unique], {}, /"unique" is unique, .*: a chain would end with it/],
    ['an option that there is not', [plain], { idd: 'x' }, /an option of chain\(\), got "idd"/],
    [
      'an option of a link',
      [{ job: plain, options: { delay: 1 } }],
      {},
      /a link of chain\(\), got "delay".*delayMs/,
    ],
    ['a bad id', [plain], { id: 'a b' }, /the id of a chain to match/],
  ])('%s', async (_, links, options, message) => {
    await expect(client.chain(links as never, null as never, options as never)).rejects.toThrow(message);
  });
});
