import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../../core/envelope/envelope.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { createBench, expectSafe, invoice, keys, type Sent } from './kit.ts';

const one = '/jobs/invoice.send';
const body = { invoiceId: '1042' };
type Bench = ReturnType<typeof createBench>;

async function envelopes({ backend }: Bench): Promise<Envelope[]> {
  const leases = await backend.fetch({ queues: ['mail', 'default'], max: 100, leaseMs: 60_000, waitMs: 0 });
  return leases.map((lease) => JSON.parse(lease.body) as Envelope);
}

async function runAll({ app, client, backend }: Bench) {
  const outcomes = [];
  for (;;) {
    const [lease] = await backend.fetch({ queues: ['mail', 'default'], max: 1, leaseMs: 60_000, waitMs: 0 });
    if (!lease) return outcomes;
    outcomes.push((await attempt(app, { client, settler: backend }, createRun(lease))).outcome);
  }
}

describe('POST /jobs/:name', () => {
  it('stores the job and says where its record is', async () => {
    const bench = createBench();
    const answer = await bench.send(one, { body });
    expect(answer).toMatchObject({
      status: 202,
      body: { id: 'job-1', queue: 'mail', statusUrl: '/jobs/job-1' },
    });
    expect(answer.headers.get('location')).toBe('/jobs/job-1');
    expect(answer.headers.get('content-type')).toBe('application/json');
    expectSafe(answer);
    const [envelope] = await envelopes(bench);
    expect(envelope).toMatchObject({
      job: 'invoice.send',
      payload: body,
      maxRetries: 5,
      idempotencyKey: null,
      context: { actorId: 'operator', requestId: 'made-id' },
    });
  });

  it.each([
    ['delayMs=0', {}],
    ['delayMs=60000', { schedule: Date.UTC(2026, 0, 15, 12, 1) }],
    ['runAt=2026-01-15T13:00:00Z', { schedule: Date.UTC(2026, 0, 15, 13) }],
    ['runAt=2026-01-15T15:00:00.250%2B01:00', { schedule: Date.UTC(2026, 0, 15, 14, 0, 0, 250) }],
    ['runAt=2020-01-01T00:00:00z', { schedule: null }],
    ['runAt=2026-02-28T00:00:00Z&maxRetries=0', { schedule: Date.UTC(2026, 1, 28), maxRetries: 0 }],
    ['priority=high', { priority: 2 }],
    ['priority=0', { priority: 0 }],
    ['queue=default', { queue: 'default' }],
    ['maxRetries=100', { maxRetries: 100 }],
  ])('takes ?%s', async (query, expected) => {
    const bench = createBench();
    expect((await bench.send(`${one}?${query}`, { body })).status).toBe(202);
    bench.clock.advance(60 * 86_400_000);
    expect(await envelopes(bench)).toMatchObject([expected]);
  });

  it.each([
    ['application/json'],
    ['application/json; charset=utf-8'],
    ['APPLICATION/JSON;charset="UTF-8"'],
    ['application/vnd.acme+json'],
    ['application/cloudevents+json; profile=x'],
  ])('takes the content type %s', async (type) => {
    const { send } = createBench();
    expect((await send(one, { body, headers: { 'content-type': type } })).status).toBe(202);
  });

  it.each<[string, string | Uint8Array]>([
    ['a byte order mark', `\ufeff${JSON.stringify(body)}`],
    ['bytes', new TextEncoder().encode(JSON.stringify(body))],
    ['unknown members, as the schema says', '{"invoiceId":"1","x":1}'],
    ['the key constructor', '{"invoiceId":"1","constructor":1}'],
  ])('takes a body with %s', async (_, text) => {
    const { send } = createBench();
    expect((await send(one, { body: text })).status).toBe(202);
  });

  it('takes a body in pieces that cut characters', async () => {
    const bench = createBench();
    const bytes = new TextEncoder().encode(JSON.stringify({ invoiceId: '🚢é' }));
    const stream = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    expect((await bench.send(one, { body: stream })).status).toBe(202);
    expect(await envelopes(bench)).toMatchObject([{ payload: { invoiceId: '🚢é' } }]);
  });

  it('takes nesting of 64 levels', async () => {
    const { send } = createBench();
    const text = `${'{"children":['.repeat(32)}${']}'.repeat(32)}`;
    expect((await send('/jobs/tree.walk', { body: text })).status).toBe(202);
  });

  it('is found under basePath, and says so in its links', async () => {
    const { send } = createBench({ basePath: '/api/v1' });
    const answer = await send('/api/v1/jobs/invoice.send', { body });
    expect(answer.body.statusUrl).toBe('/api/v1/jobs/job-1');
    expect((await send('/api/v1/jobs/job-1')).status).toBe(200);
    expect((await send(one, { body })).status).toBe(404);
    expect((await send('/api/v1/healthz', { key: null })).status).toBe(200);
  });

  it('reads no further than the cap of a body whose length nobody has claimed', async () => {
    const bench = createBench({ maxBodyBytes: 10_000 });
    let pulled = 0;
    const endless = new ReadableStream(
      {
        pull(controller) {
          pulled += 1_000;
          controller.enqueue(new Uint8Array(1_000).fill(0x20));
        },
      },
      { highWaterMark: 0 },
    );
    const answer = await bench.send(one, { body: endless });
    expect(answer).toMatchObject({ status: 413, body: { code: 'LIMIT' } });
    expect(pulled).toBeLessThanOrEqual(12_000);
  });

  it('does not touch the body when the claimed length is too large', async () => {
    const { send } = createBench({ maxBodyBytes: 10 });
    let pulled = 0;
    const body = new ReadableStream({ pull: () => void pulled++ }, { highWaterMark: 0 });
    expect((await send(one, { body, headers: { 'content-length': '11' } })).status).toBe(413);
    expect(pulled).toBe(0);
  });

  it('answers a body that breaks off', async () => {
    const { send } = createBench();
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) });
    expect(await send(one, { body })).toMatchObject({ status: 400, body: { code: 'REQUEST' } });
  });
});

