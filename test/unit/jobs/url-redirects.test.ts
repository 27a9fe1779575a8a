/** Redirects, and names that change their address between check and use. */

import { describe, expect, it } from 'vitest';
import { nextHop } from '../../../core/jobs/redirects.ts';
import { urlJob } from '../../../core/jobs/url.ts';
import { httpServer, runOnce, scriptedLookup, type TestServer } from './kit.ts';

const secret = 'a secret of at least thirty-two bytes';

/** Redirects `/n` to the nth location and answers everything else with 200. */
async function redirecting(
  status: number,
  locations: (port: number) => readonly string[],
): Promise<TestServer> {
  const server: TestServer = await httpServer((request, response) => {
    const location = locations(server.port)[Number(request.url!.slice(1))];
    if (location === undefined) response.end();
    else response.writeHead(status, { location }).end('moved');
  });
  return server;
}

const names = { 'a.test': [['127.0.0.1']], 'b.test': [['127.0.0.1']] };
const open = (port: number) => [`a.test:${port}`, `b.test:${port}`];

describe('methods', () => {
  it.each([
    [301, 'POST', 'GET', false],
    [302, 'POST', 'GET', false],
    [303, 'POST', 'GET', false],
    [303, 'PUT', 'GET', false],
    [303, 'DELETE', 'GET', false],
    [303, 'HEAD', 'HEAD', true],
    [301, 'PUT', 'PUT', true],
    [302, 'PATCH', 'PATCH', true],
    [301, 'GET', 'GET', true],
    [302, 'HEAD', 'HEAD', true],
    [307, 'POST', 'POST', true],
    [308, 'POST', 'POST', true],
    [308, 'PUT', 'PUT', true],
  ])('%i after %s goes on with %s', (status, method, next, keepsBody) => {
    const hop = {
      url: new URL('https://a.test/x'),
      method,
      headers: {
        'content-type': 'text/plain',
        'content-language': 'de',
        'longshore-signature': 's',
        authorization: 'x',
      },
      body: 'hello',
    };
    const after = nextHop(hop, { status, location: '/y' });
    expect(after).toMatchObject({ method: next, body: keepsBody ? 'hello' : null });
    expect(after.headers).toEqual(keepsBody ? hop.headers : { authorization: 'x' });
  });
});

describe('headers', () => {
  const headers = {
    accept: 'a',
    'accept-language': 'l',
    authorization: 'secret',
    cookie: 'secret',
    'content-type': 't',
    'idempotency-key': 'k',
    'longshore-signature': 'secret',
    traceparent: 'p',
    'user-agent': 'u',
    'x-api-key': 'secret',
  };
  const harmless = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== 'secret'));

  it.each([
    ['/y', true],
    ['y?z=1', true],
    ['https://a.test/y', true],
    ['https://A.TEST:443/y', true],
    ['https://b.test/y', false],
    ['//b.test/y', false],
    ['https://a.test:444/y', false],
    ['https://sub.a.test/y', false],
    ['\\\\b.test\\y', false],
  ])('on the way to %s keep their secrets: %s', (location, keeps) => {
    const hop = { url: new URL('https://a.test/x'), method: 'POST', headers, body: 'b' };
    expect(nextHop(hop, { status: 307, location }).headers).toEqual(keeps ? headers : harmless);
  });

  it('that a stranger does not get do not come back', async () => {
    const server = await redirecting(307, (port) => [`http://b.test:${port}/1`, `http://a.test:${port}/2`]);
    const { lookup } = scriptedLookup(names);
    const job = urlJob({ testing: { lookup }, allowPrivate: open(server.port), signWith: secret });
    const sent = { authorization: 'Bearer x', cookie: 'c', 'x-api-key': 'k', accept: 'text/x' };
    const result = await runOnce(job, {
      url: `http://a.test:${server.port}/0`,
      body: { a: 1 },
      headers: sent,
    });
    expect(result).toMatchObject({ outcome: 'acked', output: { status: 200 } });
    expect(
      server.seen.map(({ headers, body }) => [
        headers.host,
        headers.authorization,
        headers['x-api-key'],
        headers.cookie,
        'longshore-signature' in headers,
        headers.accept,
        body,
      ]),
    ).toEqual([
      [`a.test:${server.port}`, 'Bearer x', 'k', 'c', true, 'text/x', '{"a":1}'],
      [`b.test:${server.port}`, undefined, undefined, undefined, false, 'text/x', '{"a":1}'],
      [`a.test:${server.port}`, undefined, undefined, undefined, false, 'text/x', '{"a":1}'],
    ]);
  });
});

