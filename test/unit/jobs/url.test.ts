/** What a URL job sends and what it makes of the answer, with real servers. */

import { describe, expect, it } from 'vitest';
import { type UrlJobDefinition, urlJob } from '../../../core/jobs/url.ts';
import type { UrlPayload } from '../../../core/jobs/url-payload.ts';
import { verifyWebhook } from '../../../core/jobs/webhook-signature.ts';
import { httpServer, runOnce, scriptedLookup } from './kit.ts';

type Options = Omit<UrlJobDefinition, 'allowPrivate' | 'lookup'>;

/** A job that knows the server as hook.test. */
function jobFor(port: number, options: Options = {}) {
  const { lookup, asked } = scriptedLookup({ 'hook.test': [['127.0.0.1']] });
  const job = urlJob({
    ...options,
    testing: { lookup, ...options.testing },
    allowPrivate: [`hook.test:${port}`],
  });
  return { job, asked, url: `http://hook.test:${port}/in?token=hunter2` };
}

async function call(payload: Omit<UrlPayload, 'url'>, options: Options = {}, how = {}) {
  const server = await httpServer((_, response) => response.end('thanks'));
  const { job, url } = jobFor(server.port, options);
  const result = await runOnce(job, { url, ...payload }, how);
  return { result, port: server.port, seen: server.seen[0]! };
}

async function answered(status: number, headers: Record<string, string> = {}, options: Options = {}) {
  const server = await httpServer((_, response) => response.writeHead(status, headers).end('hunter2'));
  const { job, url } = jobFor(server.port, options);
  return { ...(await runOnce(job, { url, body: {} })), port: server.port };
}

describe('a call', () => {
  it('is a GET without a body', async () => {
    const { result, seen, port } = await call({});
    expect(result).toMatchObject({ outcome: 'acked', output: { status: 200, bytes: 6 } });
    expect(seen).toEqual({
      method: 'GET',
      url: '/in?token=hunter2',
      body: '',
      headers: {
        host: `hook.test:${port}`,
        'user-agent': 'longshore',
        accept: '*/*',
        'accept-encoding': 'identity',
        connection: 'close',
      },
    });
  });

  it.each<[body: unknown, sent: string, type: string]>([
    [{ a: ['ü', null] }, '{"a":["ü",null]}', 'application/json'],
    [null, 'null', 'application/json'],
    [0, '0', 'application/json'],
    [false, 'false', 'application/json'],
    ['a=1&b=✓', 'a=1&b=✓', 'text/plain; charset=utf-8'],
    ['', '', 'text/plain; charset=utf-8'],
  ])('with the body %j is a POST', async (body, sent, type) => {
    const { seen } = await call({ body });
    expect(seen).toMatchObject({
      method: 'POST',
      body: sent,
      headers: { 'content-type': type, 'content-length': String(Buffer.byteLength(sent)) },
    });
  });

  it.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'] as const)('may be a %s', async (method) => {
    const { result, seen } = await call({ method });
    expect(result.outcome).toBe('acked');
    expect(seen.method).toBe(method);
  });

  it('carries the headers of the payload, which win over the defaults', async () => {
    const headers = {
      'Content-Type': 'application/x+json',
      authorization: 'Bearer x',
      'X-Y': '',
      'User-Agent': 'me',
    };
    const { seen } = await call({ body: '{}', headers });
    expect(seen.headers).toMatchObject({
      'content-type': 'application/x+json',
      authorization: 'Bearer x',
      'x-y': '',
      'user-agent': 'me',
    });
  });

  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  it('forwards trace and idempotency key', async () => {
    const { seen } = await call({}, {}, { idempotencyKey: 'order 1042', context: { traceparent } });
    expect(seen.headers).toMatchObject({ traceparent, 'idempotency-key': 'order 1042' });
  });

  it.each(['00-x', `${traceparent}\r\nx: y`, traceparent.toUpperCase()])(
    'drops the trace %j',
    async (wrong) => {
      const { result, seen } = await call({}, {}, { context: { traceparent: wrong } });
      expect(result.outcome).toBe('acked');
      expect(seen.headers).not.toHaveProperty('traceparent');
    },
  );

  it.each(['a\r\nhost: evil', 'schlüssel', ' a', '\u0001'])(
    'sends the hash of the key %j',
    async (idempotencyKey) => {
      const { seen } = await call({}, {}, { idempotencyKey });
      expect(seen.headers['idempotency-key']).toMatch(/^sha256-[0-9a-f]{64}$/);
      expect(seen.headers.host).toMatch(/^hook\.test/);
    },
  );

  it('is signed, also when it has no body', async () => {
    const secret = 'a secret of at least thirty-two bytes';
    const now = 1_700_000_000_000;
    for (const payload of [{ body: { a: 1 } }, {}]) {
      const { seen } = await call(payload, { signWith: secret, testing: { now: () => now } });
      const header = seen.headers['longshore-signature'];
      expect(verifyWebhook({ secret, header, body: seen.body, now })).toBe(true);
      expect(verifyWebhook({ secret, header, body: `${seen.body} `, now })).toBe(false);
    }
  });

  it('takes the options of defineJob', async () => {
    const job = urlJob({
      name: 'hook',
      queue: 'hooks',
      maxRetries: 9,
      priority: 'low',
      idempotencyKey: ({ url }) => url,
    });
    expect(job).toMatchObject({
      name: 'hook',
      queue: 'hooks',
      maxRetries: 9,
      priority: 8,
      timeoutMs: 30_000,
    });
    expect(job.keyOf?.({ url: 'x' })).toBe('x');
    expect(urlJob()).toMatchObject({ name: 'url', queue: 'default', maxRetries: 3 });
  });
});

