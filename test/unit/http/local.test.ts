/** `startLocal` with HTTP: one process that takes requests and runs what they enqueue. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createApp, defineJob, defineSchedule, keyRing } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { startLocal } from '../../../local/start.ts';
import { keys } from './kit.ts';

const apiKeys = [{ id: 'web', key: keys.operator }];
const headers = { authorization: `Bearer ${keys.operator}`, 'content-type': 'application/json' };

function createBench(handle: (payload: { n: number }) => unknown = ({ n }) => n) {
  const job = defineJob({ name: 'count', payload: z.object({ n: z.number() }), handle });
  return createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
}

describe('startLocal({ http })', () => {
  it('serves, runs and stops', async () => {
    const local = await startLocal(createBench(), {
      backend: memory(),
      signals: [],
      logger: false,
      http: { port: 0, apiKeys },
    });
    const url = local.http!.url;
    const answer = await fetch(`${url}/jobs/count`, { method: 'POST', headers, body: '{"n":7}' });
    const { statusUrl } = (await answer.json()) as { statusUrl: string };
    const status = async () =>
      ((await (await fetch(url + statusUrl, { headers })).json()) as { status: string }).status;
    await expect.poll(status).toBe('completed');
    await local.stop();
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  it('takes no request any more while its jobs drain', async () => {
    let finish = () => {};
    const app = createBench(() => {
      const { promise, resolve } = Promise.withResolvers<void>();
      finish = resolve;
      return promise;
    });
    const local = await startLocal(app, {
      backend: memory(),
      signals: [],
      logger: false,
      http: { port: 0, apiKeys },
    });
    await local.client.enqueue(app.jobs.get('count')!, { n: 1 });
    await expect.poll(() => local.worker.running()).toBe(1);
    const stopped = local.stop();
    await expect
      .poll(() =>
        fetch(`${local.http!.url}/healthz`).then(
          () => 'served',
          () => 'closed',
        ),
      )
      .toBe('closed');
    expect(local.worker.running()).toBe(1);
    finish();
    expect((await stopped).counts.acked).toBe(1);
  });

  it('prints the address, and in development the credential that works there', async () => {
    const lines: { msg: string; url?: string }[] = [];
    const sink = new Writable({
      write(chunk, _encoding, done) {
        for (const line of String(chunk).trim().split('\n')) lines.push(JSON.parse(line));
        done();
      },
    });
    const local = await startLocal(createBench(), {
      backend: memory(),
      signals: [],
      logger: pino(sink),
      http: { port: 0, development: true },
    });
    const [authorization] = lines.flatMap(({ msg }) => /Bearer \S+$/.exec(msg) ?? []);
    const url = lines.find((line) => line.url)?.url;
    expect((await fetch(`${url}/openapi.json`, { headers: { authorization: authorization! } })).status).toBe(
      200,
    );
    expect(authorization).toBe(`Bearer ${local.http?.developmentToken}`);
    await local.stop();
  });

  it('does not start half: neither a wrong option nor a taken port leaves a worker behind', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const app = createBench();
    const started: string[] = [];
    app.events.on(({ type }) => started.push(type));
    const base = { backend: memory(), signals: [], logger: false } as const;
    await expect(startLocal(app, { ...base, http: { port, apiKeys } })).rejects.toMatchObject({
      code: 'CONFIG',
    });
    await expect(startLocal(app, { ...base, http: { port: 0 } })).rejects.toThrow(/exactly one of apiKeys/);
    await expect(startLocal(app, { ...base, concurrency: 0, http: { port: 0, apiKeys } })).rejects.toThrow(
      /concurrency/,
    );
    expect(started).toEqual([]);
    other.close();
  });

  it('closes its port when the first tick throws', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as { port: number };
    free.close();
    await once(free, 'close');
    const job = defineJob({ name: 'count', payload: z.object({}), handle() {} });
    const schedule = defineSchedule({ name: 'often', everyMs: 60_000, job, payload: {} });
    let isChecked = false;
    const breaking = {
      ...schedule,
      async nextAfter(after: number) {
        if (isChecked) throw new Error('The pattern has broken.');
        isChecked = true;
        return schedule.nextAfter(after);
      },
    };
    const app = createApp({
      jobs: [job],
      schedules: [breaking],
      signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    });
    const options = { backend: memory(), signals: [], logger: false, http: { port, apiKeys } } as const;
    await expect(startLocal(app, options)).rejects.toThrow('The pattern has broken.');
    const next = createServer().listen(port, '127.0.0.1');
    await once(next, 'listening'); // rejects if the port is taken
    next.close();
  });
});
