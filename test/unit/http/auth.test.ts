import { describe, expect, it } from 'vitest';
import type { Authorization, HttpOptions } from '../../../core/surfaces/http/index.ts';
import { createBench, expectSafe, keys, sender } from './kit.ts';

const good = keys.operator;
const key = (change: Record<string, unknown>) =>
  ({ apiKeys: [{ id: 'a', key: good, ...change }] }) as unknown as HttpOptions;
const answering = (answer: unknown): Partial<HttpOptions> => ({ authorize: () => answer as Authorization });

describe('a handler is not made', () => {
  it.each<[string, unknown, RegExp]>([
    [
      'without a credential',
      { apiKeys: undefined },
      /exactly one of apiKeys, authorize and development.*got none/,
    ],
    ['with development: false alone', { development: false }, /got none/],
    ['with keys and authorize', { apiKeys: [{ id: 'a', key: good }], authorize: () => null }, /got several/],
    ['with keys and development', { apiKeys: [{ id: 'a', key: good }], development: true }, /got several/],
    ['with keys that are null', { apiKeys: null }, /at least one key, got null/],
    ['with no key in the list', { apiKeys: [] }, /at least one key, got an array/],
    ['with authorize that is null', { authorize: null }, /authorize to be a function, got null/],
    ['with authorize that is text', { authorize: 'yes' }, /a function, got "yes"/],
    ['with a key that is short', key({ key: 'short' }), /at least 32 characters.*got 5 characters.*openssl/],
    ['with a key that is undefined', key({ key: undefined }), /got undefined.*openssl/],
    ['with a key that has spaces', key({ key: ' '.repeat(40) }), /32 characters of A-Z/],
    ['with a key without id', key({ id: undefined }), /the id of an API key/],
    ['with a key with an empty id', key({ id: '' }), /the id of an API key/],
    ['with a key for an unknown job', key({ jobs: ['no.such'] }), /"no.such", which is not among/],
    ['with a key for no job', key({ jobs: [] }), /Leave it out for all jobs/],
    [
      'with a key whose tenant is undefined',
      key({ tenantId: undefined }),
      /tenantId.*got undefined.*bound to no tenant/,
    ],
    ['with a key whose tenant is empty', key({ tenantId: '' }), /1 to 256 characters/],
    [
      'with two keys of one id',
      {
        apiKeys: [
          { id: 'a', key: good },
          { id: 'a', key: keys.acme },
        ],
      },
      /Two apiKeys are called "a"/,
    ],
    [
      'with one key twice',
      {
        apiKeys: [
          { id: 'a', key: good },
          { id: 'b', key: good },
        ],
      },
      /are the same/,
    ],
    ['with a rate of 0', { ...key({}), rateLimit: { perSecond: 0 } }, /above 0, got 0.*rateLimit: false/],
    ['with a burst of 0', { ...key({}), rateLimit: { perSecond: 1, burst: 0 } }, /burst/],
    ['with maxBodyBytes 0', { ...key({}), maxBodyBytes: 0 }, /maxBodyBytes/],
    ['with maxBatch 0.5', { ...key({}), maxBatch: 0.5 }, /maxBatch/],
    ['with a basePath that ends in a slash', { ...key({}), basePath: '/api/' }, /like "\/api"/],
    ['with a basePath without a slash', { ...key({}), basePath: 'api' }, /like "\/api"/],
    ['with a token that is short', { development: true, testing: { newToken: () => 'x' } }, /32 characters/],
  ])('%s', (_, options, message) => {
    expect(() => createBench(options as HttpOptions)).toThrow(message);
    expect(() => createBench(options as HttpOptions)).toThrow(expect.objectContaining({ code: 'CONFIG' }));
  });

  it('with a message that shows a key', () => {
    const text = 'too short a secret';
    expect(() => createBench(key({ key: text }))).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining(text) }),
    );
  });
});

describe('a key', () => {
  it.each([`Bearer ${good}`, `bearer ${good}`, `BEARER   ${good}`])(
    'is taken as %s',
    async (authorization) => {
      const { send } = createBench();
      expect((await send('/openapi.json', { key: null, headers: { authorization } })).status).toBe(200);
    },
  );

  it('that is missing is asked for without, a wrong one with an error (RFC 6750)', async () => {
    const { send } = createBench();
    const challenge = async (key: string | null) =>
      (await send('/jobs/x', { key })).headers.get('www-authenticate');
    expect(await challenge(null)).toBe('Bearer realm="longshore"');
    expect(await challenge('wrong')).toBe('Bearer realm="longshore", error="invalid_token"');
  });
});

