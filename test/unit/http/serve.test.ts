import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { HttpHandler } from '../../../core/surfaces/http/index.ts';
import { type HttpServer, type ServeOptions, serveHttp } from '../../../local/serve.ts';
import { keys } from './kit.ts';
import { open, start } from './server-kit.ts';

const headers = { authorization: `Bearer ${keys.operator}`, 'content-type': 'application/json' };
const enqueue = ({ url }: HttpServer) =>
  fetch(`${url}/jobs/invoice.send`, { method: 'POST', headers, body: '{"invoiceId":"1"}' });
describe('serveHttp', () => {
  it('serves the handler over HTTP/1.1, and keeps the connection', async () => {
    const { server, client } = await start();
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    const answer = await enqueue(server);
    expect(answer.status).toBe(202);
    expect(answer.headers.get('connection')).toBe('keep-alive');
    expect(await answer.json()).toEqual({ id: 'job-1', queue: 'mail', statusUrl: '/jobs/job-1' });
    expect((await client.status('job-1'))?.status).toBe('pending');
    const shown = await fetch(`${server.url}/jobs/job-1`, { headers, method: 'HEAD' });
    expect([shown.status, await shown.text()]).toEqual([200, '']);
    const missing = await fetch(`${server.url}/jobs/none`, { headers });
    expect(missing.headers.get('content-type')).toBe('application/problem+json');
  });

  it.each(['::1', 'localhost'])('listens on %s', async (host) => {
    const { server } = await start({ host });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it.each<[string, Partial<ServeOptions>, RegExp]>([
    ['a negative port', { port: -1 }, /port of the HTTP server/],
    ['a port above 65535', { port: 65_536 }, /at most 65535/],
    ['a port with a fraction', { port: 80.5 }, /port of the HTTP server/],
    ['an empty host', { host: '' }, /to be an address, got ""/],
    ['no time for headers', { headersTimeoutMs: 0 }, /headersTimeoutMs/],
    ['more time for headers than for the request', { requestTimeoutMs: 5 }, /headersTimeoutMs to be at most/],
    ['no connections', { maxConnections: 0 }, /maxConnections/],
    [
      'an address that is not here',
      { host: '192.0.2.1' },
      /Could not listen on 192\.0\.2\.1:0.*another port/,
    ],
  ])('refuses %s', async (_, options, message) => {
    await expect(start(options)).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(message),
    });
  });

  it('refuses a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    open.push(other);
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    await expect(start({ port })).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(new RegExp(`127.0.0.1:${port}.*EADDRINUSE`)),
    });
  });

  it.each(['0.0.0.0', '::', '192.168.1.5', 'example.com'])(
    'refuses %s for a handler in development',
    async (host) => {
      await expect(start({ host }, { development: true })).rejects.toMatchObject({
        code: 'CONFIG',
        message: expect.stringMatching(/apiKeys or authorize/),
      });
    },
  );

  it('refuses a public address for a function that nobody knows', async () => {
    const stranger = (async () => new Response()) as unknown as HttpHandler;
    await expect(serveHttp(stranger, { port: 0, host: '0.0.0.0' })).rejects.toMatchObject({ code: 'CONFIG' });
  });

  it('serves a public address to those who have a key', async () => {
    const { server } = await start({ host: '0.0.0.0' });
    const answer = await fetch(`http://127.0.0.1:${server.port}/jobs/x`);
    expect(answer.status).toBe(401);
  });

  it('lets a request under way end when it closes, and takes no other', async () => {
    let ask = () => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    let admit = () => {};
    const { server } = await start(
      { drainMs: 10_000 },
      {
        authorize: () => {
          ask();
          return new Promise((resolve) => {
            admit = () => resolve({ tenantId: null });
          });
        },
      },
    );
    const answer = enqueue(server);
    await asked;
    const closing = server.close();
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
    admit();
    expect((await answer).status).toBe(202);
    expect((await answer).headers.get('connection')).toBe('close');
    await closing;
    await server.close();
  });

  it('cuts what does not end within drainMs', async () => {
    let ask = () => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const authorize = () => {
      ask();
      return new Promise(() => {});
    };
    const { server } = await start({ drainMs: 50 }, { authorize });
    const answer = enqueue(server).catch((error) => error);
    await asked;
    await server.close();
    expect(await answer).toBeInstanceOf(Error);
  });
});
