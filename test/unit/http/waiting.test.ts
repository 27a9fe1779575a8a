/** Changing, promoting and removing what waits, and waiting for results, over HTTP. */

import { describe, expect, it } from 'vitest';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { createBench, expectSafe, keys } from './kit.ts';

const hour = 3_600_000;
const enqueueLater = { body: { invoiceId: '7' } };

async function delayed(bench = createBench(), key: string = keys.operator) {
  const { body } = await bench.send(`/jobs/invoice.send?delayMs=${hour}`, { ...enqueueLater, key });
  return { ...bench, id: body.id as string };
}

async function run({ app, client, backend }: ReturnType<typeof createBench>): Promise<void> {
  const [lease] = await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
  await attempt(app, { client, settler: backend }, createRun(lease!));
}

const conflict = (id: string) => ({
  status: 409,
  body: { code: 'CONFLICT', detail: expect.stringContaining(`GET /jobs/${id}`) },
});

describe('PATCH /jobs/:id', () => {
  it('changes payload, time and priority of a job that waits', async () => {
    const bench = await delayed();
    const body = { payload: { invoiceId: '8' }, delayMs: 0, priority: 'low' };
    const answer = await bench.send(`/jobs/${bench.id}`, { method: 'PATCH', body });
    expect(answer).toMatchObject({ status: 200, body: { id: bench.id, status: 'changed' } });
    expect((await bench.send(`/jobs/${bench.id}`)).body.priority).toBe(8);
    await run(bench);
    expect((await bench.send(`/jobs/${bench.id}/result`)).body.output).toEqual({ sent: '8' });
  });

  it.each<[what: string, body: unknown, status: number, code: string, detail: RegExp]>([
    ['no object', [], 422, 'REQUEST', /object with payload/],
    ['nothing', {}, 400, 'OPTION', /at least one of payload/],
    ['an unknown option', { delay: 5 }, 400, 'OPTION', /delay/],
    ['an option of an enqueue', { queue: 'mail' }, 400, 'OPTION', /queue/],
    ['two times', { delayMs: 1, runAt: '2030-01-01T00:00:00Z' }, 400, 'OPTION', /either delayMs or runAt/],
    ['a wrong priority', { priority: 'urgent' }, 400, 'OPTION', /priority/],
    ['a payload that does not fit', { payload: { invoiceId: 8 } }, 422, 'PAYLOAD', /openapi/],
  ])('refuses %s, and the job stays', async (_, body, status, code, detail) => {
    const bench = await delayed();
    const answer = await bench.send(`/jobs/${bench.id}`, { method: 'PATCH', body });
    expect(answer).toMatchObject({ status, body: { code, detail: expect.stringMatching(detail) } });
    expect((await bench.send(`/jobs/${bench.id}`)).body.status).toBe('pending');
  });
});

describe('a slash at the end of a path', () => {
  it('is ignored', async () => {
    const bench = createBench();
    expect((await bench.send('/healthz/', { key: null })).status).toBe(200);
    const { status, body } = await bench.send('/jobs/invoice.send/', { body: { invoiceId: '7' } });
    expect(status).toBe(202);
    expect((await bench.send(`/jobs/${body.id}/`)).body.status).toBe('pending');
  });
});

describe('POST /jobs/:id/promote and /remove', () => {
  it('lets a delayed job run now', async () => {
    const bench = await delayed();
    const answer = await bench.send(`/jobs/${bench.id}/promote`, { method: 'POST' });
    expect(answer).toMatchObject({ status: 200, body: { id: bench.id, status: 'promoted' } });
    await run(bench);
    expect((await bench.send(`/jobs/${bench.id}`)).body.status).toBe('completed');
  });

  it('takes a job out of the queue, with its record', async () => {
    const bench = await delayed();
    const answer = await bench.send(`/jobs/${bench.id}/remove`, { method: 'POST' });
    expect(answer).toMatchObject({ status: 200, body: { id: bench.id, status: 'removed' } });
    expect((await bench.send(`/jobs/${bench.id}`)).status).toBe(404);
    expect((await bench.send(`/jobs/${bench.id}/remove`, { method: 'POST' })).status).toBe(404);
  });
});

const verbs = [
  ['PATCH', '', { priority: 1 }],
  ['POST', '/promote', undefined],
  ['POST', '/remove', undefined],
] as const;

