/** What a change must bring along: our own page, the role of an operator, a token of the session, and JSON. */

import { describe, expect, it } from 'vitest';
import { createBench, enter, expectSafe, expectWrongOption, origin, pageHeaders } from './kit.ts';

const path = '/api/schedules/hourly/run';
const body = {};

async function createPage(options = {}) {
  const bench = createBench(options);
  const headers = await pageHeaders(bench.ask, await enter(bench.handler));
  return { ...bench, headers };
}

async function expectRefused(
  changed: Readonly<Record<string, string | null>>,
  expected: { status: number; code: string },
) {
  const { ask, headers } = await createPage();
  const all = Object.entries({ ...headers, ...changed }).filter(([, value]) => value !== null);
  const answer = await ask(path, { body, headers: Object.fromEntries(all) as Record<string, string> });
  expectSafe(answer);
  expect(answer.body).toMatchObject(expected);
}

describe('a change', () => {
  it.each(['cross-site', 'same-site', 'none'])('is refused from another page (%s)', (site) =>
    expectRefused({ 'sec-fetch-site': site }, { status: 403, code: 'FORBIDDEN' }),
  );

  it.each(['https://evil.example', 'http://localhost:9999', 'null', 'http://evil.example:4020'])(
    'is refused from the origin %s',
    (from) => expectRefused({ origin: from }, { status: 403, code: 'FORBIDDEN' }),
  );

  it.each([null, '', 'x', '99999999999999.x', `99999999999999.${'0'.repeat(64)}`])(
    'is refused with the token %s',
    (token) => expectRefused({ 'x-longshore-token': token }, { status: 403, code: 'TOKEN' }),
  );

  it('is refused without JSON', () =>
    expectRefused({ 'content-type': 'text/plain' }, { status: 415, code: 'REQUEST' }));

  it('takes no query', async () => {
    const { ask, headers, client } = await createPage();
    expectWrongOption(await ask('/api/queues/mail/pause?x=1', { body, headers }), 'known members');
    expect(await client.backend.admin!.stats('mail')).not.toMatchObject([{ paused: true }]);
  });

  it('is refused with the token of another session, and with one that is too old', async () => {
    const { ask, handler, headers, clock } = await createPage();
    const other = await enter(handler);
    expect((await ask(path, { body, headers: { ...headers, ...other } })).body.code).toBe('TOKEN');
    clock.advance(12 * 3_600_000);
    expect((await ask(path, { body, headers })).body.code).toBe('TOKEN');
  });

  it('is refused to a reader, before anything else is looked at', async () => {
    const { ask } = createBench({ authorize: () => ({ actor: 'ada', role: 'reader' }) });
    const headers = await pageHeaders(ask, {});
    for (const change of ['queues/mail/clear', 'jobs/x/cancel', 'dead/retry', 'dead/x/edit', 'faults/kill']) {
      const answer = await ask(`/api/${change}`, { body, headers });
      expect(answer.body).toMatchObject({ status: 403, code: 'FORBIDDEN' });
      expect(answer.body.detail).toContain('is a reader');
    }
  });

  it('is none with GET, and nothing else is with POST', async () => {
    const { ask, headers } = await createPage();
    expect(await ask(path, { headers })).toMatchObject({ status: 405, body: { code: 'REQUEST' } });
    const posted = await ask('/api/jobs', { body, headers });
    expect(posted).toMatchObject({ status: 405 });
    expect(posted.headers.get('allow')).toBe('GET');
    expect((await ask('/', { body, headers })).status).toBe(405);
    expect((await ask('/api/jobs', { method: 'OPTIONS', headers })).status).toBe(405);
  });

  it('is taken behind a proxy that changes the host, when the dashboard knows its address', async () => {
    const faults = {
      list: [{ name: 'kill', label: '', text: '' }],
      cause: async () => ({ message: 'dead' }),
    };
    const { ask, headers } = await createPage({ development: true, faults, origin: 'https://jobs.example' });
    const proxied = { ...headers, origin: 'https://jobs.example' };
    expect((await ask('/api/faults/kill', { body, headers: proxied })).body).toEqual({ message: 'dead' });
    const own = await ask('/api/faults/kill', { body, headers });
    expect(own.status).toBe(200);
  });

  it('is taken from a program that says neither site nor origin, with a token', async () => {
    const faults = {
      list: [{ name: 'kill', label: '', text: '' }],
      cause: async () => ({ message: 'dead' }),
    };
    const { ask, headers } = await createPage({ development: true, faults });
    const { cookie, 'x-longshore-token': token } = headers as Record<string, string>;
    const answer = await ask('/api/faults/kill', {
      body,
      headers: { cookie: cookie!, 'x-longshore-token': token! },
    });
    expect(answer.status).toBe(200);
  });
});

describe('a token', () => {
  it('is good in every process with the same keys', async () => {
    const authorize = () => ({ actor: 'ada', role: 'operator' }) as const;
    const [one, two] = [createBench({ authorize }), createBench({ authorize })];
    const headers = await pageHeaders(one.ask, {});
    const answer = await two.ask('/api/faults/kill', { body, headers });
    expect(answer.body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    expect(answer.body.detail).toContain('in development only');
  });

  it('is bound to its user', async () => {
    const { ask } = createBench({
      authorize: (request) => ({ actor: request.headers.get('x-user')!, role: 'operator' }),
    });
    const headers = await pageHeaders(ask, { 'x-user': 'ada' });
    expect((await ask(path, { body, headers: { ...headers, 'x-user': 'eve' } })).body.code).toBe('TOKEN');
  });
});

describe('looking', () => {
  it('is not for pages of other sites', async () => {
    const { ask, handler } = createBench();
    const headers = { ...(await enter(handler)), 'sec-fetch-site': 'cross-site', origin };
    expect((await ask('/api/jobs', { headers })).body).toMatchObject({ status: 403, code: 'FORBIDDEN' });
  });
});

describe('a fault', () => {
  it('is known by its name, and says why it cannot be caused', async () => {
    const faults = {
      list: [{ name: 'kill', label: 'Kill', text: 'Watch.' }],
      cause: async () => Promise.reject(new Error('No job runs: enqueue one first.')),
    };
    const { ask, headers } = await createPage({ development: true, faults });
    expect((await ask('/api/session', { headers })).body.faults).toEqual(faults.list);
    expect((await ask('/api/faults/kil', { body, headers })).body).toMatchObject({
      status: 404,
      detail: expect.stringContaining('Did you mean "kill"?'),
    });
    expect((await ask('/api/faults/kill', { body, headers })).body).toMatchObject({
      status: 409,
      detail: 'No job runs: enqueue one first.',
    });
  });
});
