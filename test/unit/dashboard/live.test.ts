/** The live state: one question to the backend for all who look, none while nobody does, and words when it is away. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { type Client, LongshoreError } from '../../../core/index.ts';
import { until } from '../../kit/until.ts';
import { createBench, enter, send } from './kit.ts';

/** What `stats` does, after counting how often it was asked. */
function counted(act: (client: Client) => Promise<unknown> = () => Promise.resolve(null)) {
  let asked = 0;
  const wrap = (client: Client): Client => {
    const admin = {
      ...client.backend.admin!,
      async stats(queue?: string) {
        asked++;
        await act(client);
        return client.backend.admin!.stats(queue);
      },
    };
    return { ...client, backend: { ...client.backend, admin } };
  };
  return { wrap, asked: () => asked };
}

type Bench = ReturnType<typeof createBench>;

/** Opens `api/events` and collects what comes. */
async function open({ handler }: Bench, headers: Readonly<Record<string, string>>) {
  const ended = new AbortController();
  const response = await handler(
    new Request('http://localhost:4020/api/events', { headers, signal: ended.signal }),
  );
  const chunks: string[] = [];
  if (response.status !== 200) return { response, chunks, close: async () => {} };
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  void (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return chunks.push('END');
      chunks.push(value);
    }
  })();
  const close = () => reader.cancel();
  onTestFinished(close);
  return { response, chunks, close };
}

const events = (chunks: readonly string[]) =>
  chunks
    .filter((text) => text.startsWith('event: live\ndata: '))
    .map((text) => JSON.parse(text.split('data: ')[1]!));

describe('api/events', () => {
  it('asks the backend once every two seconds for all, and stops with the last of them', async () => {
    const { wrap, asked } = counted();
    const bench = createBench({}, wrap);
    const { clock } = bench;
    const headers = await enter(bench.handler);
    const pages = [await open(bench, headers), await open(bench, headers), await open(bench, headers)];
    await until(() => pages.every(({ chunks }) => events(chunks).length === 1));
    expect(asked()).toBe(1);
    expect(pages[0]!.response.headers.get('content-type')).toBe('text/event-stream');
    expect(pages[0]!.chunks[0]).toBe('retry: 2000\n\n');
    for (let round = 2; round <= 4; round++) {
      clock.advance(2_000);
      await until(() => pages.every(({ chunks }) => events(chunks).length === round));
      expect(asked()).toBe(round);
    }
    for (const { close } of pages.slice(1)) await close();
    clock.advance(2_000);
    await until(() => events(pages[0]!.chunks).length === 5);
    await pages[0]!.close();
    clock.advance(60_000);
    await new Promise(setImmediate);
    expect(asked()).toBe(5);
  });

  it('tells what changes, and to who comes back at once', async () => {
    const bench = createBench();
    const headers = await enter(bench.handler);
    const first = await open(bench, headers);
    await until(() => events(first.chunks).length === 1);
    await first.close();
    await bench.client.enqueue(send, { to: 'ada' });
    bench.clock.advance(1_500);
    const second = await open(bench, { ...headers, 'last-event-id': '1' });
    await until(() => events(second.chunks).length === 1);
    expect(events(first.chunks)[0]!.queues).toMatchObject([{ queue: 'mail', ready: 0 }]);
    expect(events(second.chunks)[0]!.queues).toMatchObject([
      { queue: 'mail', ready: 1, oldestReadyMs: 1_500 },
    ]);
  });

  it('says that the backend is away, with what was known last, and goes on when it is back', async () => {
    let isAway = false;
    const { wrap } = counted(async () => {
      if (isAway) throw new Error('connect ECONNREFUSED 10.0.0.7:5432');
    });
    const bench = createBench({}, wrap);
    await bench.client.enqueue(send, { to: 'ada' });
    const headers = await enter(bench.handler);
    const { chunks } = await open(bench, headers);
    await until(() => events(chunks).length === 1);
    isAway = true;
    bench.clock.advance(2_000);
    await until(() => events(chunks).length === 2);
    isAway = false;
    bench.clock.advance(2_000);
    await until(() => events(chunks).length === 3);
    const known = expect.objectContaining({ queues: [expect.objectContaining({ ready: 1 })] });
    expect(events(chunks)).toEqual([known, known, known]);
    expect(events(chunks).map(({ error }) => error)).toEqual([
      null,
      'connect ECONNREFUSED 10.0.0.7:5432',
      null,
    ]);
  });

  it('waits for a silent backend once, with a sign of life between', async () => {
    let answer = () => {};
    const { wrap, asked } = counted(() => new Promise<void>((resolve) => (answer = resolve)));
    const bench = createBench({}, wrap);
    const headers = await enter(bench.handler);
    const { chunks } = await open(bench, headers);
    await until(asked);
    bench.clock.advance(4_000);
    await until(() => chunks.includes(': waiting\n\n'));
    bench.clock.advance(2_000);
    await until(() => events(chunks).length === 1);
    expect(events(chunks)[0]).toMatchObject({ error: 'The backend gave no answer for 5 s.' });
    bench.clock.advance(2_000);
    await until(() => events(chunks).length === 2);
    expect(events(chunks)[1]).toMatchObject({ error: 'The backend does not answer.' });
    expect(asked()).toBe(1);
    answer();
    await new Promise(setImmediate);
    bench.clock.advance(2_000);
    await until(() => asked() === 2);
    answer();
    await until(() => events(chunks).length === 3);
    expect(events(chunks)[2]).toMatchObject({ error: null });
  });

  it('is open 100 times at most, and ends with the dashboard', async () => {
    const bench = createBench();
    const headers = await enter(bench.handler);
    const pages = await Promise.all(Array.from({ length: 100 }, () => open(bench, headers)));
    const { response } = await open(bench, headers);
    expect(response.status).toBe(429);
    bench.handler.close();
    await until(() => pages.every(({ chunks }) => chunks.at(-1) === 'END'));
    expect((await open(bench, headers)).response.status).toBe(200);
  });

  it('does not stream where an answer cannot last', async () => {
    const { handler, ask } = createBench({ development: true, streams: false });
    const headers = await enter(handler);
    expect((await ask('/api/session', { headers })).body.streams).toBe(false);
    expect((await ask('/api/events', { headers })).body).toMatchObject({ status: 404 });
    expect((await ask('/api/live', { headers })).body).toMatchObject({ queues: [{ queue: 'mail' }] });
  });
});

