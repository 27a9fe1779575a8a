/** The dashboard as a function on Lambda and on Azure: events become requests, and compressed files stay whole. */

import { gunzipSync } from 'node:zlib';
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

  it('sends the page, also compressed', async () => {
    const call = createFunction();
    const plain = await call('GET', '/jobs/');
    expect(plain).toMatchObject({ statusCode: 200, isBase64Encoded: false });
    const packed = await call('GET', '/jobs/', { 'accept-encoding': 'gzip' });
    expect(packed).toMatchObject({ statusCode: 200, isBase64Encoded: true });
    expect(gunzipSync(Buffer.from(packed.body, 'base64')).toString()).toBe(plain.body);
    expect(await call('GET', '/jobs')).toMatchObject({ statusCode: 307, headers: { location: './jobs/' } });
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

  it('is created with its first request, and sends the page, also compressed', async () => {
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
    const plain = await call('/');
    const packed = await call('/', { 'accept-encoding': 'gzip' });
    expect(gunzipSync(packed.body as Uint8Array).toString()).toBe(plain.body);
    expect(await call('/api/live', { cookie: '' })).toMatchObject({ status: 401 });
    expect(await call('')).toMatchObject({ status: 307, headers: { location: './dashboard/' } });
    expect(created).toBe(1);
  });

  it('needs a route that is one', () => {
    for (const route of ['', '/dashboard', 'a//b', '{*path}'])
      expect(() => register(route, () => createBench().handler)).toThrow('Expected route of azureHttp()');
  });
});
