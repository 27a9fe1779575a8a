/** Stopped jobs on the page: what is paused, which breakers are open, and who may let them run again. */

import { describe, expect, it } from 'vitest';
import type { Client } from '../../../core/index.ts';
import { createBench, enter, expectSafe, pageHeaders, send } from './kit.ts';

const name = 'mail.send';

async function createPage(wrap?: (client: Client) => Client) {
  const bench = createBench({}, wrap);
  const headers = await pageHeaders(bench.ask, await enter(bench.handler));
  return {
    ...bench,
    limits: bench.client.stores.limits!,
    get: (path: string) => bench.ask(`/api/${path}`, { headers }),
    post: (path: string) => bench.ask(`/api/${path}`, { headers, body: {} }),
  };
}

/** As a breaker does that opens: three failures, and nobody begins for a minute. */
async function open({ limits, clock }: Awaited<ReturnType<typeof createPage>>): Promise<number> {
  for (const holder of ['a#1', 'b#1', 'c#1'])
    await limits.take([
      {
        ...{ key: `breaker:${name}:failures`, holder, owner: holder, limit: 100 },
        ...{ holdMs: 3_600_000, rank: 0, queue: 'mail' },
      },
    ]);
  await limits.hold(`breaker:${name}:open`, 60_000);
  return clock.now() + 60_000;
}

const paused = { job: name, state: 'paused', until: null, failures: 0, waiting: 0 };

describe('stopped jobs', () => {
  it('are listed, and so they are on the overview and with a job that waits', async () => {
    const b = await createPage();
    expect((await b.get('stopped')).body).toEqual({ rows: [] });
    const until = await open(b);
    await b.post(`stopped/${name}/pause`);
    const stopped = [paused, { job: name, state: 'open', until, failures: 3, waiting: 0 }];
    const found = await b.get('stopped');
    expectSafe(found);
    expect(found.body).toEqual({ rows: stopped });
    expect((await b.get('overview?last=live')).body.stopped).toEqual(stopped);
    const { id } = await b.client.enqueue(send, { to: 'a' });
    expect((await b.get(`jobs/${id}`)).body.stopped).toEqual(stopped);
    await b.client.cancel(id);
    expect((await b.get(`jobs/${id}`)).body.stopped).toEqual([]);
  });

  it('of other names that begin alike are not with a job', async () => {
    const b = await createPage();
    await b.limits.hold(`pause:${name}2`, Infinity);
    await b.limits.hold(`breaker:${name}2:open`, 60_000);
    const { id } = await b.client.enqueue(send, { to: 'a' });
    expect((await b.get(`jobs/${id}`)).body.stopped).toEqual([]);
    expect((await b.get('stopped')).body.rows).toHaveLength(2);
  });

  it('are told of with why there are none', async () => {
    const b = await createPage((client) => {
      const { limits: _, ...stores } = client.stores;
      return { ...client, stores };
    });
    expect((await b.get('stopped')).body).toEqual({
      unavailable: expect.stringContaining('keeps no limits'),
    });
    expect((await b.get('overview?last=live')).body.stopped).toEqual([]);
    expect((await b.post(`stopped/${name}/pause`)).body).toMatchObject({ code: 'CONFIG' });
  });
});

describe('an operator', () => {
  it('pauses, resumes and closes, and is in the audit log', async () => {
    const b = await createPage();
    expect((await b.post(`stopped/${name}/pause`)).body.message).toContain('is paused');
    expect((await b.get('stopped')).body.rows).toEqual([paused]);
    expect((await b.post(`stopped/${name}/resume`)).body.message).toContain('is resumed');
    await open(b);
    expect((await b.post(`stopped/${name}/close-breaker`)).body.message).toContain('is closed');
    expect((await b.get('stopped')).body).toEqual({ rows: [] });
    const { entries } = await b.client.stores.audit!.page({});
    const done = entries.filter(({ phase }) => phase === 'done').toReversed();
    expect(done.map(({ action, target, actor, count }) => [action, target, actor, count])).toEqual([
      ['job.pause', name, 'development', 1],
      ['job.resume', name, 'development', 1],
      ['job.close-breaker', name, 'development', 1],
    ]);
  });

  it.each(['pause', 'resume', 'close-breaker'])('cannot %s what the app does not have', async (verb) => {
    const b = await createPage();
    const answer = await b.post(`stopped/mail.sent/${verb}`);
    expectSafe(answer);
    expect(answer.body).toMatchObject({
      status: 404,
      detail: 'There is no job "mail.sent" here. Did you mean "mail.send"?',
    });
    expect(await b.limits.list({})).toEqual([]);
  });
});

it('a reader sees them, and changes nothing', async () => {
  const { ask, client } = createBench({ authorize: () => ({ actor: 'ada', role: 'reader' }) });
  await client.stores.limits!.hold(`pause:${name}`, Infinity);
  const headers = await pageHeaders(ask, {});
  for (const verb of ['pause', 'resume', 'close-breaker'])
    expect((await ask(`/api/stopped/${name}/${verb}`, { body: {}, headers })).body).toMatchObject({
      status: 403,
    });
  expect((await ask('/api/stopped', { headers })).body.rows).toEqual([paused]);
});