describe('authorize', () => {
  it('is asked with the request, and its answer becomes the context', async () => {
    const bench = createBench({
      authorize: async (request) =>
        request.headers.get('cookie') === 'session=1'
          ? { tenantId: 'acme', actorId: 'ada', jobs: ['invoice.send'] }
          : null,
    });
    const headers = { cookie: 'session=1' };
    expect(
      (await bench.send('/jobs/invoice.send', { body: { invoiceId: '1' }, key: null, headers })).status,
    ).toBe(202);
    const [lease] = await bench.backend.fetch({ queues: ['mail'], max: 1, leaseMs: 1, waitMs: 0 });
    expect(JSON.parse(lease!.body).context).toEqual({
      tenantId: 'acme',
      actorId: 'ada',
      requestId: 'made-id',
    });
    expect((await bench.send('/jobs/report.nightly', { body: {}, key: null, headers })).status).toBe(403);
    const refused = await bench.send('/jobs/invoice.send', { body: {}, key: null });
    expect(refused).toMatchObject({ status: 401, body: { code: 'UNAUTHORIZED' } });
    expectSafe(refused);
  });

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['true', true],
    ['a text', 'acme'],
    ['no tenant at all', {}],
    ['a tenant that is undefined', { tenantId: undefined }],
    ['an empty tenant', { tenantId: '' }],
    ['a tenant that is a number', { tenantId: 5 }],
    ['a tenant that is too long', { tenantId: 'x'.repeat(257) }],
    ['a tenant with U+0000', { tenantId: 'a\0' }],
    ['a tenant with half a pair', { tenantId: 'a\ud83d' }],
    ['an actor that is null', { tenantId: null, actorId: null }],
    ['jobs that are text', { tenantId: null, jobs: 'invoice.send' }],
    ['jobs that are numbers', { tenantId: null, jobs: [1] }],
  ])('that answers %s lets nobody in, and the log says why', async (_, answer) => {
    const bench = createBench(answering(answer));
    const refused = await bench.send('/jobs/invoice.send', { body: { invoiceId: '1' } });
    expect(refused).toMatchObject({ status: 500, body: { code: 'INTERNAL' } });
    expectSafe(refused);
    expect(bench.events).toMatchObject([
      {
        type: 'http.failed',
        status: 500,
        error: { code: 'CONFIG', message: expect.stringContaining('tenantId') },
      },
    ]);
    expect((await bench.client.stores.records.page({})).records).toEqual([]);
  });

  it('that throws lets nobody in, and asks to come back', async () => {
    const bench = createBench({
      authorize: () => {
        throw new Error('identity provider at 10.0.0.7 is down');
      },
    });
    const answer = await bench.send('/jobs/x', { body: {} });
    expect(answer).toMatchObject({ status: 503, body: { code: 'INTERNAL' } });
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(answer.text).not.toContain('10.0.0.7');
    expect(bench.events).toMatchObject([
      { type: 'http.failed', error: { message: expect.stringContaining('10.0.0.7') } },
    ]);
  });

  it('that reads the body is told so', async () => {
    const bench = createBench({
      async authorize(request) {
        await request.text();
        return { tenantId: null };
      },
    });
    expect((await bench.send('/jobs/invoice.send', { body: { invoiceId: '1' } })).status).toBe(500);
    expect(bench.events).toMatchObject([
      { error: { message: expect.stringContaining('leave the body unread') } },
    ]);
  });
});

