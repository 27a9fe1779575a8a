import { describe, expect, it } from 'vitest';
import { type ErrorCode, LongshoreError } from '../../../core/base/errors.ts';
import { type Client, connect } from '../../../core/index.ts';
import { queueRulesOf } from '../../../core/kernel/app/queues.ts';
import { createBench, expectSafe } from './kit.ts';

const secret = '/srv/secret/jobs.db at db-7.internal';
const body = { invoiceId: '1' };

/** A client whose backend and records fail as told. */
const failing = (error: Error) => (client: Client) => {
  const fail = async (): Promise<never> => {
    throw error;
  };
  return {
    ...client,
    backend: { ...client.backend, enqueue: fail },
    status: fail,
    cancel: fail,
  };
};

const requests = [
  ['POST /jobs/invoice.send', '/jobs/invoice.send', { body }],
  ['POST /jobs', '/jobs', { body: [{ job: 'invoice.send', payload: body }] }],
  ['GET /jobs/:id', '/jobs/job-1', {}],
  ['DELETE /jobs/:id', '/jobs/job-1', { method: 'DELETE' }],
  ['PATCH /jobs/:id', '/jobs/job-1', { method: 'PATCH', body: { priority: 1 } }],
  ['GET /jobs/:id/result', '/jobs/job-1/result', {}],
] as const;

describe('a full queue', () => {
  const limited = ({ app, backend }: Client) =>
    connect({ ...app, queueRules: queueRulesOf({ mail: { maxLength: 1 } }) }, backend);

  it('is a 429 with Retry-After, and for a batch the result of its jobs alone', async () => {
    const bench = createBench({}, limited);
    const item = { job: 'invoice.send', payload: body };
    const some = await bench.send('/jobs', { body: [item, item] });
    expect(some).toMatchObject({
      status: 207,
      body: { results: [{ status: 202 }, { status: 429, code: 'QUEUE_FULL' }] },
    });
    for (const [path, sent] of [
      ['/jobs/invoice.send', { body }],
      ['/jobs', { body: [item, item] }],
    ] as const) {
      const answer = await bench.send(path, sent);
      expect(answer).toMatchObject({ status: 429, body: { code: 'QUEUE_FULL' } });
      expect(answer.headers.get('retry-after')).toBe('5');
      expectSafe(answer);
    }
    expect(bench.events).toEqual([]);
  });
});

describe('a backend that fails', () => {
  const errors: [ErrorCode, Error][] = [
    ...(['BACKEND', 'STORAGE_FULL', 'READ_ONLY', 'CORRUPT', 'SCHEMA_VERSION'] as const).map(
      (code): [ErrorCode, Error] => [code, new LongshoreError(code, `SQLite failed: ${secret}`)],
    ),
    ['BACKEND', new TypeError(`driver: ${secret}`)],
  ];

  it.each(requests.flatMap((request) => errors.map(([code, error]) => [...request, code, error] as const)))(
    'is a 503 for %s, with Retry-After and without what is inside',
    async (_, path, sent, code, error) => {
      const bench = createBench({}, failing(error));
      const answer = await bench.send(path, sent);
      expect(answer).toMatchObject({
        status: 503,
        body: { code, detail: expect.stringMatching(/Repeat the request/) },
      });
      expect(answer.headers.get('retry-after')).toBe('5');
      expect(answer.text).not.toContain('secret');
      expectSafe(answer);
      expect(bench.events).toMatchObject([
        {
          type: 'http.failed',
          status: 503,
          requestId: 'made-id',
          error: { code, message: expect.stringContaining(secret) },
        },
      ]);
    },
  );

  it('for one job of a batch fails that one', async () => {
    const bench = createBench({}, (client) => ({
      ...client,
      backend: {
        ...client.backend,
        async enqueue(messages) {
          const [first, ...others] = messages;
          const error = new LongshoreError('BACKEND', secret);
          return [{ ok: false, id: first!.id, error }, ...(await client.backend.enqueue(others))];
        },
      },
    }));
    const item = { job: 'invoice.send', payload: body };
    const answer = await bench.send('/jobs', { body: [item, item] });
    expect(answer).toMatchObject({
      status: 207,
      body: { results: [{ status: 503, code: 'BACKEND' }, { status: 202 }] },
    });
    expect(answer.text).not.toContain('secret');
    expect(bench.events).toMatchObject([{ type: 'http.failed', status: 503 }]);
  });

  it('that gives no result at all is a 503, not a 202', async () => {
    const bench = createBench({}, (client) => ({
      ...client,
      backend: { ...client.backend, enqueue: async () => [] },
    }));
    expect((await bench.send('/jobs/invoice.send', { body })).status).toBe(503);
  });
});

describe('the handler', () => {
  it('tells the log, not the caller, what a schema threw', async () => {
    const bench = createBench();
    const answer = await bench.send('/jobs/broken.schema', { body: {} });
    expect(answer).toMatchObject({ status: 500, body: { code: 'INTERNAL', requestId: 'made-id' } });
    expect(answer.text).not.toContain('secret');
    expect(bench.events).toMatchObject([
      { type: 'http.failed', method: 'POST', error: { message: 'secret of the schema' } },
    ]);
  });

  it('never rejects, not even when a log sink throws', async () => {
    const bench = createBench();
    bench.app.events.on(() => {
      throw new Error('disk full');
    });
    expect((await bench.send('/jobs/broken.schema', { body: {} })).status).toBe(500);
  });
});
