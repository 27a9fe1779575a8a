/** Schedules made at run time on the dashboard: paged, shown with what became of them, steered by operators only. */

import { describe, expect, it } from 'vitest';
import { tick } from '../../../core/index.ts';
import { createBench, enter, expectSafe, pageHeaders, send } from './kit.ts';

async function createPage(role: 'operator' | 'reader' = 'operator') {
  const bench = createBench({ authorize: () => ({ actor: 'ada', role }) });
  const headers = await pageHeaders(bench.ask, {});
  const { schedules } = bench.client;
  for (const name of ['digest-1', 'digest-2', 'other'])
    await schedules.upsert({
      ...{ name, job: send, cron: '0 9 * * *', timezone: 'Asia/Tokyo' },
      ...{ payload: { to: 'a', password: 'secret-1' }, context: { tenantId: 'acme' } },
    });
  return {
    ...bench,
    schedules,
    get: (path: string) => bench.ask(`/api/${path}`, { headers }),
    post: (path: string) => bench.ask(`/api/${path}`, { body: {}, headers }),
  };
}

const namesOf = ({ schedules }: { schedules: { name: string }[] }) => schedules.map(({ name }) => name);

describe('schedules made at run time', () => {
  it('are listed by name, page by page, from any name on', async () => {
    const { get } = await createPage();
    const first = await get('stored-schedules?max=2');
    expectSafe(first);
    expect([namesOf(first.body), first.body.next]).toEqual([['digest-1', 'digest-2'], 'digest-2']);
    expect(first.body.schedules[0]).toMatchObject({
      ...{ job: 'mail.send', when: '0 9 * * *', timezone: 'Asia/Tokyo', paused: false },
      ...{ tenantId: 'acme', failure: null },
    });
    expect(namesOf((await get('stored-schedules?after=digest-2')).body)).toEqual(['other']);
    expect(namesOf((await get('stored-schedules?from=digest-2')).body)).toEqual(['digest-2', 'other']);
    expect(namesOf((await get('stored-schedules?from=o')).body)).toEqual(['other']);
    expect(namesOf((await get('stored-schedules?from=%3Cb%3E')).body)).toEqual([
      'digest-1',
      'digest-2',
      'other',
    ]);
    expect((await get('schedules')).body.rows).toHaveLength(1);
  });

  it('are shown with their moments, what became of them and their payload without secrets', async () => {
    const { get, client, clock } = await createPage();
    clock.advance(24 * 3_600_000);
    await tick(client.app, client);
    const { body, text } = await get('schedules/other');
    expect(body).toMatchObject({
      name: 'other',
      stored: { tenantId: 'acme', failure: null, payload: { to: 'a', password: '[masked]' } },
      last: { status: 'pending' },
      history: { entries: [{ kind: 'run', status: 'pending' }] },
    });
    expect(body.next).toHaveLength(10);
    expect(text).not.toContain('secret-1');
    expect((await get('schedules/hourly')).body).toMatchObject({ stored: null });
    expect((await get('schedules/none')).body).toMatchObject({ status: 404 });
  });

  it('are run, paused, resumed and removed, each with an entry in the audit log', async () => {
    const { get, post, client, schedules } = await createPage();
    const { id } = (await post('schedules/other/run')).body;
    expect(await client.status(id)).toMatchObject({ name: 'other', tenantId: 'acme' });
    await post('schedules/other/pause');
    expect((await get('schedules/other')).body).toMatchObject({ paused: true, next: [], nextAt: null });
    await post('schedules/other/resume');
    expect(await schedules.get('other')).toMatchObject({ pausedAt: null });
    expect((await post('schedules/other/remove')).body.message).toContain('Jobs that it has enqueued stay');
    expect(await schedules.get('other')).toBe(null);
    for (const name of ['other', 'hourly', '%3Cb%3E'])
      expect((await post(`schedules/${name}/remove`)).body).toMatchObject({ status: 404 });
    const { entries } = await client.stores.audit!.page({});
    const done = entries.filter(({ phase }) => phase === 'done').map(({ action }) => action);
    expect(done.toSorted()).toEqual(['schedule.pause', 'schedule.remove', 'schedule.resume', 'schedule.run']);
  });

  it('are not changed by readers', async () => {
    const { post, schedules } = await createPage('reader');
    for (const verb of ['run', 'pause', 'resume', 'remove'])
      expect((await post(`schedules/other/${verb}`)).body).toMatchObject({ status: 403 });
    expect(await schedules.get('other')).toMatchObject({ pausedAt: null });
  });

  it('that are not kept are explained', async () => {
    const { handler, ask } = createBench({}, ({ stores: { schedules: _, ...stores }, ...client }) => ({
      ...client,
      stores,
    }));
    const headers = await enter(handler);
    expect((await ask('/api/stored-schedules', { headers })).body.unavailable).toContain(
      'keeps no schedules',
    );
  });
});