describe('the idempotency key', () => {
  it.each([
    ['as it is', 'order-1042'],
    ['in the quotes of a structured field', '"order-1042"'],
  ])('is the job’s own, %s', async (_, key) => {
    const bench = createBench();
    await bench.send(one, { body, headers: { 'idempotency-key': key } });
    expect(await envelopes(bench)).toMatchObject([{ idempotencyKey: 'order-1042' }]);
  });

  it('makes a repeated request have one effect', async () => {
    const bench = createBench();
    const sent: Sent = { body, headers: { 'idempotency-key': 'order-1042' } };
    const ids = [await bench.send(one, sent), await bench.send(one, sent)].map((answer) => answer.body.id);
    expect(await runAll(bench)).toEqual(['acked', 'skipped-idempotent']);
    for (const id of ids) {
      expect((await bench.send(`/jobs/${id}`)).body).toMatchObject({
        status: 'completed',
        output: { sent: '1042' },
      });
    }
  });
});

describe('an idempotency key that came with another payload before', () => {
  const headers = { 'idempotency-key': 'order-1042' };
  const other = { invoiceId: '7' };

  it('is refused, and nothing is sent', async () => {
    const bench = createBench();
    expect((await bench.send(one, { body, headers })).status).toBe(202);
    const answer = await bench.send(one, { body: other, headers });
    expect(answer).toMatchObject({ status: 422, body: { code: 'REQUEST' } });
    expect(answer.body.detail).toMatch(/the payload that came first with this idempotency key, got another/);
    expectSafe(answer);
    const item = { job: 'invoice.send', payload: other, options: { idempotencyKey: 'order-1042' } };
    expect((await bench.send('/jobs', { body: [item] })).status).toBe(422);
    expect(await runAll(bench)).toEqual(['acked']);
  });

  it('is accepted from another tenant, with another key, and when the job has forgotten the key', async () => {
    const bench = createBench();
    await bench.send(one, { body, headers });
    expect((await bench.send(one, { body: other, headers, key: keys.acme })).status).toBe(202);
    const another = { 'idempotency-key': 'order-7' };
    expect((await bench.send(one, { body: other, headers: another })).status).toBe(202);
    bench.clock.advance(86_400_000);
    expect((await bench.send(one, { body: other, headers })).status).toBe(202);
  });

  it('is not bound to a payload that was refused', async () => {
    const bench = createBench();
    expect((await bench.send(one, { body: { invoiceId: 1042 }, headers })).status).toBe(422);
    expect((await bench.send(one, { body, headers })).status).toBe(202);
  });

  it('is a 503 when the key store cannot say', async () => {
    const bench = createBench({}, (client) => {
      const claim = () => Promise.reject(new Error('away'));
      return { ...client, stores: { ...client.stores, keys: { ...client.stores.keys, claim } } };
    });
    expect(await bench.send(one, { body, headers })).toMatchObject({
      status: 503,
      body: { code: 'BACKEND' },
    });
    expect(await runAll(bench)).toEqual([]);
  });
});