describe('a redirect', () => {
  it.each([
    ['to no place', undefined, /answered 302 without a Location\.$/],
    [
      'to another scheme',
      'file:///etc/passwd',
      /wrong Location: expected the scheme http or https, got "file:"\.$/,
    ],
    ['with credentials', 'https://u:hunter2@a.test/', /wrong Location: expected a URL without user name/],
    ['that does not parse', 'https://[x/', /wrong Location: expected an absolute URL/],
    ['with a line break', '/a\nb', /wrong Location: expected a URL without spaces/],
    ['from https to http', 'http://a.test/', /from https to http, which is not followed\.$/],
  ])('%s ends the call', (_, location, message) => {
    const hop = { url: new URL('https://a.test/x?token=hunter2'), method: 'GET', headers: {}, body: null };
    let text = '';
    try {
      nextHop(hop, { status: 302, location });
    } catch (error) {
      expect(error).toHaveProperty('name', 'PermanentError');
      text = (error as Error).message;
    }
    expect(text).toMatch(message);
    expect(text).not.toContain('hunter2');
  });

  it.each([301, 302, 303, 307, 308])('of %i is followed', async (status) => {
    const server = await redirecting(status, () => ['/1', '/2', '/3']);
    const { lookup } = scriptedLookup(names);
    const job = urlJob({ testing: { lookup }, allowPrivate: open(server.port) });
    const result = await runOnce(job, { url: `http://a.test:${server.port}/0` });
    expect(result).toMatchObject({ outcome: 'acked', output: { status: 200 } });
    expect(server.seen.map(({ url }) => url)).toEqual(['/0', '/1', '/2', '/3']);
  });

  it.each([
    [0, 1],
    [1, 2],
    [3, 4],
  ])('loop is left after maxRedirects %i', async (maxRedirects, requests) => {
    const server = await redirecting(302, () => ['/0']);
    const { lookup } = scriptedLookup(names);
    const job = urlJob({ testing: { lookup }, allowPrivate: open(server.port), maxRedirects });
    const result = await runOnce(job, { url: `http://a.test:${server.port}/0` });
    expect(result).toMatchObject({ outcome: 'dead-lettered', reason: 'permanent' });
    expect(result.error?.message).toMatch(
      new RegExp(`answered 302 after ${maxRedirects} redirects, the most`),
    );
    expect(server.seen).toHaveLength(requests);
  });

  it.each([
    [
      'the metadata service',
      'http://169.254.169.254/latest/meta-data/',
      /"169\.254\.169\.254" \(cloud metadata\)/,
    ],
    ['loopback in decimal', 'http://2130706433/', /"127\.0\.0\.1" \(loopback\)/],
    ['loopback in IPv6', 'http://[::1]/', /"::1" \(loopback\)/],
    ['IPv4 in IPv6', 'http://[::ffff:10.0.0.1]/', /IPv4-mapped/],
    ['a name that is private', 'http://inside.test/', /"10\.0\.0\.7" \(private\)/],
    ['the same host on another port', 'http://a.test:1/', /"127\.0\.0\.1" \(loopback\)/],
  ])('to %s is refused', async (_, location, message) => {
    const server = await redirecting(302, () => [location]);
    const { lookup } = scriptedLookup({ ...names, 'inside.test': [['10.0.0.7']] });
    const job = urlJob({ testing: { lookup }, allowPrivate: open(server.port) });
    const result = await runOnce(job, { url: `http://a.test:${server.port}/0` });
    expect(result).toMatchObject({ outcome: 'dead-lettered', reason: 'permanent' });
    expect(result.error?.message).toMatch(message);
    expect(server.seen).toHaveLength(1);
  });

  it('to a host that is not on the list is refused', async () => {
    const server = await redirecting(302, (port) => [`http://b.test:${port}/9`]);
    const { lookup, asked } = scriptedLookup(names);
    const job = urlJob({ testing: { lookup }, allowPrivate: open(server.port), allowHosts: ['a.test'] });
    const result = await runOnce(job, { url: `http://a.test:${server.port}/0` });
    expect(result.error?.message).toMatch(/\/9 is refused: host "b\.test" is not in allowHosts\.$/);
    expect(asked).toEqual(['a.test']);
  });
});

describe('a name that is bound anew', () => {
  it('between check and connection changes nothing: the checked address is the one connected to', async () => {
    const server = await httpServer((_, response) => response.end());
    // Whoever asked a second time would be sent to a metadata service, and the system knows no a.test at all.
    const { lookup, asked } = scriptedLookup({ 'a.test': [['127.0.0.1'], ['169.254.169.254']] });
    const job = urlJob({ testing: { lookup }, allowPrivate: open(server.port) });
    expect(await runOnce(job, { url: `http://a.test:${server.port}/` })).toMatchObject({ outcome: 'acked' });
    expect(asked).toEqual(['a.test']);
    expect(server.seen[0]?.headers.host).toBe(`a.test:${server.port}`);
  });

  it('between two hops is caught at the second', async () => {
    const server = await redirecting(307, () => ['/1']);
    const { lookup, asked } = scriptedLookup({ 'a.test': [['127.0.0.1'], ['169.254.169.254']] });
    const job = urlJob({ testing: { lookup }, allowPrivate: open(server.port) });
    const result = await runOnce(job, { url: `http://a.test:${server.port}/0` });
    expect(result).toMatchObject({ outcome: 'dead-lettered', reason: 'permanent' });
    expect(result.error?.message).toMatch(/\/1 is refused: .*"169\.254\.169\.254" \(cloud metadata\)/);
    expect(asked).toEqual(['a.test', 'a.test']);
    expect(server.seen).toHaveLength(1);
  });
});
