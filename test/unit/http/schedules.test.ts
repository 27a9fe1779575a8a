/** `/schedules`: who may make them, and whose they are. */

import { describe, expect, it } from 'vitest';
import { tick } from '../../../core/features/schedules/feature.ts';
import { createBench, expectSafe, keys } from './kit.ts';

const may = (id: 'operator' | 'acme' | 'globex' | 'reporter', rest: object = {}) => ({
  ...{ id, key: keys[id], schedules: true },
  ...rest,
});

const bench = () =>
  createBench({
    apiKeys: [
      may('operator'),
      may('acme', { tenantId: 'acme' }),
      may('globex', { tenantId: 'globex' }),
      may('reporter', { jobs: ['report.nightly'] }),
    ],
  });

const daily = {
  job: 'invoice.send',
  payload: { invoiceId: '7' },
  cron: '0 9 * * *',
  timezone: 'Europe/Berlin',
};
const put = (body: unknown, key: string = keys.acme) => ({ method: 'PUT', body, key });
const as = (key: string, method = 'GET') => ({ method, key });

describe('/schedules', () => {
  it('makes, shows, changes, pauses, resumes, runs and removes one', async () => {
    const b = bench();
    const made = await b.send('/schedules/daily-7', put(daily));
    expectSafe(made);
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      name: 'daily-7',
      job: 'invoice.send',
      timing: '0 9 * * * (Europe/Berlin)',
      tenantId: 'acme',
      pausedAt: null,
      nextAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT0[78]:00:00\.000Z$/),
    });
    expect(
      (await b.send('/schedules/daily-7', put({ ...daily, everyMs: 60_000, cron: undefined }))).status,
    ).toBe(200);
    expect((await b.send('/schedules/daily-7/pause', as(keys.acme, 'POST'))).body).toMatchObject({
      nextAt: null,
    });
    expect((await b.send('/schedules/daily-7/resume', as(keys.acme, 'POST'))).body).toMatchObject({
      pausedAt: null,
    });
    const ran = await b.send('/schedules/daily-7/run', as(keys.acme, 'POST'));
    expect(ran.status).toBe(202);
    const { id } = ran.body as { id: string };
    expect((await b.send(`/jobs/${id}`, as(keys.acme))).body).toMatchObject({
      tenantId: 'acme',
      name: 'daily-7',
    });
    b.clock.advance(60_000);
    expect(await tick(b.app, b.client)).toHaveLength(1);
    expect((await b.send('/schedules/daily-7', as(keys.acme, 'DELETE'))).body).toEqual({
      name: 'daily-7',
      removed: true,
    });
    expect((await b.send('/schedules/daily-7', as(keys.acme))).status).toBe(404);
  });

  it('takes the end of a schedule', async () => {
    const b = bench();
    const until = '2030-01-31T12:00:00.000Z';
    const made = await b.send('/schedules/daily-7', put({ ...daily, until, limit: 3 }));
    expect(made.body).toMatchObject({ until, limit: 3 });
    for (const wrong of [{ until: 'soon' }, { until: '2030-02-30T12:00:00Z' }, { limit: 0 }])
      expect((await b.send('/schedules/daily-8', put({ ...daily, ...wrong }))).status).toBeGreaterThan(399);
    expect((await b.send('/schedules/daily-8', as(keys.acme))).status).toBe(404);
  });

  it('shows to nobody what is another tenant’s or of another job, and lets nobody take it over', async () => {
    const b = bench();
    await b.send('/schedules/mine', put(daily));
    for (const key of [keys.globex, keys.reporter]) {
      for (const [path, method] of [
        ['/schedules/mine', 'GET'],
        ['/schedules/mine', 'DELETE'],
        ['/schedules/mine/pause', 'POST'],
        ['/schedules/mine/run', 'POST'],
      ] as const) {
        const answer = await b.send(path, as(key, method));
        expectSafe(answer);
        expect(answer.status).toBe(404);
      }
      expect((await b.send('/schedules', as(key))).body).toEqual({ schedules: [], next: null });
    }
    expect((await b.send('/schedules/mine', put(daily, keys.globex))).status).toBe(409);
    expect((await b.send('/schedules/other', put(daily, keys.reporter))).status).toBe(403);
    const all = (await b.send('/schedules', as(keys.operator))).body as { schedules: unknown[] };
    expect(all.schedules).toHaveLength(1);
  });

  it('pages without a name of somebody else', async () => {
    const b = bench();
    for (const name of ['a1', 'a2', 'z']) await b.send(`/schedules/${name}`, put(daily));
    for (const name of ['secret-1', 'secret-2']) await b.send(`/schedules/${name}`, put(daily, keys.globex));
    const names: string[] = [];
    let after = '';
    for (let pages = 0; pages < 9; pages++) {
      const answer = await b.send(`/schedules?max=1${after}`, as(keys.acme));
      expect(answer.text).not.toContain('secret');
      const { schedules, next } = answer.body as { schedules: { name: string }[]; next: string | null };
      names.push(...schedules.map(({ name }) => name));
      if (next === null) break;
      const other = (await b.send(`/schedules?after=${next}`, as(keys.globex))).body;
      expect(JSON.stringify(other)).not.toContain('"name":"a');
      after = `&after=${next}`;
    }
    expect(names).toEqual(['a1', 'a2', 'z']);
    const own = (await b.send('/schedules?after=a1&max=1', as(keys.acme))).body;
    expect(own).toMatchObject({ schedules: [{ name: 'a2' }] });
    const all = (await b.send('/schedules?max=3', as(keys.operator))).body;
    expect(all).toMatchObject({ next: 'secret-1' });
  });

  it('leaves a name to the tenant who was first by a moment', async () => {
    const b = bench();
    const store = b.client.stores.schedules!;
    const { write } = store;
    let isFirst = true;
    const writeLate: typeof write = async (row, over) => {
      if (isFirst) {
        isFirst = false;
        expect((await b.send('/schedules/wanted', put(daily, keys.globex))).status).toBe(201);
      }
      return write(row, over);
    };
    Object.assign(store, { write: writeLate });
    expect((await b.send('/schedules/wanted', put(daily))).status).toBe(409);
    expect((await b.send('/schedules/wanted', as(keys.globex))).body).toMatchObject({ tenantId: 'globex' });
  });

  it('is closed to a credential without it', async () => {
    const b = createBench();
    for (const sent of [put(daily, keys.operator), as(keys.operator)]) {
      const answer = await b.send('/schedules/x', sent);
      expectSafe(answer);
      expect([answer.status, answer.body?.code]).toEqual([403, 'FORBIDDEN']);
    }
    expect((await b.send('/schedules', as(keys.acme))).status).toBe(403);
    expect((await b.send('/schedules', as('nobody.0123456789abcdef0123456789abc'))).status).toBe(401);
  });

  it.each([
    ['no JSON', 'nonsense', 400, 'REQUEST'],
    ['a list', [], 422, 'REQUEST'],
    ['an unknown member', { ...daily, ping: 'https://x' }, 422, 'REQUEST'],
    ['a context', { ...daily, context: { tenantId: 'globex' } }, 422, 'REQUEST'],
    ['no job', { cron: '0 9 * * *' }, 422, 'REQUEST'],
    ['an unknown job', { ...daily, job: 'nothing' }, 404, 'UNKNOWN_JOB'],
    ['a payload that does not fit', { ...daily, payload: { invoiceId: 7 } }, 422, 'PAYLOAD'],
    ['a payload that is too large', { ...daily, payload: { invoiceId: 'x'.repeat(70_000) } }, 413, 'LIMIT'],
    ['a cron text that is none', { ...daily, cron: 'soon' }, 400, 'OPTION'],
    ['a zone that is none', { ...daily, timezone: 'Mars' }, 400, 'OPTION'],
    ['a number for a zone', { ...daily, timezone: 7 }, 400, 'OPTION'],
    ['no timing', { ...daily, cron: undefined }, 400, 'OPTION'],
  ])('refuses %s', async (_, body, status, code) => {
    const b = bench();
    const answer = await b.send('/schedules/x', put(body));
    expectSafe(answer);
    expect([answer.status, answer.body?.code]).toEqual([status, code]);
    expect((await b.send('/schedules', as(keys.acme))).body).toEqual({ schedules: [], next: null });
  });

  it('refuses a name and a page that cannot be', async () => {
    const b = bench();
    expect((await b.send('/schedules/a%20b', put(daily))).status).toBe(400);
    expect((await b.send(`/schedules/${'x'.repeat(5_000)}`, put(daily))).status).toBe(400);
    for (const query of ['max=0', 'max=1001', 'max=x', 'first=1'])
      expect((await b.send(`/schedules?${query}`, as(keys.acme))).status).toBe(400);
    expect((await b.send('/schedules/x', as(keys.acme, 'POST'))).status).toBe(405);
  });
});