describe('POST /jobs', () => {
  it('stores all, with a result for each in order', async () => {
    const bench = createBench();
    const answer = await bench.send('/jobs', {
      body: [
        { job: 'invoice.send', payload: body, options: { delayMs: 5, idempotencyKey: 'a', priority: 'low' } },
        { job: 'report.nightly', payload: {}, options: {} },
        { job: 'invoice.send', payload: body, options: { runAt: '2026-01-15T12:00:01Z', maxRetries: 1 } },
      ],
    });
    expect(answer.status).toBe(202);
    expect(answer.body.results).toEqual([
      { status: 202, id: 'job-1', queue: 'mail', statusUrl: '/jobs/job-1' },
      { status: 202, id: 'job-2', queue: 'default', statusUrl: '/jobs/job-2' },
      { status: 202, id: 'job-3', queue: 'mail', statusUrl: '/jobs/job-3' },
    ]);
    bench.clock.advance(1_000);
    const stored = await envelopes(bench);
    expect(stored.map(({ identifier }) => identifier).toSorted()).toEqual(['job-1', 'job-2', 'job-3']);
    expect(stored.find(({ identifier }) => identifier === 'job-1')).toMatchObject({
      idempotencyKey: 'a',
      priority: 8,
    });
  });

  it('says with one status why nothing was taken, and 422 when the reasons differ', async () => {
    const { send } = createBench();
    const unknown = { job: 'no.such', payload: {} };
    const same = await send('/jobs', { body: [unknown, unknown] });
    expect(same).toMatchObject({
      status: 404,
      body: { code: 'UNKNOWN_JOB', results: [{ status: 404 }, { status: 404 }] },
    });
    const mixed = await send('/jobs', { body: [unknown, 5] });
    expect(mixed).toMatchObject({
      status: 422,
      body: { code: 'REQUEST', results: [{ status: 404 }, { status: 422 }] },
    });
    expectSafe(mixed);
  });
});