describe('the output', () => {
  it('has no body unless asked for', async () => {
    expect((await answered(201)).output).toEqual({ status: 201, bytes: 7 });
    expect((await answered(204)).output).toEqual({ status: 204, bytes: 0 });
  });

  it('has the start of the body with keepBody', async () => {
    expect((await answered(200, {}, { keepBody: { maxBytes: 100 } })).output).toMatchObject({
      body: 'hunter2',
    });
    expect((await answered(200, {}, { keepBody: { maxBytes: 3 } })).output).toEqual({
      status: 200,
      bytes: 7,
      body: 'hun',
    });
  });

  it('has no compressed body', async () => {
    const encoding = { 'content-encoding': 'gzip' };
    expect((await answered(200, encoding, { keepBody: { maxBytes: 9 } })).output).toMatchObject({
      body: null,
    });
  });

  it('fits a record, whatever the body is made of', async () => {
    const server = await httpServer((_, response) => response.end(Buffer.alloc(40_000)));
    const { job, url } = jobFor(server.port, { keepBody: { maxBytes: 32_768 } });
    const { output } = await runOnce(job, { url });
    expect(output).toMatchObject({ bytes: 40_000, body: expect.stringMatching(/^\0{9999}/) });
  });
});

describe('an answer', () => {
  it.each([200, 201, 202, 204, 206, 226, 299])('%i is success', async (status) => {
    expect(await answered(status)).toMatchObject({ outcome: 'acked' });
  });

  it.each([300, 304, 305, 306, 400, 401, 402, 403, 404, 405, 407, 409, 410, 413, 421, 422, 451, 499])(
    '%i is final',
    async (status) => {
      const { port, ...result } = await answered(status, { 'retry-after': '5' });
      expect(result).toMatchObject({ outcome: 'dead-lettered', reason: 'permanent' });
      expect(result.error?.message).toBe(`POST http://hook.test:${port}/in answered ${status}.`);
    },
  );

  it.each([408, 425, 429, 500, 501, 502, 503, 504, 520, 599])(
    '%i is retried by the policy',
    async (status) => {
      const { port, ...result } = await answered(status);
      expect(result).toMatchObject({ outcome: 'requeued', delayMs: 30_000 });
      expect(result.error?.message).toBe(`POST http://hook.test:${port}/in answered ${status}.`);
      expect(JSON.stringify(result)).not.toContain('hunter2');
    },
  );

  const now = () => Date.UTC(2026, 10, 6, 8, 49, 37);
  it.each([
    [429, '7', 7_000],
    [503, '120', 120_000],
    [503, 'Fri, 06 Nov 2026 08:50:37 GMT', 60_000],
    [429, '999999', 3_600_000],
    [503, '0', 1_000],
    [503, 'soon', 30_000],
    [429, '-5', 30_000],
    [500, '7', 30_000],
    [408, '7', 30_000],
  ])('%i with Retry-After: %s comes back after %i ms', async (status, header, delayMs) => {
    expect(await answered(status, { 'retry-after': header }, { testing: { now } })).toMatchObject({
      outcome: 'requeued',
      delayMs,
    });
  });

  it('with Retry-After waits at most maxRetryAfterMs', async () => {
    const options = { maxRetryAfterMs: 5_000 };
    expect(await answered(503, { 'retry-after': '60' }, options)).toMatchObject({ delayMs: 5_000 });
  });
});