describe.each(verbs)('%s /jobs/:id%s', (method, verb, body) => {
  it('is a 409 for a job that runs or has ended', async () => {
    const bench = await delayed();
    const { id, backend } = bench;
    bench.clock.advance(hour);
    const [lease] = await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
    expect(await bench.send(`/jobs/${id}${verb}`, { method, body })).toMatchObject(conflict(id));
    await backend.ack([{ lease: lease! }]);
    expect(await bench.send(`/jobs/${id}${verb}`, { method, body })).toMatchObject(conflict(id));
  });

  it('is a 404 for the job of another tenant, of a job that is not allowed, and for none', async () => {
    const bench = await delayed(createBench(), keys.acme);
    for (const key of [keys.globex, keys.reporter]) {
      const other = await bench.send(`/jobs/${bench.id}${verb}`, { method, body, key });
      const missing = await bench.send(`/jobs/no-such${verb}`, { method, body, key });
      expect(other.status).toBe(404);
      expect(other.text.replaceAll(bench.id, 'no-such')).toBe(missing.text);
    }
    expect((await bench.send(`/jobs/${bench.id}`)).body.status).toBe('pending');
    expect((await bench.send(`/jobs/${bench.id}${verb}`, { method, body, key: keys.acme })).status).toBe(200);
  });

  it('needs a credential', async () => {
    const bench = await delayed();
    expect((await bench.send(`/jobs/${bench.id}${verb}`, { method, body, key: null })).status).toBe(401);
  });

  it('is a 501 where the queue finds no job by its id', async () => {
    const bench = await delayed(
      createBench({}, (client) => ({
        ...client,
        backend: { ...client.backend, pending: undefined as never },
      })),
    );
    expect(await bench.send(`/jobs/${bench.id}${verb}`, { method, body })).toMatchObject({
      status: 501,
      body: { code: 'CONFIG', detail: expect.stringContaining('Cancel it with DELETE') },
    });
  });
});

describe('GET /jobs/:id/result', () => {
  it('is 202 at once for a job that has not ended', async () => {
    const bench = await delayed();
    const answer = await bench.send(`/jobs/${bench.id}/result`);
    const statusUrl = `/jobs/${bench.id}`;
    expect(answer).toMatchObject({ status: 202, body: { id: bench.id, status: 'pending', statusUrl } });
    expect(answer.headers.get('retry-after')).toBe('1');
    expectSafe(answer);
  });

  it('waits for the end, while no time passes', async () => {
    const bench = await delayed();
    const answer = bench.send(`/jobs/${bench.id}/result?timeoutMs=5000`);
    await bench.send(`/jobs/${bench.id}/promote`, { method: 'POST' });
    await run(bench);
    expect(await answer).toMatchObject({
      status: 200,
      body: { id: bench.id, status: 'completed', output: { sent: '7' }, reason: null, error: null },
    });
  });

  it('is 202 when the time is over', async () => {
    const bench = await delayed();
    let over = false;
    const answer = bench.send(`/jobs/${bench.id}/result?timeoutMs=5000`).finally(() => {
      over = true;
    });
    while (!over) {
      bench.clock.advance(1_000);
      await new Promise(setImmediate);
    }
    expect(await answer).toMatchObject({ status: 202, body: { status: 'pending' } });
  });

  it('says how else a job has ended, also while it was waited for', async () => {
    const bench = await delayed();
    const answer = bench.send(`/jobs/${bench.id}/result?timeoutMs=5000`);
    await bench.send(`/jobs/${bench.id}`, { method: 'DELETE' });
    expect(await answer).toMatchObject({ status: 200, body: { status: 'cancelled', output: null } });
    const dead = await delayed(bench);
    bench.clock.advance(hour);
    const [lease] = await bench.backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
    await bench.backend.abandon(lease!, { reason: 'permanent', error: 'HANDLER: no' });
    expect(await bench.send(`/jobs/${dead.id}/result?timeoutMs=5000`)).toMatchObject({
      status: 200,
      body: { status: 'failed', reason: 'permanent', error: 'HANDLER: no' },
    });
  });

  it('is 404 when the job is removed meanwhile', async () => {
    const bench = await delayed();
    const answer = bench.send(`/jobs/${bench.id}/result?timeoutMs=5000`);
    await bench.send(`/jobs/${bench.id}/remove`, { method: 'POST' });
    expect((await answer).status).toBe(404);
  });

  it('waits no longer for a client that has gone, and reports no failure', async () => {
    const bench = await delayed();
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${keys.operator}` };
    const url = `http://localhost/jobs/${bench.id}/result?timeoutMs=5000`;
    const answer = bench.handler(new Request(url, { headers, signal: gone.signal }));
    await new Promise(setImmediate);
    gone.abort();
    expect((await answer).status).toBe(202);
    expect(bench.events.filter(({ type }) => type === 'http.failed')).toEqual([]);
  });

  it('is 404 for the job of another tenant', async () => {
    const bench = await delayed(createBench(), keys.acme);
    const answer = await bench.send(`/jobs/${bench.id}/result?timeoutMs=5000`, { key: keys.globex });
    expect(answer.status).toBe(404);
  });

  it.each([
    ['timeoutMs=20001', /from 0 to 20000, got "20001"/],
    ['timeoutMs=-1', /got "-1"/],
    ['timeoutMs=soon', /got "soon"/],
    ['timeoutMs=1&timeoutMs=2', /got 2 of it/],
    ['timeout=5', /only timeoutMs in the query, got "timeout"/],
  ])('refuses ?%s', async (query, detail) => {
    const bench = await delayed();
    expect(await bench.send(`/jobs/${bench.id}/result?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'OPTION', detail: expect.stringMatching(detail) },
    });
  });

  it('waits no longer than its option allows', async () => {
    const bench = await delayed(createBench({ resultTimeoutMs: 10 }));
    expect((await bench.send(`/jobs/${bench.id}/result?timeoutMs=11`)).status).toBe(400);
    expect(() => createBench({ resultTimeoutMs: -1 })).toThrow(/resultTimeoutMs of the HTTP handler/);
  });
});
