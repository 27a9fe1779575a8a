/** Limits on the page: who has a slot, why a job waits, and a reset by people who may. */

import { describe, expect, it } from 'vitest';
import type { Client } from '../../../core/index.ts';
import { createBench, enter, expectSafe, expectWrongOption, pageHeaders, send } from './kit.ts';

/** What a payload may bring along, as long as a key may be. */
const hostile =
  `a/b:c%2F?x=1&y#z "'</script><img src=x onerror=alert(1)>\u202e مرحبا 你好 👩‍🚀\n../..${'k'.repeat(256)}`.slice(
    0,
    256,
  );
const key = `job:mail.send:concurrency:${hostile}`;

async function createPage(wrap?: (client: Client) => Client) {
  const bench = createBench({}, wrap);
  const headers = await pageHeaders(bench.ask, await enter(bench.handler));
  const { limits } = bench.client.stores;
  const request = { key, limit: 1, holdMs: 60_000, queue: 'mail', rank: 0 };
  return {
    ...bench,
    limits: limits!,
    get: (path: string) => bench.ask(`/api/${path}`, { headers }),
    post: (path: string, body: unknown) => bench.ask(`/api/${path}`, { headers, body }),
    takes: async (holder: string) => (await limits!.take([{ ...request, holder, owner: holder }]))[0],
  };
}

describe('the limits', () => {
  it('are listed by how their keys begin', async () => {
    const { get, takes, limits, clock } = await createPage();
    await takes('job-1');
    await takes('job-2');
    await limits.hold('pause:mail.send', Infinity);
    const found = await get(`limits?prefix=${encodeURIComponent(key)}`);
    expectSafe(found);
    expect(found.body).toEqual({
      limits: [
        {
          ...{ key, of: 'job', name: 'mail.send', kind: 'concurrency', keyPart: hostile, perKey: true },
          ...{ limit: 1, perMs: null, used: 1, waiting: 1, heldUntil: null },
          holders: [{ id: 'job-1', until: clock.now() + 60_000 }],
        },
      ],
      next: null,
    });
    const first = (await get('limits?max=1')).body;
    expect(first).toMatchObject({ limits: [{ key }], next: key });
    const second = (await get(`limits?max=1&after=${encodeURIComponent(first.next)}`)).body;
    expect(second).toMatchObject({ limits: [{ kind: 'pause', heldUntil: 'reset' }], next: null });
  });

  it('are asked for with a query that is checked', async () => {
    const { get } = await createPage();
    expectWrongOption(await get('limits?max=0'), 'max to be an integer from 1 to 1000');
    expectWrongOption(await get(`limits?prefix=${'x'.repeat(501)}`), 'at most 500 characters');
    expectWrongOption(await get('limits?prefx=x'), 'Did you mean "prefix"?');
  });

  it('say why there are none', async () => {
    const { get } = await createPage((client) => {
      const { limits: _, ...stores } = client.stores;
      return { ...client, stores };
    });
    expect((await get('limits')).body).toEqual({ unavailable: expect.stringContaining('keeps no limits') });
  });
});

describe('a reset', () => {
  it('frees a key whatever its characters, and is in the audit log', async () => {
    const { post, takes, limits, client } = await createPage();
    await takes('job-1');
    const answer = await post('limits/reset', { key });
    expectSafe(answer);
    expect(answer.body.message).toContain('All slots are free');
    expect(await limits.list({})).toEqual([]);
    expect((await post('limits/reset', { key })).body.message).toContain('No slot was in use');
    const { entries } = await client.stores.audit!.page({});
    expect(entries.at(-1)).toMatchObject({ action: 'limit.reset', target: key, phase: 'begun' });
  });

  it('needs a key that can be one', async () => {
    const { post } = await createPage();
    expectWrongOption(await post('limits/reset', {}), 'the key of a limit');
    expectWrongOption(await post('limits/reset', { key: 'a\u0000' }), 'without U+0000');
    expectWrongOption(await post('limits/reset', { key: '\ud800' }), 'key to be a text');
    expectWrongOption(await post('limits/reset', { key, force: true }), 'known members');
  });

  it('is not for readers', async () => {
    const { ask, client } = createBench({ authorize: () => ({ actor: 'ada', role: 'reader' }) });
    await client.stores.limits!.hold(key, 60_000);
    const headers = await pageHeaders(ask, {});
    expect((await ask('/api/limits/reset', { body: { key }, headers })).body).toMatchObject({ status: 403 });
    expect((await ask('/api/limits', { headers })).body.limits).toMatchObject([{ key }]);
  });
});

describe('a job', () => {
  it('says why it waits', async () => {
    const { get, takes, client } = await createPage();
    const { id } = await client.enqueue(send, { to: 'a' });
    expect((await get(`jobs/${id}`)).body.waits).toEqual([
      'no worker is running for queue mail; only a function could take the job',
    ]);
    await takes('job-0');
    await takes(id);
    const [why] = (await get(`jobs/${id}`)).body.waits;
    expect(why).toContain(`for key ${JSON.stringify(hostile)}: 1 of 1 slots in use by job job-0`);
    await client.cancel(id);
    expect((await get(`jobs/${id}`)).body.waits).toEqual([]);
  });
});
