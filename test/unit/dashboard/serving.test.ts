/** The files of the page: where they are, what a browser may do with them, and what is said without them. */

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from 'srvx/node';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { writePage } from '../../../infra/dashboard/build.ts';
import { createBench, enter, expectSafe, origin } from './kit.ts';

beforeAll(() => writePage());

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const assetsIn = (html: string): string[] =>
  [...html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, path]) => path!);

describe('the page', () => {
  it('is served with a policy that runs its own files only', async () => {
    const { handler, ask } = createBench();
    const headers = await enter(handler);
    const page = await ask('/', { headers });
    expectSafe(page);
    expect(page.headers.get('content-security-policy')).toBe(policy);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('cache-control')).toBe('no-store');
    const assets = assetsIn(page.text);
    expect(assets.length).toBeGreaterThan(1);
    for (const path of assets) {
      const asset = await ask(`/${path}`, { headers });
      expectSafe(asset);
      expect([path, asset.status]).toEqual([path, 200]);
      expect(asset.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
    }
  });

  it('is sent as it is, because its host compresses what it sends', async () => {
    const { handler, ask } = createBench();
    const headers = { ...(await enter(handler)), 'accept-encoding': 'gzip, br' };
    for (const path of ['/', ...assetsIn((await ask('/', { headers })).text).map((path) => `/${path}`)]) {
      const { headers: answered, text } = await ask(path, { headers });
      expect([path, answered.get('content-encoding')]).toEqual([path, null]);
      expect(text).toMatch(/^[\x20-\x7e\s]{20}/);
    }
    const head = await ask('/', { method: 'HEAD', headers });
    expect(head).toMatchObject({ status: 200, text: '' });
  });

  it.each([
    '/index.html',
    '/assets/',
    '/assets/../index.html',
    '/page.js',
    '/%2e%2e/package.json',
    '/constructor',
  ])('has no file %s', async (path) => {
    const { handler, ask } = createBench();
    const answer = await ask(path, { headers: await enter(handler) });
    if (path === '/assets/../index.html') expect(answer.status).toBe(404);
    expectSafe(answer);
    expect(answer.status).toBe(404);
  });

  it('is at its address with and without a slash, because hosts insist on either', async () => {
    const { handler, ask } = createBench({ development: true, basePath: '/admin/jobs' });
    expect(handler.link('http://localhost:4020')).toMatch(/^http:\/\/localhost:4020\/admin\/jobs\/\?token=/);
    for (const at of ['/admin/jobs', '/admin/jobs/']) {
      const { search } = new URL(handler.link('http://localhost:4020'));
      const entered = await ask(`${at}${search}`);
      expect(entered.status).toBe(303);
      expect(new URL(entered.headers.get('location')!, `${origin}${at}`).pathname).toBe(at);
      const cookie = entered.headers.get('set-cookie')!;
      expect(cookie).toContain('; Path=/admin/jobs;');
      const headers = { cookie: cookie.split(';')[0]! };
      const page = await ask(at, { headers });
      expect(page.status).toBe(200);
      const assets = assetsIn(page.text).map((path) => new URL(path, `${origin}${at}`).pathname);
      expect(assets.length).toBeGreaterThan(1);
      for (const path of assets) expect([path, (await ask(path, { headers })).status]).toEqual([path, 200]);
      for (const path of ['/admin/jobs/api/live', '/admin/jobs/api/live/'])
        expect([path, (await ask(path, { headers })).status]).toEqual([path, 200]);
      for (const path of ['/', '/admin', '/admin/jobsx', '/api/live'])
        expect([path, (await ask(path, { headers })).status]).toEqual([path, 404]);
    }
  });
});

describe('in a server of node:http', () => {
  it('serves the page, streams, and hears that a browser has left', async () => {
    const { handler, clock } = createBench();
    const server = createServer(toNodeHandler(handler) as RequestListener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      handler.close();
      server.closeAllConnections();
      server.close();
    });
    const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const headers = await enter(handler, at);
    const page = await fetch(at, { headers });
    expect(await page.text()).toContain('<script type="module"');
    const ended = new AbortController();
    const stream = await fetch(`${at}/api/events`, { headers, signal: ended.signal });
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let seen = '';
    while (!seen.includes('event: live')) seen += (await reader.read()).value;
    clock.advance(2_000);
    while (seen.split('event: live').length < 3) seen += (await reader.read()).value;
    ended.abort();
    await expect(reader.read()).rejects.toThrow();
  });
});
