/** Where metrics are served, and to whom. */

import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { type LocalOptions, startLocal } from '../../../local/start.ts';
import { job, refusalText, ring } from '../core/kit.ts';
import { createBench, keys } from '../http/kit.ts';
import { dial } from '../http/sockets.ts';
import { named, valuesOf } from './kit.ts';

const work = job();
const base = { backend: memory(), signals: [], logger: false } as const;
const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const apiKeys = [
  { id: 'prometheus', key: keys.operator },
  { id: 'acme', key: keys.acme, tenantId: 'acme' },
  { id: 'reporter', key: keys.reporter, jobs: ['work'] },
];

async function start(options: Partial<LocalOptions>) {
  const app = createApp({ jobs: [work], signing: ring });
  const local = await startLocal(app, { ...base, backend: memory(), ...options });
  onTestFinished(async () => void (await local.stop()));
  return local;
}

describe('startLocal({ metrics })', () => {
  it('serves them on a port of this machine, until the last job has ended', async () => {
    const finish = Promise.withResolvers<void>();
    const slow = job({ name: 'slow', handle: () => finish.promise });
    const app = createApp({ jobs: [work, slow], signing: ring });
    const local = await startLocal(app, { ...base, backend: memory(), metrics: { port: 0 } });
    const { url } = local.metrics!;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
    await local.client.enqueue(work, {});
    const of = 'queue_jobs_processed_total{queue="default",job="work",outcome="acked"}';
    const read = async () => valuesOf(await (await fetch(url)).text());
    await expect.poll(async () => (await read())[of]).toBe(1);
    await local.client.enqueue(slow, {});
    await expect.poll(() => local.worker.running()).toBe(1);
    const stopped = local.stop();
    expect(named(await read(), 'queue_up')).toEqual({ 'queue_up{backend="memory"}': 1 });
    finish.resolve();
    await stopped;
    await expect(fetch(url)).rejects.toThrow();
    expect(app.events.active, 'nobody listens any more').toBe(false);
  });

  it('has no job to enqueue or to see there, and answers a probe', async () => {
    const { metrics } = await start({ metrics: { port: 0 } });
    const at = (path: string) => new URL(path, metrics!.url);
    expect((await fetch(at('/healthz'))).status).toBe(200);
    for (const path of ['/', '/jobs', '/jobs/work', '/openapi.json', '/metrics/'])
      expect((await fetch(at(path), { method: 'POST' })).status, path).toBe(404);
    expect((await fetch(at('/metrics'), { method: 'POST' })).status).toBe(405);
  });

  it('refuses a page whose name was pointed to this machine, and one of another site', async () => {
    const { metrics } = await start({ metrics: { port: 0 } });
    const { port } = new URL(metrics!.url);
    const raw = await dial(Number(port));
    raw.write('GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n');
    expect(await raw.closed()).toMatch(/^HTTP\/1\.1 403 /);
    const cross = await fetch(metrics!.url, { headers: { 'sec-fetch-site': 'cross-site' } });
    expect(cross.status).toBe(403);
  });

  it('asks for a credential where one is given, and takes none that is bound to a tenant or to jobs', async () => {
    const { metrics } = await start({ metrics: { port: 0, host: '127.0.0.1', apiKeys } });
    const status = async (init?: RequestInit) => (await fetch(metrics!.url, init)).status;
    expect(await status()).toBe(401);
    expect(await status(bearer('wrong.0123456789abcdef0123456789abcd'))).toBe(401);
    expect(await status(bearer(keys.acme))).toBe(403);
    expect(await status(bearer(keys.reporter))).toBe(403);
    expect(await status(bearer(keys.operator))).toBe(200);
  });

  it('asks authorize() too, on a public address', async () => {
    const authorize = (request: Request) =>
      request.headers.get('x-key') === 'yes' ? { tenantId: null } : null;
    const { metrics } = await start({ metrics: { port: 0, host: '0.0.0.0', authorize } });
    const { port } = new URL(metrics!.url);
    const url = `http://127.0.0.1:${port}/metrics`;
    expect((await fetch(url)).status).toBe(401);
    expect((await fetch(url, { headers: { 'x-key': 'yes' } })).status).toBe(200);
  });

  it('serves them beside the jobs, to callers that may see all of them', async () => {
    const { metrics, http } = await start({ metrics: true, http: { port: 0, apiKeys, basePath: '/api' } });
    expect(metrics!.url).toBe(`${http!.url}/api/metrics`);
    const answer = await fetch(metrics!.url, bearer(keys.operator));
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(valuesOf(await answer.text())).toMatchObject({ 'queue_up{backend="memory"}': 1 });
    expect((await fetch(metrics!.url)).status).toBe(401);
    expect((await fetch(metrics!.url, bearer(keys.acme))).status).toBe(403);
  });

  it.each<[LocalOptions['metrics'], RegExp]>([
    [true, /CONFIG: metrics needs a port, such as { port: 9464 }, or the option http/],
    [{ apiKeys }, /Option apiKeys of metrics needs the option port/],
    [
      { port: 0, host: '0.0.0.0' },
      /Expected a loopback host for metrics without a credential, got "0\.0\.0\.0"/,
    ],
    [{ port: 0, apiKeys: [] }, /Expected apiKeys to be a list of at least one key/],
    [{ port: 65_536 }, /Expected port of the HTTP server to be at most 65535/],
    [{ port: 0, timeoutMs: 0 }, /timeoutMs of the metrics/],
    ['yes' as never, /Expected metrics to be true, false or options such as { port: 9464 }, got "yes"/],
    [null as never, /Expected metrics to be true, false or options .*, got null/],
  ])('refuses %j before a worker starts', async (metrics, message) => {
    const app = createApp({ jobs: [work], signing: ring });
    const text = await refusalText(() => startLocal(app, { ...base, metrics: metrics! }));
    expect(text).toMatch(message);
    expect(app.events.active).toBe(false);
  });

  it('does not start half where a port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    const app = createApp({ jobs: [work], signing: ring });
    const started = (options: Partial<LocalOptions>) =>
      refusalText(() => startLocal(app, { ...base, ...options }));
    expect(await started({ metrics: { port } })).toMatch(/Could not listen on 127\.0\.0\.1/);
    expect(await started({ metrics: { port: 0 }, http: { port, apiKeys } })).toMatch(/Could not listen/);
    expect(app.events.active).toBe(false);
  });
});

describe('createHttpHandler', () => {
  it('has no such path without metrics', async () => {
    const { send } = createBench();
    expect((await send('/metrics')).status).toBe(404);
  });
});