describe('development', () => {
  const token = 'development.0123456789abcdef01234';
  const bench = createBench({ development: true, testing: { newToken: () => token } });

  it('makes a token, and asks for it', async () => {
    expect(bench.handler.developmentToken).toBe(token);
    expect((await bench.send('/openapi.json', { key: token })).status).toBe(200);
    expect((await bench.send('/openapi.json', { key: null })).status).toBe(401);
    const tokens = [1, 2].map(() => createBench({ development: true }).handler.developmentToken);
    expect(tokens[0]).toMatch(/^[\w-]{32}$/);
    expect(tokens[0]).not.toBe(tokens[1]);
    expect(createBench().handler.developmentToken).toBeNull();
  });

  it.each([
    ['http://localhost', null],
    ['http://localhost:3000', 'localhost:3000'],
    ['http://LOCALHOST', 'LocalHost'],
    ['http://127.0.0.1:1', '127.0.0.1:1'],
    ['http://[::1]:3000', '[::1]:3000'],
  ])('answers at %s with host %s', async (origin, host) => {
    const answer = await sender(bench.handler, origin)('/openapi.json', {
      key: token,
      ...(host && { headers: { host } }),
    });
    expect(answer.status).toBe(200);
  });

  it.each([
    ['http://attacker.example', null],
    ['http://attacker.example', 'localhost'],
    ['http://localhost', 'attacker.example'],
    ['http://localhost', 'localhost.attacker.example'],
    ['http://localhost', '127.0.0.1.nip.io'],
    ['http://localhost', 'localhost:80:80'],
    ['http://localhost', 'localhost, attacker.example'],
    ['http://localhost', ''],
    ['http://localhost', 'localhost.'],
    ['http://0.0.0.0', null],
    ['http://192.168.1.5', null],
    ['http://[::]', null],
    ['http://127.0.0.2', null],
  ])('refuses %s with host %s, even with the token', async (origin, host) => {
    const answer = await sender(bench.handler, origin)('/openapi.json', {
      key: token,
      ...(host !== null && { headers: { host } }),
    });
    expect(answer).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN', detail: expect.stringMatching(/apiKeys or authorize/) },
    });
    expectSafe(answer);
  });
});

describe('the rate limit', () => {
  it('is kept per credential, and refills with time', async () => {
    const bench = createBench({
      apiKeys: [
        { id: 'a', key: keys.acme },
        { id: 'b', key: keys.globex },
      ],
      rateLimit: { perSecond: 0.5, burst: 2 },
    });
    const status = async (key: string) => (await bench.send('/openapi.json', { key })).status;
    expect([await status(keys.acme), await status(keys.acme), await status(keys.acme)]).toEqual([
      200, 200, 429,
    ]);
    expect(await status(keys.globex)).toBe(200);
    const refused = await bench.send('/jobs/none', { key: keys.acme });
    expect(refused).toMatchObject({
      status: 429,
      body: { code: 'RATE_LIMIT', detail: expect.stringMatching(/Wait 2 s/) },
    });
    expect(refused.headers.get('retry-after')).toBe('2');
    expectSafe(refused);
    bench.clock.advance(1_999);
    expect(await status(keys.acme)).toBe(429);
    bench.clock.advance(1);
    expect(await status(keys.acme)).toBe(200);
    expect(await status(keys.acme)).toBe(429);
  });

  it('counts every job of a batch, and takes none that is larger than the burst', async () => {
    const bench = createBench({
      apiKeys: [{ id: 'a', key: keys.acme }],
      rateLimit: { perSecond: 1, burst: 5 },
    });
    const many = (count: number) => ({
      key: keys.acme,
      body: Array.from({ length: count }, () => ({ job: 'report.nightly', payload: {} })),
    });
    expect((await bench.send('/jobs', many(3))).status).toBe(202);
    const refused = await bench.send('/jobs', many(3));
    expect(refused.status).toBe(429);
    expect((await bench.client.stores.records.page({})).records).toHaveLength(3);
    bench.clock.advance(60_000);
    expect(await bench.send('/jobs', many(6))).toMatchObject({
      status: 413,
      body: { detail: expect.stringMatching(/at most 5 jobs at once, got 6/) },
    });
    bench.clock.advance(60_000);
    expect((await bench.send('/jobs', many(5))).status).toBe(202);
    expect((await bench.send('/jobs', many(1))).status).toBe(429);
  });

  it('does not count who is not let in, nor the probes', async () => {
    const bench = createBench({
      apiKeys: [{ id: 'a', key: keys.acme }],
      rateLimit: { perSecond: 1, burst: 1 },
    });
    for (const _ of Array.from({ length: 20 })) {
      expect((await bench.send('/openapi.json', { key: null })).status).toBe(401);
      expect((await bench.send('/healthz', { key: null })).status).toBe(200);
    }
    expect((await bench.send('/openapi.json', { key: keys.acme })).status).toBe(200);
  });
});