describe('a host', () => {
  it('that is not there is retried', async () => {
    const { lookup } = scriptedLookup({});
    const result = await runOnce(urlJob({ testing: { lookup } }), {
      url: 'https://gone.test/x?token=hunter2',
    });
    expect(result).toMatchObject({ outcome: 'requeued' });
    expect(result.error?.message).toBe('GET https://gone.test/x failed: ENOTFOUND when looking up the host.');
  });

  it('without addresses is retried', async () => {
    const { lookup } = scriptedLookup({ 'empty.test': [[]] });
    const result = await runOnce(urlJob({ testing: { lookup } }), { url: 'https://empty.test/' });
    expect(result.error?.message).toBe('GET https://empty.test/ failed: the host has no address.');
  });

  it('where nobody listens is retried', async () => {
    const { lookup } = scriptedLookup({ 'hook.test': [['127.0.0.1']] });
    const result = await runOnce(urlJob({ testing: { lookup }, allowPrivate: ['hook.test:1'] }), {
      url: 'http://hook.test:1/',
    });
    expect(result).toMatchObject({ outcome: 'requeued' });
    expect(result.error?.message).toBe('GET http://hook.test:1/ failed: ECONNREFUSED.');
  });

  it('is tried at its next address when the first does not answer', async () => {
    const server = await httpServer((_, response) => response.end());
    const { lookup } = scriptedLookup({ 'hook.test': [['127.0.0.9', '127.0.0.1']] });
    const job = urlJob({ testing: { lookup }, allowPrivate: [`hook.test:${server.port}`] });
    expect(await runOnce(job, { url: `http://hook.test:${server.port}/` })).toMatchObject({
      outcome: 'acked',
    });
  });

  it.each([
    ['a private address', ['10.0.0.1']],
    ['one private among public ones', ['93.184.216.34', '192.168.0.1']],
    ['the metadata service', ['169.254.169.254']],
    ['loopback', ['127.0.0.1', '::1']],
  ])('with %s is not called, and not tried again', async (_, addresses) => {
    const { lookup } = scriptedLookup({ 'evil.test': [addresses] });
    const result = await runOnce(urlJob({ testing: { lookup } }), {
      url: 'http://evil.test/x?token=hunter2',
    });
    expect(result).toMatchObject({ outcome: 'dead-lettered', reason: 'permanent' });
    expect(result.error?.message).toMatch(
      /^GET http:\/\/evil\.test\/x is refused: host "evil\.test" has the address ".*" \(.*\), and only public ones are called\.$/,
    );
  });

  it('called localhost is resolved and refused like any other, by the system too', async () => {
    const result = await runOnce(urlJob(), { url: 'http://localhost:1/' });
    expect(result.error?.message).toMatch(/has the address "(127\.0\.0\.1|::1)" \(loopback\)/);
  });
});
