import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob } from '../../../core/index.ts';
import { createBench, expectSafe, report } from './kit.ts';
import { rows } from './wrong.ts';
import { items } from './wrong-items.ts';

describe('a wrong request', () => {
  it.each(rows)('%s', async (_, path, sent, status, code, says) => {
    const bench = createBench();
    const answer = await bench.send(path, sent);
    expect(answer.status).toBe(status);
    expectSafe(answer);
    if (sent.method !== 'HEAD') {
      expect(answer.body.code).toBe(code);
      expect(answer.body.detail).toMatch(says);
    }
    expect((await bench.client.stores.records.page({})).records, 'nothing is stored').toEqual([]);
    if (status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm="longshore"/);
    if (status === 405) expect(answer.headers.get('allow')).toMatch(/OPTIONS$/);
    if (status === 415)
      expect(answer.headers.has('accept-post') || answer.headers.has('accept-encoding')).toBe(true);
    if (code === 'PAYLOAD' && !/__proto__/.test(answer.body.detail)) {
      expect(answer.body.errors[0]).toEqual({ path: expect.any(String), message: expect.any(String) });
    }
  });

  it.each(items)('of many, next to a good one: %s', async (_, item, status, code, says) => {
    const bench = createBench({ maxBodyBytes: 2_000_000 });
    const answer = await bench.send('/jobs', { body: [item, { job: 'report.nightly', payload: {} }] });
    expect(answer.status).toBe(207);
    const [refused, accepted] = answer.body.results;
    expect(refused).toMatchObject({ status, code, detail: expect.stringMatching(says) });
    expect(accepted).toEqual({
      status: 202,
      id: expect.any(String),
      queue: 'default',
      statusUrl: `/jobs/${accepted.id}`,
    });
    expect((await bench.client.stores.records.page({})).records.map(({ id }) => id)).toEqual([accepted.id]);
  });

  it('is told that the queue of the job does not accept it', async () => {
    const bench = createBench({}, (client) => {
      const app = createApp({ jobs: [report], accepts: { default: [] }, signing: client.app.keyRing() });
      return connect(app, client.backend);
    });
    const { status, body } = await bench.send('/jobs/report.nightly', { body: {} });
    expect({ status, ...body }).toMatchObject({
      status: 404,
      code: 'UNKNOWN_JOB',
      detail: expect.stringMatching(/^Queue "default" does not accept job "report.nightly"\./),
    });
    expect((await bench.client.stores.records.page({})).records, 'nothing is stored').toEqual([]);
  });

  it('is told that no payload fits the job', async () => {
    const payload = z.object({ at: z.date() });
    const late = defineJob({ name: 'late', payload, async handle() {} });
    const { send } = createBench({}, (client) =>
      connect(createApp({ jobs: [late, report], signing: client.app.keyRing() }), client.backend),
    );
    expect(await send('/jobs/late', { body: { at: '2026-01-15T12:00:00Z' } })).toMatchObject({
      status: 422,
      body: {
        code: 'PAYLOAD',
        detail: expect.stringContaining('Job "late" can never run: payload.at is z.date()'),
        errors: [{ path: 'at' }],
      },
    });
  });

  it('is told of at most 20 places of a payload', async () => {
    const { send } = createBench();
    const children = Array.from({ length: 500 }, () => 'leaf');
    const { body } = await send('/jobs/tree.walk', { body: { children } });
    expect(body.errors).toHaveLength(20);
    expect(body.errors[19].path).toBe('children.19');
    expect(body.detail).toContain('and 495 more');
  });

  it('never has its body or credential in the answer', async () => {
    const { send } = createBench();
    const secret = 'hunter2hunter2';
    for (const body of [`{"password":"${secret}"`, { invoiceId: 1, password: secret }, [secret]]) {
      expect((await send('/jobs/invoice.send', { body })).text).not.toContain(secret);
    }
    expect((await send('/jobs/x', { key: `${secret}${secret}${secret}` })).text).not.toContain(secret);
  });
});
