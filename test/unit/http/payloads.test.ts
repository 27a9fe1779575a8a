/** A payload that is too large for the queue travels beside it, also when it comes over HTTP. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing, LongshoreError } from '../../../core/index.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { createHttpHandler, type HttpOptions } from '../../../core/surfaces/http/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { keys } from './kit.ts';

const maxBodyBytes = 2_000;
const large = 'x'.repeat(5_000);

function open(options: Partial<HttpOptions> = {}, put?: () => Promise<void>) {
  const clock = createVirtualClock();
  const seen: string[] = [];
  const stored = new Map<string, Uint8Array>();
  const job = defineJob({
    name: 'text.index',
    payload: z.object({ text: z.string() }),
    handle: ({ text }) => void seen.push(text),
  });
  const app = createApp({ jobs: [job], clock, signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  const backend = memory({ clock, maxBodyBytes });
  const payloads = {
    put: put ?? (async (key: string, bytes: Uint8Array) => void stored.set(key, bytes)),
    get: async (key: string) => stored.get(key) ?? null,
    delete: async (key: string) => void stored.delete(key),
  };
  const client = connect(app, backend, { store: { payloads } });
  const apiKeys = [{ id: 'operator', key: keys.operator }];
  const handler = createHttpHandler(client, { apiKeys, rateLimit: false, ...options });

  async function post(path: string, body: unknown) {
    const headers = { authorization: `Bearer ${keys.operator}`, 'content-type': 'application/json' };
    const request = new Request(`http://127.0.0.1${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const answer = await handler(request);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  }
  async function runAll(): Promise<void> {
    for (;;) {
      const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 0 });
      if (!lease) return;
      await attempt(app, { client, settler: backend }, createRun(lease));
    }
  }
  return { post, runAll, seen, stored };
}

describe('a payload that is larger than the queue takes', () => {
  it('is accepted, kept beside the queue, and reaches the handler', async () => {
    const t = open();
    expect((await t.post('/jobs/text.index', { text: large })).status).toBe(202);
    expect(t.stored.size).toBe(1);
    await t.runAll();
    expect(t.seen).toEqual([large]);
    expect(t.stored.size).toBe(0);
  });

  it('is accepted among others, in several slices', async () => {
    const t = open();
    const items = Array.from({ length: 450 }, (_, n) => ({
      job: 'text.index',
      payload: { text: n === 300 ? large : `${n}` },
    }));
    const { status, body } = await t.post('/jobs', items);
    expect(status).toBe(202);
    const results = body.results as { id: string; status: number }[];
    expect(new Set(results.map(({ id }) => id)).size).toBe(450);
    expect(results.every((result) => result.status === 202)).toBe(true);
    await t.runAll();
    expect(t.seen).toHaveLength(450);
    expect(t.seen).toContain(large);
  });

  it('is a 503 when it cannot be kept, and nothing is sent', async () => {
    const t = open({}, () => Promise.reject(new LongshoreError('BACKEND', 'away')));
    expect(await t.post('/jobs/text.index', { text: large })).toMatchObject({
      status: 503,
      body: { code: 'BACKEND' },
    });
    await t.runAll();
    expect(t.seen).toEqual([]);
  });

  it('is a 413 above maxBodyBytes of the handler', async () => {
    const t = open({ maxBodyBytes: 4_000 });
    expect((await t.post('/jobs/text.index', { text: large })).status).toBe(413);
  });
});
