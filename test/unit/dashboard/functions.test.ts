/** The dashboard as a function on Lambda and on Azure: events become requests, and what is compressed stays whole. */

import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { lambdaHttp } from '../../../functions/aws/index.ts';
import { azureHttp } from '../../../functions/azure/index.ts';
import { writePage } from '../../../infra/dashboard/build.ts';
import { createBench } from './kit.ts';

beforeAll(() => writePage());

const options = {
  streams: false,
  authorize: (request: Request) =>
    request.headers.get('cookie') === 'user=ada' ? ({ actor: 'ada', role: 'operator' } as const) : null,
};

const packed = gzipSync('<p>');
const compressed = () => new Response(packed, { headers: { 'content-encoding': 'gzip' } });

describe('on Lambda', () => {
  function createFunction() {
    const { handler } = createBench({ ...options, basePath: '/jobs' });
    const call = lambdaHttp(handler);
    return (method: string, rawPath: string, headers: Record<string, string> = {}, body?: string) =>
      call({
        version: '2.0',
        rawPath,
        rawQueryString: '',
        headers,
        cookies: ['user=ada'],
        requestContext: { domainName: 'abc.lambda-url.eu-central-1.on.aws', http: { method } },
        ...(body !== undefined && { body: Buffer.from(body).toString('base64'), isBase64Encoded: true }),
      });
  }

  it('sends the page, at its address with and without a slash', async () => {
    const call = createFunction();
    for (const path of ['/jobs/', '/jobs']) {
      const page = await call('GET', path, { 'accept-encoding': 'gzip' });
      expect(page).toMatchObject({ statusCode: 200, isBase64Encoded: false });
      expect(page.body).toContain('<!doctype html>');
    }
  });

  it('keeps an answer whole that is compressed', async () => {
    const call = lambdaHttp(async () => compressed());
    const answer = (await call({
      version: '2.0',
      rawPath: '/',
      headers: {},
      requestContext: { domainName: 'a.example', http: { method: 'GET' } },
    })) as { isBase64Encoded: boolean; body: string };
    expect(answer.isBase64Encoded).toBe(true);
    expect(Buffer.from(answer.body, 'base64')).toEqual(packed);
  });

  it('takes a change with the token that another instance gave', async () => {
    const session = JSON.parse((await createFunction()('GET', '/jobs/api/session')).body);
    expect(session).toMatchObject({ actor: 'ada', streams: false });
    const headers = {
      'content-type': 'application/json',
      origin: 'https://abc.lambda-url.eu-central-1.on.aws',
      'sec-fetch-site': 'same-origin',
      'x-longshore-token': session.token,
    };
    const call = createFunction();
    const answer = await call('POST', '/jobs/api/faults/kill', headers, '{}');
    expect(answer).toMatchObject({ statusCode: 404, body: expect.stringContaining('in development only') });
    const forged = await call(
      'POST',
      '/jobs/api/faults/kill',
      { ...headers, origin: 'https://evil.example' },
      '{}',
    );
    expect(forged.statusCode).toBe(403);
  });
});

describe('on Azure', () => {
  type Registered = Parameters<NonNullable<Parameters<typeof azureHttp>[0]['functions']>['http']>[1];

  function register(route: string, create: () => (request: Request) => Promise<Response>): Registered {
    const registered: Registered[] = [];
    azureHttp({
      name: 'dashboard',
      route,
      create,
      functions: { http: (_: string, one: Registered) => registered.push(one) } as never,
    });
    return registered[0]!;
  }

  it('is created with its first request, and sends the page', async () => {
    let created = 0;
    const { handler, route } = register('dashboard', () => {
      created++;
      return createBench({ ...options, basePath: '/api/dashboard' }).handler;
    });
    expect({ route, created }).toEqual({ route: 'dashboard/{*path}', created: 0 });
    const call = (path: string, more: Record<string, string> = {}) =>
      handler(
        new Request(`https://app.azurewebsites.net/api/dashboard${path}`, {
          headers: { cookie: 'user=ada', ...more },
        }),
        {} as never,
      );
    for (const path of ['/', ''])
      expect((await call(path, { 'accept-encoding': 'gzip' })).body).toContain('<!doctype html>');
    expect(await call('/api/live', { cookie: '' })).toMatchObject({ status: 401 });
    expect(created).toBe(1);
  });

  it('keeps an answer whole that is compressed', async () => {
    const { handler } = register('files', () => async () => compressed());
    const answer = await handler(new Request('https://app.azurewebsites.net/api/files'), {} as never);
    expect(Buffer.from(answer.body as Uint8Array)).toEqual(packed);
  });

  it('needs a route that is one', () => {
    for (const route of ['', '/dashboard', 'a//b', '{*path}'])
      expect(() => register(route, () => createBench().handler)).toThrow('Expected route of azureHttp()');
  });
});
