import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  createApp,
  defineJob,
  defineSchedule,
  exponential,
  fixed,
  PermanentError,
} from '../../../core/index.ts';
import { testApp, testJobs } from '../../testing/index.ts';

describe('testApp', () => {
  it('tells a two-day retry story in milliseconds', async () => {
    let calls = 0;
    const sync = defineJob({
      name: 'crm.sync',
      payload: z.object({ account: z.string() }),
      maxRetries: 6,
      retry: exponential({ baseMs: 3_600_000, factor: 2, maxMs: 86_400_000, jitter: 0 }),
      async handle({ account }) {
        if (++calls < 6) throw new Error('the CRM is down for maintenance');
        return { synced: account };
      },
    });
    const t = testJobs(sync);
    const { id } = await t.enqueue(sync, { account: 'acme' });
    expect(await t.drain()).toMatchObject([{ outcome: 'requeued', attempt: 1, delayMs: 3_600_000 }]);
    for (const [time, delayMs] of [
      ['1h', 7_200_000],
      ['2h', 14_400_000],
      ['4h', 28_800_000],
      ['8h', 57_600_000],
    ] as const) {
      t.advance(time);
      expect(await t.drain()).toMatchObject([{ outcome: 'requeued', delayMs }]);
    }
    expect(await t.drain()).toEqual([]);
    t.advance('16h');
    expect(await t.drain()).toMatchObject([{ outcome: 'acked', attempt: 6 }]);
    expect(await t.status(id)).toMatchObject({ status: 'completed', output: { synced: 'acme' } });
  });

  it('has called onError and onDeadLetter when drain() ends', async () => {
    const heard: string[] = [];
    const job = defineJob({
      name: 'mail',
      payload: z.string(),
      handle: () => Promise.reject(new Error('no')),
    });
    const t = testApp(
      createApp({
        jobs: [job],
        async onError({ message }, { attempt }) {
          await new Promise(setImmediate);
          heard.push(`${attempt}: ${message}`);
        },
      }),
    );
    await t.enqueue(job, 'Ada');
    await t.drain();
    expect(heard).toEqual(['1: no']);
  });

  it('shows dead letters', async () => {
    const job = defineJob({
      name: 'mail',
      payload: z.string(),
      handle: () => {
        throw new PermanentError('no such address');
      },
    });
    const t = testJobs(job);
    await t.enqueue(job, 'nobody@example.com');
    expect(await t.drain()).toMatchObject([{ outcome: 'dead-lettered', reason: 'permanent' }]);
    expect(await t.deadLetters()).toMatchObject([{ job: 'mail', error: 'HANDLER: no such address' }]);
  });

  it('ticks schedules in virtual time', async () => {
    const report = defineJob({ name: 'report', payload: z.null(), async handle() {} });
    const schedules = [defineSchedule({ name: 'nightly', cron: '0 2 * * *', job: report, payload: null })];
    const t = testApp(createApp({ jobs: [report], schedules }));
    expect(await t.tick()).toEqual([]);
    t.advance('1d');
    expect(await t.tick()).toHaveLength(1);
    expect(await t.drain()).toMatchObject([{ job: 'report', outcome: 'acked' }]);
  });

  it('lets days pass, and runs each retry and each schedule at its moment', async () => {
    const at: string[] = [];
    const now = () => new Date(t.clock.now()).toISOString().slice(5, 16);
    const note = (name: string) =>
      defineJob({
        name,
        payload: z.null(),
        retry: fixed(5_400_000),
        handle: async (_, ctx) => {
          at.push(`${name} ${now()}`);
          if (name === 'sync' && ctx.attempt < 3) throw new Error('not yet');
        },
      });
    const [sync, nightly, own] = [note('sync'), note('nightly'), note('own')];
    const schedules = [defineSchedule({ name: 'nightly', cron: '0 2 * * *', job: nightly, payload: null })];
    const t = testApp(createApp({ jobs: [sync, nightly, own], schedules }));
    await t.schedules.upsert({ name: 'own', cron: '30 7 * * *', job: own, payload: null });
    await t.enqueue(sync, null);
    const results = await t.runFor('2d');
    expect(at).toEqual([
      ...['sync 01-15T12:00', 'sync 01-15T13:30', 'sync 01-15T15:00'],
      ...['nightly 01-16T02:00', 'own 01-16T07:30', 'nightly 01-17T02:00', 'own 01-17T07:30'],
    ]);
    expect(results).toHaveLength(at.length);
    expect(now()).toBe('01-17T12:00');
  });

  it('runs what a batch calls, also when a child was cancelled while it waited', async () => {
    const row = defineJob({ name: 'row', payload: z.number(), async handle() {} });
    const done: unknown[] = [];
    const report = defineJob({
      name: 'report',
      payload: z.object({ succeeded: z.number(), failed: z.number() }),
      handle: async (summary) => void done.push(summary),
    });
    const t = testJobs(row, report);
    const { id } = await t.batch('rows', [1, 2, 3], { job: row, onComplete: report });
    await t.client.cancel(`batch.${id}.1`);
    await t.drain();
    expect(await t.batches.get(id)).toMatchObject({ total: 3, succeeded: 2 });
    await t.runFor('2m');
    expect(done).toEqual([{ succeeded: 2, failed: 1 }]);
  });

  it.each(['2 days', -1, 'soon'])('refuses to advance by %s', (time) => {
    const t = testJobs(defineJob({ name: 'x', payload: z.null(), async handle() {} }));
    expect(() => t.advance(time)).toThrow(/the time of advance\(\) to be a number of ms or text like "90s"/);
  });
});