describe('GET /jobs/:id', () => {
  it('shows a time that no date can tell as the last one that a date can', async () => {
    const { client, backend, send } = createBench();
    const { id } = await client.enqueue(invoice, { invoiceId: '1' });
    const [lease] = await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
    await backend.nack(lease!, { delayMs: 8.9e15, countAttempt: true });
    expect(await send(`/jobs/${id}`)).toMatchObject({
      status: 200,
      body: { runAt: '+275760-09-13T00:00:00.000Z' },
    });
  });

  it('shows status, attempts and progress, with times in RFC 3339 and without stack traces', async () => {
    const bench = createBench();
    const { id } = await bench.client.enqueue(invoice, { invoiceId: '1' });
    const [lease] = await bench.backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
    const at = bench.clock.now();
    await bench.client.stores.records.progress(id, lease!.token, { done: 1, total: 2, message: 'half', at });
    const error = {
      code: 'HANDLER',
      message: 'SMTP says 421',
      stack: 'Error: SMTP\n    at secret (/srv/app.ts:1)',
    };
    const times = { startedAt: at, endedAt: at + 5 };
    // A caller learns nothing of the machines behind the queue, nor of what the handler says for its operators.
    const inside = { worker: 'worker-7', host: 'ip-10-0-0-7', log: [{ at, text: 'asking SMTP' }] };
    await bench.backend.nack(lease!, {
      delayMs: 1_000,
      countAttempt: true,
      report: { attempt: 1, maxAttempts: 4, ...times, outcome: 'requeued', error, output: null, ...inside },
    });
    const answer = await bench.send(`/jobs/${id}`);
    expectSafe(answer);
    expect(answer.body).toEqual({
      id,
      queue: 'mail',
      job: 'invoice.send',
      tenantId: null,
      name: null,
      idempotencyKey: null,
      schedule: null,
      requestId: null,
      traceparent: null,
      status: 'retrying',
      priority: 5,
      createdAt: '2026-01-15T12:00:00.000Z',
      runAt: '2026-01-15T12:00:01.000Z',
      finishedAt: null,
      maxAttempts: 4,
      progress: { done: 1, total: 2, message: 'half', at: '2026-01-15T12:00:00.000Z' },
      attempts: [
        {
          attempt: 1,
          startedAt: '2026-01-15T12:00:00.000Z',
          endedAt: '2026-01-15T12:00:00.005Z',
          outcome: 'requeued',
          error: { code: 'HANDLER', message: 'SMTP says 421' },
        },
      ],
      output: null,
      reason: null,
      error: null,
    });
  });

  it('shows stack traces to whoever asked for them when the handler was made', async () => {
    const bench = createBench({ stacks: true });
    const { id } = await bench.client.enqueue(invoice, { invoiceId: '1' });
    const [lease] = await bench.backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
    const error = { code: 'HANDLER', message: 'no', stack: 'Error: no at x' };
    const report = {
      attempt: 1,
      startedAt: 0,
      endedAt: 0,
      outcome: 'requeued',
      error,
      output: null,
    } as const;
    await bench.backend.nack(lease!, { delayMs: 0, countAttempt: true, report });
    expect((await bench.send(`/jobs/${id}`)).body.attempts[0].error).toEqual(error);
  });

  it('answers HEAD with the same status and headers, and nothing else', async () => {
    const { send } = createBench();
    await send(one, { body });
    expect(await send('/jobs/job-1', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
    const missing = await send('/jobs/none', { method: 'HEAD' });
    expect(missing).toMatchObject({ status: 404, text: '' });
    expect(missing.headers.get('content-type')).toBe('application/problem+json');
  });
});

describe('DELETE /jobs/:id', () => {
  it('cancels what waits with 200, what runs with 202, and what has ended with 409', async () => {
    const bench = createBench();
    for (const _ of [1, 2]) await bench.send(one, { body });
    expect(await bench.send('/jobs/job-1', { method: 'DELETE' })).toMatchObject({
      status: 200,
      body: { id: 'job-1', status: 'cancelled' },
    });
    const [lease] = await bench.backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
    expect(await bench.send('/jobs/job-2', { method: 'DELETE' })).toMatchObject({
      status: 202,
      body: { id: 'job-2', status: 'cancelling' },
    });
    await bench.backend.ack([{ lease: lease! }]);
    for (const id of ['job-1', 'job-2']) {
      const late = await bench.send(`/jobs/${id}`, { method: 'DELETE' });
      expect(late).toMatchObject({
        status: 409,
        body: { code: 'CONFLICT', detail: expect.stringContaining(`GET /jobs/${id}`) },
      });
      expectSafe(late);
    }
  });
});
