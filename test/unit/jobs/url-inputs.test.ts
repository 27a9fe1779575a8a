/** Wrong definitions and wrong payloads of urlJob: each gets a code and a message that says what to do. */

import { describe, expect, it } from 'vitest';
import { type UrlJobDefinition, urlJob } from '../../../core/jobs/url.ts';
import { testJobs } from '../../testing/index.ts';
import { refused } from './kit.ts';

const secret = 's'.repeat(32);

describe('urlJob() refuses a definition', () => {
  it.each<[definition: unknown, message: RegExp]>([
    [null, /^urlJob\(\) expects an object of options, got null\.$/],
    ['url', /expects an object of options, got "url"/],
    [[], /expects an object of options, got an array/],
    [{ allowHost: [] }, /has no option "allowHost"\. Its options are name, .*allowHosts/],
    [{ payload: {} }, /has no option "payload"/],
    [{ handle: () => 1 }, /has no option "handle"/],
    [{ name: 'a b' }, /A job's name must match .*, got "a b"/],
    [{ name: 5 }, /expects name to be a string, got 5/],
    [{ queue: null }, /expects queue to be a string, got null/],
    [{ queue: 'a/b' }, /A queue's name must match .*, got "a\/b"/],
    [{ retry: 5 }, /expects retry to be a function, got 5/],
    [{ idempotencyKey: 'k' }, /expects idempotencyKey to be a function, got "k"/],
    [{ priority: 'urgent' }, /A priority is an integer .*, got "urgent"/],
    [{ maxRetries: -1 }, /Expected maxRetries of job "url" to be an integer of 0 or more, got -1/],
    [{ timeoutMs: 0 }, /Expected timeoutMs of job "url" to be an integer of 1 or more, got 0/],
    [{ concurrency: { limit: 0 } }, /Expected limit of concurrency of job:url to be an integer of 1 or more/],
    [{ rate: { limit: 1 } }, /perMs of rate of job:url/],
    [{ single: 'yes' }, /Expected single of job "url" to be a boolean, got a string/],
    [{ single: true, concurrency: { limit: 2 } }, /expects either single or concurrency, got both/],
    [{ breaker: { failures: 0, openMs: 1_000 } }, /Expected failures of breaker of "url"/],
    [{ timeoutMs: '30s' }, /Expected timeoutMs .*, got "30s"/],
    [{ connectTimeoutMs: 0 }, /Expected connectTimeoutMs of urlJob\(\) to be an integer of 1 or more, got 0/],
    [{ maxRedirects: -1 }, /Expected maxRedirects of urlJob\(\) to be an integer of 0 or more, got -1/],
    [{ maxRedirects: 1.5 }, /got 1\.5/],
    [{ maxResponseBytes: 0 }, /Expected maxResponseBytes of urlJob\(\)/],
    [{ maxResponseBytes: Number.POSITIVE_INFINITY }, /Expected maxResponseBytes .*, got Infinity/],
    [
      { maxHeaderBytes: 100 },
      /Expected maxHeaderBytes of urlJob\(\) to be an integer of 1024 or more, got 100/,
    ],
    [
      { maxRetryAfterMs: 10 },
      /Expected maxRetryAfterMs of urlJob\(\) to be an integer of 1000 or more, got 10/,
    ],
    [{ signWith: 'short-secret' }, /signWith of urlJob\(\) expects a secret of at least 32 bytes/],
    [{ signWith: 5 }, /signWith of urlJob\(\) expects a secret/],
    [{ signWith: [secret] }, /signWith of urlJob\(\) expects a secret/],
    [{ keepBody: true }, /expects keepBody to be \{ maxBytes \}, got true/],
    [{ keepBody: {} }, /Expected keepBody\.maxBytes of urlJob\(\) .*, got undefined/],
    [{ keepBody: { maxBytes: 32_769 } }, /keepBody\.maxBytes of urlJob\(\) to be at most 32768, got 32769/],
    [{ testing: { lookup: '8.8.8.8' } }, /expects testing\.lookup to be a function, got "8\.8\.8\.8"/],
    [{ testing: { now: 5 } }, /expects testing\.now to be a function, got 5/],
    [{ allowHosts: 'example.com' }, /expects allowHosts to be a list of strings, got "example\.com"/],
    [{ allowHosts: [/example/] }, /expects allowHosts to be a list of strings, got an object in it/],
    [{ allowHosts: [undefined] }, /expects allowHosts to be a list of strings, got undefined in it/],
    [{ allowHosts: [''] }, /each of allowHosts to be a host in lower case .*, got ""/],
    [{ allowHosts: ['*'] }, /each of allowHosts .*, got "\*"/],
    [{ allowHosts: ['*.'] }, /each of allowHosts .*, got "\*\."/],
    [{ allowHosts: ['*.com'] }, /each of allowHosts .*, got "\*\.com"/],
    [{ allowHosts: ['*.1.2.3.4'] }, /each of allowHosts/],
    [{ allowHosts: ['a.*.com'] }, /each of allowHosts/],
    [{ allowHosts: ['Example.com'] }, /each of allowHosts .*, got "Example\.com"/],
    [{ allowHosts: ['https://example.com'] }, /each of allowHosts/],
    [{ allowHosts: ['example.com/x'] }, /each of allowHosts/],
    [{ allowHosts: ['example.com:443'] }, /each of allowHosts/],
    [{ allowHosts: ['example.com.'] }, /each of allowHosts/],
    [{ allowHosts: ['user@example.com'] }, /each of allowHosts/],
    [{ allowHosts: ['127.1'] }, /each of allowHosts .*, got "127\.1"/],
    [{ allowHosts: ['::1'] }, /each of allowHosts/],
    [{ allowHosts: ['bücher.example'] }, /each of allowHosts/],
    [{ allowPrivate: true }, /expects allowPrivate to be a list of strings, got true/],
    [
      { allowPrivate: ['localhost'] },
      /each of allowPrivate to be one host with its port .*, got "localhost"/,
    ],
    [{ allowPrivate: ['localhost:0'] }, /each of allowPrivate/],
    [{ allowPrivate: ['localhost:65536'] }, /each of allowPrivate/],
    [{ allowPrivate: ['localhost:080'] }, /each of allowPrivate/],
    [{ allowPrivate: ['*:3000'] }, /each of allowPrivate/],
    [{ allowPrivate: ['10.0.0.0/8'] }, /each of allowPrivate/],
    [{ allowPrivate: ['::1:3000'] }, /each of allowPrivate/],
    [{ allowPrivate: ['http://localhost:3000'] }, /each of allowPrivate/],
  ])('%j', async (definition, message) => {
    const error = await refused(() => urlJob(definition as UrlJobDefinition));
    expect(error).toEqual({ code: 'CONFIG', message: expect.stringMatching(message) });
    expect(error.message).not.toContain('short-secret');
  });
});

const job = urlJob({ allowHosts: ['example.com', '*.example.com', '10.0.0.1'] });

describe('a URL job refuses a payload', () => {
  const url = 'https://example.com/hook';

  it.each<[payload: unknown, message: RegExp]>([
    [undefined, /schema of job "url": payload: expected an object, got undefined/],
    [null, /payload: expected an object, got null/],
    ['https://example.com', /payload: expected an object, got a string/],
    [[url], /payload: expected an object, got an array/],
    [{}, /url: expected a string, got undefined/],
    [{ url: 5 }, /url: expected a string, got a number/],
    [{ url: '' }, /url: expected an absolute URL like/],
    [{ url: '/hook' }, /url: expected an absolute URL like/],
    [{ url: 'example.com/hook' }, /url: expected an absolute URL like/],
    [{ url: '//example.com' }, /url: expected an absolute URL like/],
    [{ url: 'https://' }, /url: expected an absolute URL like/],
    [{ url: 'https://exa mple.com' }, /url: expected a URL without spaces and control characters/],
    [{ url: ` ${url}` }, /without spaces and control characters/],
    [{ url: 'https://exam\nple.com/' }, /without spaces and control characters/],
    [{ url: 'https://example.com/\r\nx: y' }, /without spaces and control characters/],
    [{ url: 'https://example.com/\t' }, /without spaces and control characters/],
    [{ url: 'https://example.com/\0' }, /without spaces and control characters/],
    [{ url: `https://example.com/${'x'.repeat(8192)}` }, /a URL of at most 8192 characters/],
    [{ url: 'https://example.com:99999/' }, /expected an absolute URL like/],
    [{ url: 'https://256.256.256.256/' }, /expected an absolute URL like/],
    [{ url: 'https://[::1/' }, /expected an absolute URL like/],
    [{ url: 'ftp://example.com/' }, /expected the scheme http or https, got "ftp:"/],
    [{ url: 'file:///etc/passwd' }, /expected the scheme http or https, got "file:"/],
    [{ url: 'gopher://example.com/' }, /got "gopher:"/],
    [{ url: 'data:text/plain,x' }, /got "data:"/],
    [{ url: 'javascript:alert(1)' }, /got "javascript:"/],
    [{ url: 'ws://example.com/' }, /got "ws:"/],
    [
      { url: 'https://ada:hunter2@example.com/' },
      /without user name and password; send an authorization header/,
    ],
    [{ url: 'https://ada@example.com/' }, /without user name and password/],
    [{ url: 'https://:hunter2@example.com/' }, /without user name and password/],
    [{ url: 'https://evil.test/' }, /url: host "evil\.test" is not in allowHosts/],
    [{ url: 'http://10.0.0.1/' }, /host "10\.0\.0\.1" has the address "10\.0\.0\.1" \(private\)/],
    [{ url: 'http://169.254.169.254/latest/meta-data/' }, /is not in allowHosts/],
    [{ url, verb: 'GET' }, /has no member "verb", its members are url, method, headers, body/],
    [{ url, method: 'get' }, /method: expected one of GET, HEAD, .*, got "get"/],
    [{ url, method: 'TRACE' }, /method: expected one of .*, got "TRACE"/],
    [{ url, method: 'CONNECT' }, /got "CONNECT"/],
    [{ url, method: 'GET /x HTTP/1.1\r\nx: y' }, /method: expected one of/],
    [{ url, method: 5 }, /method: expected one of .*, got 5/],
    [{ url, method: 'GET', body: {} }, /body: expected no body with GET/],
    [{ url, method: 'HEAD', body: '' }, /body: expected no body with HEAD/],
    [{ url, headers: [] }, /headers: expected an object of names and strings, got an array/],
    [{ url, headers: 'x: y' }, /headers: expected an object of names and strings, got a string/],
    [{ url, headers: { '': 'x' } }, /headers: "" is not a header name/],
    [{ url, headers: { 'a b': 'x' } }, /headers: "a b" is not a header name/],
    [{ url, headers: { 'a:b': 'x' } }, /"a:b" is not a header name/],
    [{ url, headers: { 'a\r\nb': 'x' } }, /is not a header name/],
    [{ url, headers: { ä: 'x' } }, /"ä" is not a header name/],
    [{ url, headers: { x: 5 } }, /headers: "x" expects a string, got a number/],
    [{ url, headers: { x: ['a'] } }, /headers: "x" expects a string, got an array/],
    [{ url, headers: { x: null } }, /headers: "x" expects a string, got null/],
    [{ url, headers: { x: 'hunter2\r\nhost: evil' } }, /"x" expects a value without line breaks/],
    [{ url, headers: { x: 'hunter2\n' } }, /"x" expects a value without line breaks/],
    [{ url, headers: { x: 'hunter2\r' } }, /"x" expects a value without line breaks/],
    [{ url, headers: { x: '\0' } }, /control characters/],
    [{ url, headers: { x: '\x7f' } }, /control characters/],
    [{ url, headers: { x: '€' } }, /characters beyond Latin-1/],
    [{ url, headers: { x: 'y'.repeat(8193) } }, /"x" expects at most 8192 characters, got 8193/],
    [{ url, headers: { Accept: 'a', accept: 'b' } }, /"accept" is there twice, in different case/],
    [
      { url, headers: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`x-${i}`, ''])) },
      /at most 64 headers, got 65/,
    ],
    [
      { url, body: Number.NaN },
      /Expected plain JSON data at payload\.body|Expected plain JSON data at payload/,
    ],
    [{ url, body: () => 1 }, /Expected plain JSON data at payload\.body, got a function/],
    [{ url, body: new Date(0) }, /Expected plain JSON data at payload\.body, got a Date/],
  ])('%j', async (payload, message) => {
    const error = await refused(() => testJobs(job).enqueue(job, payload as never));
    expect(error).toEqual({ code: 'PAYLOAD', message: expect.stringMatching(message) });
    expect(error.message).not.toContain('hunter2');
  });

  it.each([
    'Host',
    'content-length',
    'Transfer-Encoding',
    'connection',
    'Keep-Alive',
    'TE',
    'trailer',
    'upgrade',
    'expect',
    'via',
    'accept-encoding',
    'content-encoding',
    'http2-settings',
    'Proxy-Authorization',
    'proxy-connection',
    'sec-fetch-site',
    'Longshore-Signature',
  ])('with the header %s', async (name) => {
    const error = await refused(() => testJobs(job).enqueue(job, { url, headers: { [name]: 'x' } }));
    expect(error).toEqual({
      code: 'PAYLOAD',
      message: `The payload does not fit the schema of job "url": headers: "${name}" is set by the job itself or not at all.`,
    });
  });

  it('that lets nothing else through, and names all that is wrong', async () => {
    const wrong = { url: 'x', method: 'y', headers: { te: '' } } as never;
    expect((await refused(() => testJobs(job).enqueue(job, wrong))).message).toMatch(
      /url: .*; method: .*; headers: /,
    );
  });
});

describe('a URL job takes a payload', () => {
  it.each([
    { url: 'https://example.com' },
    { url: 'http://a.b.example.com:8080/x?y=z#f', method: 'DELETE' },
    { url: 'https://example.com/', headers: {} },
    { url: 'https://example.com/', headers: { Authorization: 'Bearer x', 'x-y': 'grüße\tx' } },
    { url: 'https://example.com/', body: null },
    { url: 'https://example.com/', method: 'DELETE', body: [1, { a: 'b' }] },
  ] as const)('%j', async (payload) => {
    expect(await testJobs(job).enqueue(job, payload)).toMatchObject({ queue: 'default' });
  });
});
