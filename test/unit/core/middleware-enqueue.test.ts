/** Middleware around calls that enqueue: what it sees, what it may change, and what becomes of its errors. */

import { describe, expect, it } from 'vitest';
import type { SendResult } from '../../../core/contract/queue.ts';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { currentContext, withContext } from '../../../core/kernel/app/context.ts';
import type { EnqueueCall, EnqueueMiddleware } from '../../../core/kernel/app/middleware.ts';
import { createHttpHandler } from '../../../core/surfaces/http/index.ts';
import { type BenchOptions, bench, job, refusalText, ring, startMs } from './kit.ts';

const first = job({ name: 'first', queue: 'mail' });
const second = job({ name: 'second', queue: 'other' });

function around(enqueue: EnqueueMiddleware, more: Partial<BenchOptions> = {}) {
  const b = bench({ jobs: [first, second], queues: { fast: {} }, use: [{ enqueue }], ...more });
  const contextOf = async () => {
    const { lease } = await b.take();
    return readEnvelope(lease.body, { ring, now: startMs, maxBytes: 1_048_576 }).context;
  };
  return { ...b, contextOf };
}

describe('the middleware of a call', () => {
  it('sees one call and its results', async () => {
    const seen: { call: EnqueueCall; results: SendResult[] }[] = [];
    const b = around(async (call, next) => {
      const results = await next();
      seen.push({ call, results });
      return results;
    });
    expect(await b.client.enqueue(first, {}, { queue: 'fast' })).toEqual({ id: 'id-1', queue: 'fast' });
    const results = await b.client.enqueueMany(second, [{}, Number.NaN]);
    expect(results.map(({ ok }) => ok)).toEqual([true, false]);
    expect(seen).toEqual([
      {
        call: { backend: 'memory', job: 'first', queue: 'fast', count: 1 },
        results: [{ ok: true, id: 'id-1', duplicate: false }],
      },
      { call: { backend: 'memory', job: 'second', queue: 'other', count: 2 }, results },
    ]);
  });

  it('is passed from the outside in', async () => {
    const order: string[] = [];
    const noted =
      (name: string): EnqueueMiddleware =>
      async (_, next) => {
        order.push(name);
        const results = await next();
        order.push(`${name} after`);
        return results;
      };
    const b = bench({ jobs: [first], use: [{ enqueue: noted('one') }, { enqueue: noted('two') }] });
    await b.client.enqueue(first, {});
    expect(order).toEqual(['one', 'two', 'two after', 'one after']);
  });

  it.each([
    ['of the call', { tenantId: 'acme' }],
    ['around the call', undefined],
  ])('finds the context %s in currentContext(), and may change it', async (_, context) => {
    const seen: unknown[] = [];
    const b = around((_call, next) => {
      seen.push(currentContext());
      return withContext({ ...currentContext(), actorId: 'u-7' }, next);
    });
    const call = () => b.client.enqueue(first, {}, context && { context });
    await withContext({ tenantId: context ? 'else' : 'acme' }, call);
    expect(seen).toEqual([{ tenantId: 'acme' }]);
    expect(await b.contextOf()).toEqual({ tenantId: 'acme', actorId: 'u-7' });
  });

  it('leaves a job without context without one', async () => {
    const b = around((_, next) => next());
    await b.client.enqueue(first, {});
    expect(await b.contextOf()).toBeNull();
  });

  it('stands around a request over HTTP as well', async () => {
    const calls: EnqueueCall[] = [];
    const b = around((call, next) => {
      calls.push(call);
      return withContext({ ...currentContext(), actorId: 'changed' }, next);
    });
    const key = 'k'.repeat(40);
    const http = createHttpHandler(b.client, { apiKeys: [{ id: 'shop', key }] });
    const post = (path: string, body: unknown) =>
      http(
        new Request(`http://host.example${path}`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'x-request-id': 'r-1',
          },
          body: JSON.stringify(body),
        }),
      );
    expect((await post('/jobs/first', {})).status).toBe(202);
    expect((await post('/jobs', [{ job: 'first' }, { job: 'second' }])).status).toBe(202);
    expect(calls).toEqual([
      { backend: 'memory', job: 'first', queue: 'mail', count: 1 },
      { backend: 'memory', job: null, queue: null, count: 2 },
    ]);
    for (let i = 0; i < 3; i++)
      expect(await b.contextOf()).toMatchObject({ actorId: 'changed', requestId: 'r-1' });
  });
});

describe('an error of a call', () => {
  it('of the job passes through the middleware', async () => {
    const seen: unknown[] = [];
    const b = around(async (_, next) => {
      const results = await next();
      seen.push(...results.map(({ ok }) => ok));
      return results;
    });
    const code = await b.client.enqueue(first, {}, { maxRetries: -1 }).catch((error) => error.code);
    expect(code).toBe('OPTION');
    expect(seen).toEqual([false]);
  });

  it('of the middleware reaches the caller', async () => {
    const b = around(() => Promise.reject(new Error('read only')));
    await expect(b.client.enqueue(first, {})).rejects.toThrow('read only');
    await expect(b.take()).rejects.toThrow('found none');
  });

  it('is that nothing was sent, where next() was not called', async () => {
    const b = around(async () => []);
    expect(await refusalText(() => b.client.enqueue(first, {}))).toMatch(/^CONFIG: .*without calling next/);
  });
});
