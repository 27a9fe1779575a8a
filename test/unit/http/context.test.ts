import { describe, expect, it } from 'vitest';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import type { Envelope } from '../../../core/envelope/envelope.ts';
import { createBench, expectSafe, keys } from './kit.ts';

const one = '/jobs/invoice.send';
const body = { invoiceId: '1042' };

async function envelopes({ backend }: ReturnType<typeof createBench>): Promise<Envelope[]> {
  const leases = await backend.fetch({ queues: ['mail'], max: 100, leaseMs: 60_000, waitMs: 0 });
  return leases.map((lease) => JSON.parse(lease.body) as Envelope);
}

describe('other methods and routes', () => {
  it('answers /healthz without a credential, and tells nothing', async () => {
    const { send } = createBench();
    const answer = await send('/healthz', { key: null, headers: { 'sec-fetch-site': 'cross-site' } });
    expect(answer).toMatchObject({ status: 200, body: { status: 'ok' } });
    expectSafe(answer);
    expect(await send('/healthz', { key: null, method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
  });

  it.each([
    ['/jobs', 'POST, OPTIONS'],
    ['/jobs/x', 'GET, HEAD, POST, PATCH, DELETE, OPTIONS'],
    ['/openapi.json', 'GET, HEAD, OPTIONS'],
    ['/healthz', 'GET, HEAD, OPTIONS'],
  ])('answers OPTIONS %s with Allow, and nothing for other origins', async (path, allow) => {
    const { send } = createBench();
    const answer = await send(path, { method: 'OPTIONS', key: null });
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(answer.headers.get('allow')).toBe(allow);
    expectSafe(answer);
  });

  it.each(['same-origin', 'none'])('takes a request with Sec-Fetch-Site: %s', async (site) => {
    const { send } = createBench();
    expect((await send(one, { body, headers: { 'sec-fetch-site': site } })).status).toBe(202);
  });
});

describe('the context of a job', () => {
  const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

  it.each<[string, string, Record<string, string>]>([
    ['a sane id', 'x-request-id', { requestId: 'req-1:a/b=' }],
    ['a W3C trace', 'traceparent', { traceparent: parent }],
    ['a trace of a later version', 'traceparent', { traceparent: `cc${parent.slice(2)}-what-follows` }],
  ])('carries %s', async (_, name, expected) => {
    const bench = createBench();
    const [value] = Object.values(expected);
    const answer = await bench.send(one, { body, headers: { [name]: value! } });
    expect(await envelopes(bench)).toMatchObject([{ context: expected }]);
    if (name === 'x-request-id') expect(answer.headers.get(name)).toBe(value);
  });

  it.each([
    ['x-request-id', ''],
    ['x-request-id', 'two words'],
    ['x-request-id', 'x'.repeat(129)],
    ['x-request-id', '<script>'],
    ['x-request-id', 'a"b'],
    ['traceparent', ''],
    ['traceparent', parent.toUpperCase()],
    ['traceparent', parent.slice(0, -1)],
    ['traceparent', `${parent}-more`],
    ['traceparent', `ff${parent.slice(2)}`],
    ['traceparent', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
    ['traceparent', `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`],
    ['traceparent', `${parent}, ${parent}`],
    ['traceparent', `cc${parent.slice(2)}-${'x'.repeat(300)}`],
  ])('leaves out a bad %s: %s', async (name, value) => {
    const bench = createBench();
    const answer = await bench.send(one, { body, headers: { [name]: value } });
    expect(answer.status).toBe(202);
    expect(await envelopes(bench)).toMatchObject([{ context: { requestId: 'made-id' } }]);
    const [record] = (await bench.client.stores.records.page({})).records;
    expect(record?.tenantId).toBeNull();
  });

  it('has no tenant but the credential’s, whatever the request says', async () => {
    const bench = createBench();
    const headers = {
      'x-tenant-id': 'globex',
      'tenant-id': 'globex',
      cookie: 'tenant=globex',
      baggage: 'tenantId=globex',
    };
    await bench.send(one, {
      body: { ...body, tenantId: 'globex', context: { tenantId: 'globex' } },
      headers,
      key: keys.acme,
    });
    expect(await envelopes(bench)).toMatchObject([{ context: { tenantId: 'acme', actorId: 'acme-web' } }]);
  });

  it('is in the message for the backend too', async () => {
    const messages: OutgoingMessage[] = [];
    const bench = createBench({}, (client) => ({
      ...client,
      backend: {
        ...client.backend,
        enqueue: (all) => {
          messages.push(...all);
          return client.backend.enqueue(all);
        },
      },
    }));
    await bench.send(one, { body, key: keys.acme });
    expect(messages).toMatchObject([{ tenantId: 'acme' }]);
  });
});
