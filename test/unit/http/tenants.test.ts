import { describe, expect, it } from 'vitest';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { createBench, keys, type Sent } from './kit.ts';

const body = { invoiceId: '1042' };
type Bench = ReturnType<typeof createBench>;

async function enqueue(bench: Bench, key: string, sent: Sent = {}): Promise<string> {
  const answer = await bench.send('/jobs/invoice.send', { body, key, ...sent });
  expect(answer.status).toBe(202);
  return answer.body.id;
}

async function runAll({ app, client, backend }: Bench): Promise<string[]> {
  const outcomes = [];
  for (;;) {
    const [lease] = await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
    if (!lease) return outcomes;
    outcomes.push((await attempt(app, { client, settler: backend }, createRun(lease))).outcome);
  }
}

describe('tenants', () => {
  it.each(['GET', 'HEAD', 'DELETE'])(
    'cannot %s the job of another: it answers like one that does not exist',
    async (method) => {
      const bench = createBench();
      const id = await enqueue(bench, keys.acme);
      const other = await bench.send(`/jobs/${id}`, { method, key: keys.globex });
      const missing = await bench.send('/jobs/no-such', { method, key: keys.globex });
      expect(other.status).toBe(404);
      expect(other.text.replaceAll(id, 'no-such')).toBe(missing.text);
      expect([...other.headers]).toEqual([...missing.headers]);
      expect((await bench.send(`/jobs/${id}`, { key: keys.acme })).body).toMatchObject({
        status: 'pending',
        tenantId: 'acme',
      });
    },
  );

  it('see and cancel their own', async () => {
    const bench = createBench();
    const id = await enqueue(bench, keys.acme);
    expect((await bench.send(`/jobs/${id}`, { key: keys.acme })).status).toBe(200);
    expect((await bench.send(`/jobs/${id}`, { key: keys.acme, method: 'DELETE' })).status).toBe(200);
  });

  it('do not see jobs that belong to no tenant; a credential without tenant sees all', async () => {
    const bench = createBench();
    const house = await enqueue(bench, keys.operator);
    const theirs = await enqueue(bench, keys.acme);
    expect((await bench.send(`/jobs/${house}`, { key: keys.acme })).status).toBe(404);
    for (const id of [house, theirs]) expect((await bench.send(`/jobs/${id}`)).status).toBe(200);
  });

  it('stay apart after the job has ended', async () => {
    const bench = createBench();
    const id = await enqueue(bench, keys.acme);
    expect(await runAll(bench)).toEqual(['acked']);
    expect((await bench.send(`/jobs/${id}`, { key: keys.globex })).status).toBe(404);
    expect((await bench.send(`/jobs/${id}`, { key: keys.globex, method: 'DELETE' })).status).toBe(404);
    expect((await bench.send(`/jobs/${id}`, { key: keys.acme })).body.output).toEqual({ sent: '1042' });
  });

  it('have idempotency keys of their own: the same key of another neither skips a job nor shows its output', async () => {
    const bench = createBench();
    const headers = { 'idempotency-key': 'order-1' };
    await enqueue(bench, keys.acme, { headers, body: { invoiceId: 'of acme' } });
    await enqueue(bench, keys.acme, { headers, body: { invoiceId: 'of acme' } });
    const id = await enqueue(bench, keys.globex, { headers, body: { invoiceId: 'of globex' } });
    await enqueue(bench, keys.operator, { headers });
    expect(await runAll(bench)).toEqual(['acked', 'skipped-idempotent', 'acked', 'acked']);
    expect((await bench.send(`/jobs/${id}`, { key: keys.globex })).body.output).toEqual({
      sent: 'of globex',
    });
  });

  it('with names that look like another’s key stay apart', async () => {
    const callers = new Map([
      ['a', { tenantId: 'a' }],
      ['b', { tenantId: 'a:job:invoice.send' }],
    ]);
    const bench = createBench({
      authorize: (request) => callers.get(request.headers.get('x-caller') ?? '') ?? null,
    });
    const send = (caller: string, key: string) =>
      bench.send('/jobs/invoice.send', { body, headers: { 'x-caller': caller, 'idempotency-key': key } });
    await send('a', 'job:invoice.send:k');
    await send('b', 'k');
    expect(await runAll(bench)).toEqual(['acked', 'acked']);
  });
});

describe('a credential that is bound to jobs', () => {
  it('does not learn the names of queues', async () => {
    const bench = createBench();
    const wrong = '/jobs/report.nightly?queue=no.such';
    const mine = await bench.send(wrong, { body: {}, key: keys.reporter });
    expect(mine).toMatchObject({ status: 400, body: { code: 'OPTION' } });
    expect(mine.body.detail).not.toMatch(/mail|default/);
    expect((await bench.send(wrong, { body: {} })).body.detail).toMatch(/default/);
  });

  it('enqueues and sees them, and no others', async () => {
    const bench = createBench();
    const own = await bench.send('/jobs/report.nightly', { body: {}, key: keys.reporter });
    expect(own.status).toBe(202);
    expect((await bench.send(`/jobs/${own.body.id}`, { key: keys.reporter })).status).toBe(200);
    const other = await enqueue(bench, keys.operator);
    for (const method of ['GET', 'DELETE']) {
      expect((await bench.send(`/jobs/${other}`, { key: keys.reporter, method })).status).toBe(404);
    }
  });

  it('gets a batch with others in it as 207', async () => {
    const { send } = createBench();
    const items = [
      { job: 'report.nightly', payload: {} },
      { job: 'invoice.send', payload: body },
    ];
    const answer = await send('/jobs', { body: items, key: keys.reporter });
    expect(answer).toMatchObject({
      status: 207,
      body: { results: [{ status: 202 }, { status: 403, code: 'FORBIDDEN' }] },
    });
  });
});