describe('api/live', () => {
  it('is asked for once by all who ask within a second', async () => {
    const { wrap, asked } = counted();
    const { handler, ask, clock } = createBench({}, wrap);
    const headers = await enter(handler);
    await Promise.all([1, 2, 3].map(() => ask('/api/live', { headers })));
    await ask('/api/overview', { headers });
    expect(asked()).toBe(1);
    clock.advance(1_000);
    await ask('/api/live', { headers });
    expect(asked()).toBe(2);
  });
});

describe('a page of data', () => {
  it('is refused with what the backend said when it is away', async () => {
    const { handler, ask, client, events: emitted } = createBench();
    const headers = await enter(handler);
    const error = new LongshoreError('BACKEND', 'The backend failed during list: connect ECONNREFUSED.');
    Object.assign(client.stores.records, { page: () => Promise.reject(error) });
    const answer = await ask('/api/jobs', { headers });
    expect(answer.body).toMatchObject({ status: 503, code: 'BACKEND', detail: error.message });
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(emitted.filter(({ type }) => type === 'http.failed')).toHaveLength(1);
  });

  it('is given up after 15 seconds', async () => {
    const { handler, ask, client, clock } = createBench();
    const headers = await enter(handler);
    let asked = 0;
    const silent = new Promise(() => {});
    Object.assign(client.stores.records, {
      page() {
        asked++;
        return silent;
      },
    });
    const answer = ask('/api/jobs', { headers });
    await until(() => asked > 0);
    clock.advance(15_000);
    expect((await answer).body).toMatchObject({ status: 503, code: 'BACKEND' });
  });
});
