/** Server-sent events of jobs and batches. */

import { describe, expect, it } from 'vitest';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import '../../../core/kernel/enqueue/result.ts'; // loaded on demand, in a time that the virtual clock does not know
import '../../../core/features/batches/door.ts';
import { pass } from '../../kit/clocks.ts';
import { createBench, invoice, keys } from './kit.ts';

type Bench = ReturnType<typeof createBench>;

async function run({ app, client, backend }: Bench): Promise<void> {
  const [lease] = await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
  await attempt(app, { client, settler: backend }, createRun(lease!));
}

/** Opens a stream and collects its text. */
async function open(
  b: Bench,
  path: string,
  headers: Record<string, string> = {},
  key: string = keys.operator,
) {
  const leaving = new AbortController();
  const request = new Request(`http://localhost${path}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
    signal: leaving.signal,
  });
  const response = await b.handler(request);
  let text = '';
  const over = (async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
  })();
  over.catch(() => {});
  return { response, text: () => text, over, leave: () => leaving.abort() };
}

interface Sent {
  readonly id: string;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

const eventsIn = (text: string): Sent[] =>
  text
    .split('\n\n')
    .filter((block) => block.startsWith('id: '))
    .map((block) => {
      const [id, event, data] = block.split('\n').map((line) => line.slice(line.indexOf(': ') + 2));
      return { id: id!, event: event!, data: JSON.parse(data!) };
    });

const statuses = (text: string) => eventsIn(text).map(({ event, data }) => `${event} ${data.status}`);

async function enqueued(options: Parameters<typeof createBench>[0] = {}, key: string = keys.operator) {
  const b = createBench(options);
  const { body } = await b.send('/jobs/invoice.send', { body: { invoiceId: '7' }, key });
  return { ...b, id: body.id as string };
}

describe('GET /jobs/:id/events', () => {
  it('sends the job each time it changed, and ends with its end', async () => {
    const b = await enqueued();
    const stream = await open(b, `/jobs/${b.id}/events`);
    expect(stream.response.status).toBe(200);
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
    expect(stream.response.headers.get('cache-control')).toBe('no-store');
    await pass(b, 2_000);
    expect(stream.text()).toMatch(/^retry: 2000\n\n/);
    expect(statuses(stream.text())).toEqual(['job pending']);
    await run(b);
    await pass(b, 1_100);
    await stream.over;
    expect(statuses(stream.text())).toEqual(['job pending', 'job completed']);
    expect(eventsIn(stream.text())[1]!.data).toMatchObject({ id: b.id, output: { sent: '7' } });
  });

  it('resumes behind the last event, and answers 204 to a caller that has seen the end', async () => {
    const b = await enqueued();
    const first = await open(b, `/jobs/${b.id}/events`);
    await pass(b, 100);
    const [{ id: seen } = { id: '' }] = eventsIn(first.text());
    first.leave();
    const second = await open(b, `/jobs/${b.id}/events`, { 'last-event-id': seen });
    await pass(b, 1_100);
    expect(eventsIn(second.text())).toEqual([]);
    await run(b);
    await pass(b, 1_100);
    await second.over;
    const [end] = eventsIn(second.text());
    expect(end!.data.status).toBe('completed');
    const third = await b.send(`/jobs/${b.id}/events`, { headers: { 'last-event-id': end!.id } });
    expect(third.status).toBe(204);
  });

  it('sends a comment when nothing happens, and ends after streamTimeoutMs', async () => {
    const b = await enqueued({ streamTimeoutMs: 40_000 });
    const stream = await open(b, `/jobs/${b.id}/events`);
    await pass(b, 41_000);
    await stream.over;
    expect(stream.text().match(/^:$/gm)).toHaveLength(2);
  });

  it('sends only the current state where a platform cannot stream', async () => {
    const b = await enqueued({ streamTimeoutMs: 0 });
    const answer = await open(b, `/jobs/${b.id}/events`);
    await answer.over;
    expect(statuses(answer.text())).toEqual(['job pending']);
  });

  it('is a 404 for the job of another tenant and for none, and needs a credential', async () => {
    const b = await enqueued({}, keys.acme);
    for (const key of [keys.globex, keys.reporter]) {
      const other = await b.send(`/jobs/${b.id}/events`, { key });
      const missing = await b.send('/jobs/no-such/events', { key });
      expect(other.status).toBe(404);
      expect(other.text.replaceAll(b.id, 'no-such')).toBe(missing.text);
    }
    expect((await b.send(`/jobs/${b.id}/events`, { key: null })).status).toBe(401);
  });

  it('limits the streams of one credential, and frees those that are left', async () => {
    const b = await enqueued({ maxStreams: 2 }, keys.acme);
    const path = `/jobs/${b.id}/events`;
    const streams = [await open(b, path, {}, keys.acme), await open(b, path, {}, keys.acme)];
    expect(await b.send(path, { key: keys.acme })).toMatchObject({
      status: 429,
      body: { code: 'RATE_LIMIT', detail: expect.stringContaining('at most 2 event streams') },
    });
    const other = await open(b, path);
    expect(other.response.status).toBe(200);
    streams[0]!.leave();
    await pass(b, 200);
    const again = await open(b, path, {}, keys.acme);
    expect(again.response.status).toBe(200);
    for (const stream of [streams[1]!, other, again]) stream.leave();
    await pass(b, 200);
  });

  it('stops to read for a caller that does not read, when its time is over', async () => {
    const b = await enqueued({ streamTimeoutMs: 30_000, maxStreams: 1 });
    let looks = 0;
    const { records } = b.client.stores;
    const get = records.get.bind(records);
    records.get = (...args) => {
      looks++;
      return get(...args);
    };
    let watches = 0;
    const watchEnd = records.watchEnd!.bind(records);
    records.watchEnd = (...args) => {
      watches++;
      const { stop, ...watch } = watchEnd(...args);
      return {
        ...watch,
        stop() {
          watches--;
          stop();
        },
      };
    };
    const request = new Request(`http://localhost/jobs/${b.id}/events`, {
      headers: { authorization: `Bearer ${keys.operator}` },
    });
    await b.handler(request);
    await pass(b, 1_000);
    expect(watches).toBe(1);
    await run(b); // brings an event that is not read
    await pass(b, 30_000);
    expect(watches).toBe(0);
    looks = 0;
    await pass(b, 10_000);
    expect(looks).toBe(0);
    expect((await b.send(`/jobs/${b.id}/events`, { method: 'HEAD' })).status).toBe(200);
  });

  it('ends when the record is deleted', async () => {
    const b = await enqueued();
    const deleted = await open(b, `/jobs/${b.id}/events`);
    await pass(b, 100);
    await b.client.remove(b.id);
    await pass(b, 1_100);
    await deleted.over;
    expect(b.events).toEqual([]);
  });

  it('goes on when the store was away, and reports it once', async () => {
    const b = await enqueued();
    const stream = await open(b, `/jobs/${b.id}/events`);
    await pass(b, 100);
    const { records } = b.client.stores;
    const { get } = records;
    records.get = async () => {
      throw new Error('no route to host');
    };
    await pass(b, 10_000);
    expect(b.events).toMatchObject([{ type: 'http.failed', status: 503 }]);
    records.get = get;
    await run(b);
    await pass(b, 3_100);
    await stream.over;
    expect(statuses(stream.text())).toEqual(['job pending', 'job completed']);
  });
});

describe('GET /batches/:id/events', () => {
  it('sends the progress of a batch until its end', async () => {
    const b = createBench();
    const batch = await b.client.batch('invoices', [{ invoiceId: '1' }, { invoiceId: '2' }], {
      job: invoice,
    });
    const stream = await open(b, `/batches/${batch.id}/events`);
    await pass(b, 1_100);
    await run(b);
    await pass(b, 1_100);
    await run(b);
    await pass(b, 2_100);
    await stream.over;
    const seen = eventsIn(stream.text());
    expect(seen.map(({ event }) => event)).toEqual(seen.map(() => 'batch'));
    expect(seen.map(({ data }) => data.succeeded)).toEqual(expect.arrayContaining([0, 1, 2]));
    expect(seen.at(-1)!.data).toMatchObject({ state: 'complete', outcome: 'succeeded' });
    expect((await b.send(`/batches/${batch.id}/events`, { key: keys.reporter })).status).toBe(403);
  });
});
