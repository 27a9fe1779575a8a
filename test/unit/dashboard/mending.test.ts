/** Dead letters and what else can be mended through the page's routes, on jobs that really died. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, defineSchedule, keyRing, startWorker } from '../../../core/index.ts';
import { createDashboard } from '../../../core/surfaces/dashboard/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { asker, enter, expectSafe, pageHeaders } from './kit.ts';

async function createPage() {
  const mend = defineJob({
    name: 'mend',
    payload: z.object({ fits: z.boolean(), note: z.string().optional(), password: z.string().optional() }),
    keepPayload: true,
    maxRetries: 0,
    async handle({ fits }) {
      if (!fits) throw new Error('does not fit <script>alert(1)</script>');
    },
  });
  const app = createApp({
    jobs: [mend],
    schedules: [defineSchedule({ name: 'hourly', everyMs: 3_600_000, job: mend, payload: { fits: true } })],
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
  });
  const client = connect(app, await sqlite(':memory:'));
  const handler = createDashboard(client, {
    development: { actor: 'ada' },
    testing: { newRequestId: () => 'made-id' },
  });
  const ask = asker(handler);
  const headers = await pageHeaders(ask, await enter(handler));
  const get = (path: string) => ask(`/api/${path}`, { headers });
  const post = (path: string, body: unknown = {}) => ask(`/api/${path}`, { headers, body });
  const lines = async (path: string, body: unknown) =>
    (await post(path, body)).text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  const run = () => startWorker(app, { backend: client.backend, untilIdle: true }).done;
  async function die(count: number, note = ''): Promise<string[]> {
    const results = await client.enqueueMany(
      mend,
      Array.from({ length: count }, (_, i) => ({ fits: false, note: `${i}${note}`, password: 'secret' })),
    );
    await run();
    return results.map(({ id }) => id);
  }
  return { client, get, post, lines, run, die };
}

describe('dead letters', () => {
  it('are grouped, listed and shown, with secrets masked', async () => {
    const { client, get, die } = await createPage();
    const ids = await die(3);
    const groups = await get('dead/groups');
    expectSafe(groups);
    expect(groups.body).toMatchObject({
      groups: [{ job: 'mend', reason: 'exhausted', count: 3 }],
      looked: 3,
      complete: true,
    });
    const [{ fingerprint }] = groups.body.groups;
    const page = await get(`dead?max=2&fingerprint=${fingerprint}&job=mend`);
    expect(page.body.letters).toHaveLength(2);
    const rest = await get(`dead?max=2&after=${encodeURIComponent(page.body.next)}`);
    expect(rest.body.letters).toHaveLength(1);
    const detail = await get(`dead/${ids[0]}`);
    expect(detail.body).toMatchObject({
      payload: { value: { fits: false, password: '[masked]' } },
      attempts: [{ error: { message: 'does not fit <script>alert(1)</script>' } }],
      editable: true,
    });
    expect(detail.text).not.toContain('secret');
    expect((await get(`jobs/${ids[0]}`)).body).toMatchObject({ dead: true });
    expect((await get('dead/nobody')).body).toMatchObject({ status: 404 });
    expect((await get('dead?reason=exhausetd')).body).toMatchObject({ status: 400, code: 'OPTION' });
    await client.close();
  });

  it('have a large payload only when it is asked for', async () => {
    const { client, get, die } = await createPage();
    const [id] = await die(1, 'x'.repeat(300_000));
    const cut = await get(`dead/${id}`);
    expect(cut.text.length).toBeLessThan(10_000);
    expect(cut.body).toMatchObject({ payload: { characters: expect.any(Number) }, editable: true });
    const whole = await get(`dead/${id}?whole=true`);
    expect(whole.body.payload.value.note).toHaveLength(300_001);
    await client.close();
  });

  it('are edited, and run with what they were given then', async () => {
    const { client, get, post, run, die } = await createPage();
    const [id] = await die(1);
    const wrong = await post(`dead/${id}/edit`, { payload: { fits: 'yes' } });
    expectSafe(wrong);
    expect(wrong.body).toMatchObject({ status: 422, code: 'PAYLOAD', issues: [{ path: 'fits' }] });
    const payload = { fits: true, password: '[masked]' };
    const dry = await post(`dead/${id}/edit`, { payload, dryRun: true });
    expect(dry).toMatchObject({
      status: 200,
      body: { message: expect.stringContaining('Nothing was changed') },
    });
    expect((await get('dead')).body.letters).toHaveLength(1);
    expect((await post(`dead/${id}/edit`, { payload })).status).toBe(200);
    await run();
    expect((await get(`jobs/${id}`)).body).toMatchObject({ record: { status: 'completed' }, dead: false });
    await client.close();
  });

  it('are retried and discarded, with a report of how far that is', async () => {
    const { client, get, lines, die } = await createPage();
    await die(5);
    const dry = await lines('dead/retry', { filter: { job: 'mend' }, dryRun: true });
    expect(dry.at(-1)).toMatchObject({ done: 0, total: 5, ended: 'all' });
    const two = await lines('dead/retry', { filter: {}, limit: 2 });
    expect(two.at(-1)).toMatchObject({ done: 2, ended: 'limit' });
    const rest = await lines('dead/discard', { filter: {} });
    expect(rest.at(-1)).toMatchObject({ done: 3, ended: 'all' });
    expect((await get('dead')).body.letters).toEqual([]);
    expect((await get('live')).body.queues).toMatchObject([{ ready: 2, dead: 0 }]);
    await client.close();
  });
});

describe('an operator', () => {
  it('pauses, resumes and clears queues that are there', async () => {
    const { client, get, post } = await createPage();
    const paused = await post('queues/default/pause');
    expect(paused).toMatchObject({
      status: 200,
      body: { message: expect.stringContaining('default is paused') },
    });
    expect(await client.backend.admin!.stats('default')).toMatchObject([{ paused: true }]);
    await post('queues/default/resume');
    await post('schedules/hourly/run');
    expect((await post('queues/default/clear')).body.message).toBe('1 waiting job removed from default.');
    expect((await post('queues/defualt/pause')).body).toMatchObject({
      status: 404,
      detail: 'There is no queue "defualt" here. Did you mean "default"?',
    });
    expect((await get('queues')).body.rows).toHaveLength(1);
    await client.close();
  });

  it('lets jobs that wait run now, and removes them', async () => {
    const { client, get, post, run, die } = await createPage();
    const [dead] = await die(1);
    const [first, second] = [
      (await post(`jobs/${dead}/run-again`)).body.id,
      (await post(`jobs/${dead}/run-again`)).body.id,
    ];
    expect((await get(`jobs/${first}`)).body.changeable).toBe(true);
    const promoted = async () => (await post(`jobs/${first}/promote`)).body.message;
    expect(await promoted()).toContain('It may still wait: no worker is running for queue default');
    await client.stores.workers.heartbeat({
      ...{ id: 'w', host: 'web-1', pid: 7, queues: ['default'], concurrency: 1, running: 0, memoryBytes: 1 },
      counts: { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 },
      startedAt: client.app.clock.now(),
      seenAt: client.app.clock.now(),
    });
    expect(await promoted()).toBe('It runs as soon as a worker is free.');
    await post('queues/default/pause');
    expect(await promoted()).toContain('It may still wait: queue default is paused');
    await post('queues/default/resume');
    expect((await post(`jobs/${second}/remove`)).body.message).toBe('Removed.');
    expect(await get(`jobs/${second}`)).toMatchObject({ status: 404 });
    await run();
    for (const verb of ['promote', 'remove'])
      expect((await post(`jobs/${first}/${verb}`)).body).toMatchObject({ status: 409, code: 'CONFLICT' });
    await client.close();
  });

  it('cancels jobs, and runs them and schedules again', async () => {
    const { client, get, post, run, die } = await createPage();
    const [dead] = await die(1);
    const again = (await post(`jobs/${dead}/run-again`)).body.id;
    expect((await get(`jobs/${again}`)).body.record).toMatchObject({ status: 'pending', job: 'mend' });
    expect((await post(`jobs/${again}/cancel`)).body.message).toBe('Cancelled.');
    expect((await post(`jobs/${again}/cancel`)).body).toMatchObject({ status: 409, code: 'CONFLICT' });
    expect((await post('jobs/nobody/cancel')).body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    const { id } = (await post('schedules/hourly/run')).body;
    await run();
    expect((await get(`jobs/${id}`)).body.record.status).toBe('completed');
    expect((await post('workers/nobody/drain')).body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    await client.close();
  });
});
