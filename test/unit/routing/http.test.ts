/** HTTP over several backends: whose jobs a caller sees on each, and a backend that is away. */

import { describe, expect, it } from 'vitest';
import { connect } from '../../../core/index.ts';
import { createHttpHandler } from '../../../core/surfaces/http/index.ts';
import { keys, sender } from '../http/kit.ts';
import { createBench } from './kit.ts';

function bench(wrap = (backends: ReturnType<typeof createBench>['backends']) => backends) {
  const it = createBench();
  const backends = wrap(it.backends);
  const client = connect(it.app, backends);
  const key = (id: 'acme' | 'globex', more: object = {}) => ({
    ...{ id, key: keys[id], tenantId: id, schedules: true },
    ...more,
  });
  const apiKeys = [
    { id: 'operator', key: keys.operator, schedules: true },
    key('acme'),
    key('globex'),
    { id: 'reporter', key: keys.reporter, jobs: ['mail'], schedules: true },
  ];
  return { ...it, client, send: sender(createHttpHandler(client, { apiKeys, rateLimit: false })) };
}

const sent = (key: string, body: unknown = { n: 1 }, method = 'POST') => ({ method, body, key });

describe('HTTP over several backends', () => {
  it('enqueues each job where it belongs, alone and in a list, and on another backend while its own is away', async () => {
    const { send, client, backends, app } = bench();
    await send('/jobs/thumb', sent(keys.acme));
    const items = [{ job: 'mail', payload: { n: 1 } }, { job: 'none' }, { job: 'resize', payload: { n: 2 } }];
    const { status, body } = await send('/jobs', sent(keys.operator, items));
    expect([status, body.results.map((one: { status: number }) => one.status)]).toEqual([
      207,
      [202, 404, 202],
    ]);
    const jobsOn = async (name: 'default' | 'fast') =>
      (await client.backends.get(name)!.stores.records.page({ max: 9 })).records
        .map(({ job }) => job)
        .toSorted();
    expect([await jobsOn('default'), await jobsOn('fast')]).toEqual([['mail'], ['resize', 'thumb']]);
    await backends.fast.close();
    const some = await send('/jobs', sent(keys.operator, [items[0], items[2]]));
    expect([some.status, some.body.results.map((one: { status: number }) => one.status)]).toEqual([
      207,
      [202, 503],
    ]);
    const failover = connect(app, backends, { failover: { fast: 'default' } });
    const apiKeys = [{ id: 'operator', key: keys.operator }];
    const sure = sender(createHttpHandler(failover, { apiKeys, rateLimit: false }));
    expect((await sure('/jobs/thumb', sent(keys.operator))).status).toBe(202);
    expect(await jobsOn('default')).toEqual(['mail', 'mail', 'thumb']);
  });

  it.each(['mail', 'thumb'])('shows and changes job %s for its tenant only', async (job) => {
    const { send, client } = bench();
    const { id } = (await send(`/jobs/${job}?delayMs=60000`, sent(keys.acme))).body as { id: string };
    expect((await client.backends.get(job === 'mail' ? 'default' : 'fast')!.status(id))?.tenantId).toBe(
      'acme',
    );
    for (const key of [keys.globex, ...(job === 'thumb' ? [keys.reporter] : [])])
      for (const [path, method, body] of [
        [`/jobs/${id}`, 'GET'],
        [`/jobs/${id}/result`, 'GET'],
        [`/jobs/${id}`, 'PATCH', { priority: 1 }],
        [`/jobs/${id}/promote`, 'POST'],
        [`/jobs/${id}/remove`, 'POST'],
        [`/jobs/${id}`, 'DELETE'],
      ] as const)
        expect([path, method, (await send(path, { method, key, body })).status]).toEqual([path, method, 404]);
    const change = sent(keys.acme, { payload: { n: 2 }, priority: 1 }, 'PATCH');
    expect((await send(`/jobs/${id}`, change)).body).toEqual({ id, status: 'changed' });
    expect((await send(`/jobs/${id}`, { key: keys.acme })).body).toMatchObject({ priority: 1, job });
    expect((await send(`/jobs/${id}/result`, { key: keys.acme })).status).toBe(202);
    expect((await send(`/jobs/${id}/remove`, { method: 'POST', key: keys.acme })).status).toBe(200);
  });

  it('keeps the schedules of a tenant apart on each backend, in one list', async () => {
    const { send, client } = bench();
    for (const [name, job, key] of [
      ['a-mail', 'mail', keys.acme],
      ['b-thumb', 'thumb', keys.acme],
      ['c-thumb', 'thumb', keys.globex],
      ['d-mail', 'mail', keys.globex],
    ] as const)
      expect(
        (await send(`/schedules/${name}`, sent(key, { job, payload: { n: 1 }, everyMs: 60_000 }, 'PUT')))
          .status,
      ).toBe(201);
    expect(await client.backends.get('fast')!.schedules.get('b-thumb')).toMatchObject({ job: 'thumb' });
    const again = sent(keys.globex, { job: 'mail', payload: { n: 1 }, everyMs: 60_000 }, 'PUT');
    expect((await send('/schedules/b-thumb', again)).status).toBe(409);
    expect((await send('/schedules/b-thumb', { key: keys.reporter })).status).toBe(404);
    const names: string[] = [];
    for (let after = '', pages = 0; pages < 9; pages++) {
      const { body } = await send(`/schedules?max=1${after}`, { key: keys.globex });
      names.push(...body.schedules.map(({ name }: { name: string }) => name));
      if (body.next === null) break;
      after = `&after=${body.next}`;
    }
    expect(names).toEqual(['c-thumb', 'd-mail']);
  });

  it('lists the schedules of the others while a backend is away, and names it without the reason', async () => {
    const { send, backends } = bench();
    for (const job of ['mail', 'thumb'])
      await send(`/schedules/of-${job}`, sent(keys.acme, { job, payload: { n: 1 }, everyMs: 60_000 }, 'PUT'));
    await backends.fast.close();
    const { status, body } = await send('/schedules', { key: keys.acme });
    expect([status, body]).toEqual([
      200,
      {
        schedules: [expect.objectContaining({ name: 'of-mail' })],
        next: null,
        unavailable: [{ backend: 'fast', code: 'BACKEND' }],
      },
    ]);
  });

  it('answers 503 with the codes of all when none answers', async () => {
    const other = createBench().backends.fast;
    const { send, backends } = bench(({ fast }) => ({ default: other as never, fast }));
    await Promise.all([other.close(), backends.fast.close()]);
    const { status, body, text } = await send('/schedules', { key: keys.acme });
    expect([status, body.code, body.unavailable]).toEqual([
      503,
      'BACKEND',
      [
        { backend: 'default', code: 'BACKEND' },
        { backend: 'fast', code: 'BACKEND' },
      ],
    ]);
    expect(text).not.toContain('SQLite');
  });
});
