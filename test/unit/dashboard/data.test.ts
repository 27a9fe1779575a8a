/** What the page is told: jobs, schedules, workers and what is missing, with secrets masked and wrong questions refused. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { alert, defineAlerts } from '../../../core/features/alerts/index.ts';
import { type Client, connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { createDashboard } from '../../../core/surfaces/dashboard/index.ts';
import { memory, memoryStore } from '../../../local/backends/memory/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { type Ask, asker, createBench, enter, expectSafe, expectWrongOption, send } from './kit.ts';

async function createPage(wrap?: (client: Client) => Client) {
  const bench = createBench({}, wrap);
  const headers = await enter(bench.handler);
  const get: Ask = (path) => bench.ask(path, { headers });
  return { ...bench, get };
}

/** Jobs that have run, in a SQLite file in memory. */
async function createRun() {
  const note = defineJob({
    name: 'note',
    payload: z.object({ length: z.number(), apiKey: z.string().optional() }),
    keepPayload: true,
    maxRetries: 0,
    async handle({ length }, ctx) {
      ctx.log('at it', { token: 'secret-1' });
      if (length < 0) throw new Error('no <b>such</b> length');
      return { password: 'secret-2', text: 'x'.repeat(length) };
    },
  });
  const app = createApp({ jobs: [note], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  const client = connect(app, await sqlite(':memory:'));
  const run = async (length: number) => {
    const { id } = await client.enqueue(note, { length, apiKey: 'secret-3' });
    await startWorker(app, { backend: client.backend, untilIdle: true }).done;
    return id;
  };
  const handler = createDashboard(client, {
    development: true,
    testing: { newRequestId: () => 'made-id' },
  });
  const headers = await enter(handler);
  const ask = asker(handler);
  const get: Ask = (path) => ask(path, { headers });
  return { client, run, get };
}

describe('jobs', () => {
  it('are listed page by page, without what is large', async () => {
    const { get, client, clock } = await createPage();
    for (let i = 0; i < 5; i++) {
      await client.enqueue(send, { to: `user-${i}` });
      clock.advance(1);
    }
    const first = await get('/api/jobs?max=2&queue=mail&status=pending&job=mail.send');
    expectSafe(first);
    expect(first.body.jobs.map(({ id }: { id: string }) => id)).toEqual(['job-5', 'job-4']);
    expect(first.body.jobs[0]).toMatchObject({ job: 'mail.send', runs: 0, worker: null });
    expect(first.body.jobs[0]).not.toHaveProperty('attempts');
    const second = await get(`/api/jobs?max=2&after=${encodeURIComponent(first.body.next)}`);
    expect(second.body.jobs.map(({ id }: { id: string }) => id)).toEqual(['job-3', 'job-2']);
    expect((await get('/api/jobs?idPrefix=job-3')).body.jobs).toHaveLength(1);
    expect((await get('/api/jobs?createdBefore=1')).body).toEqual({ jobs: [], next: null });
  });

  it('of a store that was never told of an end are shown as failed, an hour after their timeout', async () => {
    const t = await createPage(({ app, backend: { stores: _, ...backend } }) =>
      connect(app, backend, { store: memoryStore(app) }),
    );
    const { id } = await t.client.enqueue(send, { to: 'a' });
    const { writer } = t.client.stores.records;
    const job = (await t.client.status(id))!;
    await writer!.started(job, { owner: 'gone', attempt: 1, at: t.clock.now() });
    const shown = async () => {
      const { body } = await t.get('/api/jobs');
      const one = await t.get(`/api/jobs/${id}`);
      return [body.jobs[0].status, one.body.record.status, (await t.client.status(id))?.status];
    };
    expect(await shown()).toEqual(['processing', 'processing', 'processing']);
    t.clock.advance(3_600_000 + t.client.app.jobs.get(send.name)!.timeoutMs);
    expect(await shown()).toEqual(['failed', 'failed', 'failed']);
  });

  it('are shown with what they were given and gave back, but no secrets', async () => {
    const { run, get, client } = await createRun();
    const done = await get(`/api/jobs/${await run(3)}`);
    expectSafe(done);
    expect(done.body).toMatchObject({
      record: { status: 'completed', output: { password: '[masked]', text: 'xxx' } },
      payload: { value: { length: 3, apiKey: '[masked]' }, offloaded: null },
      runningOn: null,
      dead: false,
    });
    expect(done.body.record.attempts[0].log[0].text).toContain('[masked]');
    expect(done.text).not.toContain('secret-');
    const failed = await get(`/api/jobs/${await run(-1)}`);
    expect(failed.body).toMatchObject({
      record: { status: 'failed', attempts: [{ error: { message: 'no <b>such</b> length' } }] },
      dead: true,
    });
    await client.close();
  });

  it('have a large payload only when it is asked for', async () => {
    const { get, client } = await createPage();
    const { id } = await client.enqueue(send, { to: 'x'.repeat(300_000) });
    const cut = await get(`/api/jobs/${id}`);
    expect(cut.text.length).toBeLessThan(10_000);
    expect(cut.body.payload).toEqual({
      unavailable: 'The payload has 300009 characters. Load it whole to see it.',
      characters: 300_009,
    });
    const whole = await get(`/api/jobs/${id}?whole=true`);
    expect(whole.body.payload.value.to).toHaveLength(300_000);
  });

  it('that are not there are missed in words', async () => {
    const { get } = await createPage();
    const answer = await get('/api/jobs/%3Cscript%3E');
    expectSafe(answer);
    expect(answer.body).toMatchObject({
      status: 404,
      detail: 'There is no job "<script>" here any more, or there never was.',
    });
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  });
});

describe('schedules and workers', () => {
  it('are shown with their next moments', async () => {
    const { get } = await createPage();
    const [one] = (await get('/api/schedules')).body.rows;
    expect(one).toEqual({
      name: 'hourly',
      job: 'mail.send',
      when: '0 * * * *',
      timezone: 'Europe/Berlin',
      overlap: 'allow',
      missed: 'one',
      paused: false,
      nextAt: Date.UTC(2026, 0, 15, 13),
      last: null,
    });
    const { body } = await get('/api/schedules/hourly');
    expect(body.next).toHaveLength(10);
    expect(body.next[9] - body.next[0]).toBe(9 * 3_600_000);
    expect(body.history).toMatchObject({ schedule: 'hourly', entries: [] });
    expect((await get('/api/schedules/houly')).body).toMatchObject({
      status: 404,
      detail: 'There is no schedule "houly" here. Did you mean "hourly"?',
    });
  });

  it('are told with their state, and queues with their workers', async () => {
    const { get, client, clock } = await createPage();
    const now = clock.now();
    const counts = { acked: 1, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 };
    const beat = {
      host: 'web-1',
      pid: 7,
      concurrency: 4,
      startedAt: now,
      running: 1,
      counts,
      memoryBytes: 1,
    };
    await client.stores.workers.heartbeat({
      ...beat,
      id: 'w-1',
      queues: ['mail'],
      seenAt: now,
      jobs: [{ id: 'job-1', job: 'mail.send', startedAt: now }],
    });
    clock.advance(20_000);
    expect((await get('/api/workers')).body.rows).toMatchObject([
      { id: 'w-1', state: 'unhealthy', draining: false, jobs: [{ id: 'job-1' }] },
    ]);
    expect((await get('/api/live')).body.workers).toEqual({
      healthy: 0,
      unhealthy: 1,
      running: 0,
      concurrency: 0,
    });
    expect((await get('/api/queues')).body.rows).toMatchObject([
      { queue: 'mail', workers: 1, jobs: ['mail.send'] },
    ]);
    clock.advance(60_000);
    expect((await get('/api/queues')).body.rows).toMatchObject([{ queue: 'mail', workers: null }]);
  });
});

describe('what a backend cannot tell', () => {
  it('is said in words', async () => {
    const { get } = await createPage((client) => {
      const { admin: _, ...backend } = client.backend;
      const { metrics: __, audit: ___, ...stores } = client.stores;
      return {
        ...client,
        backend,
        stores: { ...stores, records: { ...stores.records, recordsDisabled: true } },
      };
    });
    const paths = ['queues', 'jobs', 'jobs/x', 'dead', 'dead/groups', 'dead/x', 'alerts', 'audit'];
    for (const path of paths) {
      const { status, body } = await get(`/api/${path}`);
      expect([path, status, body]).toEqual([
        path,
        200,
        { unavailable: expect.stringMatching(/^\S.{20,}\.$/) },
      ]);
    }
    expect((await get('/api/overview')).body.numbers).toEqual({
      unavailable: expect.stringContaining('keeps no metrics'),
    });
    expect((await get('/api/schedules/hourly')).body.history).toEqual({
      unavailable: expect.stringContaining('keeps no records'),
    });
    expect((await get('/api/live')).body).toMatchObject({ queues: [], rates: null, error: null });
    const capabilities = (await get('/api/capabilities')).body.rows;
    expect(capabilities).toContainEqual({ name: 'Records of jobs', value: 'no' });
    expect(capabilities).toContainEqual({ name: 'Largest envelope', value: '1 MB' });
  });
});

describe('a wrong question', () => {
  it.each([
    ['jobs?stauts=failed', 'Did you mean "status"?'],
    ['jobs?status=faild', 'Did you mean "failed"?'],
    ['jobs?max=0', 'max to be an integer from 1 to 500, got "0"'],
    ['jobs?max=1e3', 'got "1e3"'],
    ['jobs?createdFrom=yesterday', 'createdFrom to be an integer'],
    ['jobs?queue=a&queue=b', 'queue once in the query'],
    ['jobs?__proto__=x', 'known members'],
    [`jobs?error=${'x'.repeat(501)}`, 'at most 500 characters'],
    ['jobs?error=%00', 'none of them U+0000'],
    ['jobs?after=nonsense', 'Expected after to be the `next` of an earlier page'],
    ['overview?last=year', 'one of live, hour, day, month'],
    ['live?x=1', 'known members'],
  ])('is refused: %s', async (path, words) => {
    const { get } = await createPage();
    const answer = await get(`/api/${path}`);
    expectWrongOption(answer, words);
  });

  it('is refused where its path cannot be read', async () => {
    const { get } = await createPage();
    expect((await get('/api/jobs/%')).body).toMatchObject({ status: 400, code: 'REQUEST' });
    expect((await get('/api/jobs/a/b/c')).body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });
});

describe('alerts', () => {
  it('are each in a state of their own: what is not known is not well', async () => {
    const clock = createVirtualClock();
    const alerts = defineAlerts({
      to: [],
      rules: [
        alert.depth({ queue: 'default', above: 0, forMs: 60_000 }),
        alert.depth({ name: 'Deep', queue: 'default', above: 5 }),
        alert.custom({
          name: 'Blind',
          when: () => {
            throw new Error('no such table');
          },
        }),
      ],
    });
    const note = defineJob({ name: 'note', payload: z.object({}), async handle() {} });
    const app = createApp({
      jobs: [note],
      alerts,
      clock,
      signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    });
    const client = connect(app, memory({ clock }));
    await client.enqueue(note, {});
    const handler = createDashboard(client, { development: true });
    const headers = await enter(handler);
    const { body } = await asker(handler)('/api/alerts', { headers });
    expect(body.rows).toMatchObject([
      { alert: 'QueueDepthHigh', state: 'pending', since: null, forMs: 60_000 },
      { alert: 'Deep', state: 'ok' },
      { alert: 'Blind', state: 'unknown', text: expect.stringContaining('no such table') },
    ]);
  });
});

describe('several backends', () => {
  it('are shown together, and one that a dashboard is made of alone', async () => {
    const clock = createVirtualClock();
    const note = defineJob({ name: 'note', payload: z.object({}), async handle() {} });
    const thumb = defineJob({
      name: 'thumb',
      queue: 'images',
      backend: 'fast',
      payload: z.object({}),
      async handle() {},
    });
    const app = createApp({
      jobs: [note, thumb],
      clock,
      signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    });
    const backends = { default: memory({ clock }), fast: memory({ clock }) };
    const client = connect(app, backends);
    await client.enqueueMany(note, [{}, {}]);
    await client.enqueueMany(thumb, [{}, {}, {}]);
    await (await startWorker(app, { backend: backends, untilIdle: true })).done;
    const shown = async (one: Client) => {
      const handler = createDashboard(one, { development: true });
      const headers = await enter(handler);
      const get = async (path: string) => (await asker(handler)(path, { headers })).body;
      const { live, numbers } = await get('/api/overview?last=hour');
      return {
        backend: (await get('/api/session')).backend,
        queues: live.queues.map(({ queue }: { queue: string }) => queue),
        jobs: numbers.jobs.map(({ job, done }: { job: string; done: number }) => [job, done]),
      };
    };
    expect(await shown(client)).toEqual({
      backend: 'default (memory), fast (memory)',
      queues: ['default', 'images'],
      jobs: [
        ['thumb', 3],
        ['note', 2],
      ],
    });
    expect(await shown(client.backends.get('fast')!)).toEqual({
      ...{ backend: 'fast (memory)', queues: ['images'], jobs: [['thumb', 3]] },
    });
  });
});
