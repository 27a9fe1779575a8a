/** Jobs, queues and schedules in the hands of an operator, and what the audit log tells of it. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { tick } from '../../../core/features/schedules/feature.ts';
import { createApp } from '../../../core/features/table.ts';
import { defineJob } from '../../../core/kernel/app/job.ts';
import { defineSchedule } from '../../../core/kernel/app/schedule.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { connect } from '../../../core/routing/connect.ts';
import { refusal } from '../core/kit.ts';
import { auditLog, brief, by, mail, operatorBench } from './kit.ts';

describe('an operator', () => {
  it('says who it is', () => {
    const { client } = operatorBench();
    expect(() => createOperator(client, { actor: '', from: 'x' })).toThrow(/actor/);
    expect(() => createOperator(client, { actor: 'x', from: 'y'.repeat(257) })).toThrow(/from/);
  });

  it('runs a job again with its payload, though its key is done', async () => {
    let runs = 0;
    const kept = defineJob({
      name: 'kept',
      payload: z.object({ token: z.string() }),
      idempotencyKey: ({ token }) => token,
      keepPayload: true,
      handle: ({ token }) => {
        expect(token).toBe('abc');
        runs++;
      },
    });
    const { operator, client, drain } = operatorBench({ jobs: [kept, mail] as never });
    const { id } = await client.enqueue(
      kept,
      { token: 'abc' },
      { context: { tenantId: 't1' }, name: 'first' },
    );
    await drain();
    const again = await operator.jobs.runAgain(id);
    expect(again).not.toBe(id);
    await drain();
    expect(runs).toBe(2);
    expect(await client.status(again)).toMatchObject({ status: 'completed', tenantId: 't1', name: 'first' });
    const { id: gone } = await client.enqueue(mail, { to: 'a' });
    await drain();
    expect((await refusal(() => operator.jobs.runAgain(gone))).code).toBe('OPTION');
    expect((await refusal(() => operator.jobs.runAgain('nobody'))).code).toBe('OPTION');
  });

  it('changes, promotes and removes jobs that wait, and notes it without payloads', async () => {
    const { audit, entries } = auditLog();
    const { operator, client, drain } = operatorBench({ stores: { audit } });
    const login = { user: 'ann', password: 'hunter2' };
    const { id } = await client.enqueue(mail, { to: 'a', login }, { delayMs: 60_000 });
    const { id: other } = await client.enqueue(mail, { to: 'b' });
    const payload = { to: 'c', login: { user: 'bob', password: '[masked]' } };
    expect(await operator.jobs.update(id, { payload, priority: 'low' })).toBe(true);
    expect(JSON.parse((await client.stores.records.body(id))!)).toMatchObject({
      payload: { to: 'c', login: { user: 'bob', password: 'hunter2' } },
      priority: 8,
    });
    expect(await operator.jobs.promote([id, 'nobody'])).toEqual({ [id]: true, nobody: false });
    expect(await operator.jobs.remove([other])).toEqual({ [other]: true });
    await drain();
    expect(await client.status(id)).toMatchObject({ status: 'completed' });
    expect(await operator.jobs.update(id, { priority: 1 })).toBe(false);
    const ends = (await entries()).filter(({ phase }) => phase === 'done');
    expect(ends.map(({ action, target, count, note }) => [action, target, count, note])).toEqual([
      ['job.update', id, 1, 'payload, priority'],
      ['job.promote', `${id} nobody`, 1, null],
      ['job.remove', other, 1, null],
      ['job.update', id, 0, 'priority'],
    ]);
    expect(JSON.stringify(await entries())).not.toContain('hunter2');
  });

  it('refuses to change a job that is not defined here', async () => {
    const { backend, clock, app, client } = operatorBench();
    const { id } = await client.enqueue(mail, { to: 'a' });
    const other = createApp({ jobs: [brief], clock, signing: app.keyRing() });
    const operator = createOperator(connect(other, backend), by);
    expect((await refusal(() => operator.jobs.update(id, { priority: 1 }))).code).toBe('UNKNOWN_JOB');
    expect(await operator.jobs.promote([id])).toEqual({ [id]: true });
  });

  it('cancels jobs, and pauses, resumes and clears queues', async () => {
    const { operator, client, backend } = operatorBench();
    const { id } = await client.enqueue(mail, { to: 'a' });
    await client.enqueue(mail, { to: 'b' });
    expect(await operator.jobs.cancel([id, 'nobody'])).toEqual({ [id]: 'cancelled', nobody: 'unknown' });
    await operator.queues.pause('default');
    expect(await backend.admin!.stats('default')).toMatchObject([{ paused: true }]);
    await operator.queues.resume('default');
    expect(await operator.queues.clear('default')).toBe(1);
    expect((await refusal(() => operator.queues.pause('../x'))).code).toBe('CONFIG');
  });

  it('runs a schedule beside its moments', async () => {
    const schedule = defineSchedule({ name: 'often', everyMs: 60_000, job: mail, payload: { to: 'all' } });
    const { operator, client, app, clock } = operatorBench({ schedules: [schedule] });
    await tick(app, client);
    const id = await operator.schedules.run('often');
    expect(await client.status(id)).toMatchObject({ name: 'often', schedule: null });
    clock.advance(60_000);
    expect(await tick(app, client)).toHaveLength(1);
    expect((await refusal(() => operator.schedules.run('often2'))).code).toBe('OPTION');
  });
});

describe('a schedule', () => {
  it('is paused and resumed, and the log says what changed', async () => {
    const schedule = defineSchedule({ name: 'often', everyMs: 60_000, job: mail, payload: { to: 'all' } });
    const { operator, client, app, clock } = operatorBench({ schedules: [schedule] });
    await tick(app, client);
    await operator.schedules.pause('often');
    await operator.schedules.pause('often');
    clock.advance(120_000);
    expect(await tick(app, client)).toEqual([]);
    await operator.schedules.resume('often');
    clock.advance(60_000);
    expect(await tick(app, client)).toHaveLength(1);
    const { entries } = await operator.audit();
    expect(
      entries.filter(({ phase }) => phase === 'done').map(({ action, count }) => [action, count]),
    ).toEqual([
      ['schedule.resume', 1],
      ['schedule.pause', 0],
      ['schedule.pause', 1],
    ]);
    expect((await refusal(() => operator.schedules.pause('other'))).code).toBe('OPTION');
  });
});

describe('the audit log', () => {
  it('tells of an action before and after it', async () => {
    const { audit, entries } = auditLog();
    const { operator, die } = operatorBench({ stores: { audit } });
    const id = await die(mail, { to: 'a', error: 'x' });
    await operator.deadLetters.retry({ ids: [id, 'nobody'] });
    await operator.deadLetters.retry({ ids: [id] }, { dryRun: true });
    const [begun, done, ...more] = await entries();
    expect(more).toEqual([]);
    const { operation } = begun!;
    expect(begun).toMatchObject({
      ...by,
      phase: 'begun',
      action: 'dead.retry',
      target: `${id} nobody`,
      count: null,
    });
    expect(done).toMatchObject({ ...by, operation, phase: 'done', count: 1, note: '1 missing' });
    expect((await operator.audit()).entries).toHaveLength(2);
  });

  it('tells what failed, and never a payload', async () => {
    const { audit, entries } = auditLog();
    const { operator, die } = operatorBench({ stores: { audit } });
    const id = await die(mail, { to: 'a', error: 'x' });
    await refusal(() => operator.jobs.runAgain('nobody'));
    await operator.deadLetters.edit(id, { payload: { to: 'top-secret' } });
    const all = await entries();
    expect(all.map(({ action, phase }) => `${action} ${phase}`)).toEqual([
      'job.run-again begun',
      'job.run-again failed',
      'dead.edit begun',
      'dead.edit done',
    ]);
    expect(all[1]!.note).toMatch(/keepPayload/);
    expect(JSON.stringify(all)).not.toContain('top-secret');
  });

  it('that cannot be written keeps everything from being done', async () => {
    const { audit } = auditLog(() => true);
    const { operator, die, deadLetters } = operatorBench({ stores: { audit } });
    const id = await die(mail, { to: 'a', error: 'x' });
    for (const act of [
      () => operator.deadLetters.retry({ ids: [id] }),
      () => operator.deadLetters.discard({ filter: {} }),
      () => operator.deadLetters.edit(id, { payload: { to: 'b' } }),
      () => operator.queues.clear('default'),
    ]) {
      const error = await refusal(act);
      expect(error.code).toBe('BACKEND');
      expect(error.message).toContain('nothing was done');
    }
    expect(await deadLetters()).toHaveLength(1);
  });

  it('that cannot be ended is an event: what was done stays done', async () => {
    const { audit } = auditLog(({ phase }) => phase !== 'begun');
    const { operator, die, eventsOf } = operatorBench({ stores: { audit } });
    const id = await die(mail, { to: 'a', error: 'x' });
    expect(await operator.deadLetters.retry({ ids: [id] })).toMatchObject({ done: 1 });
    expect(eventsOf('store.failed')).toHaveLength(1);
  });

  it('that is not kept is refused in words', async () => {
    const { client, die } = operatorBench();
    const { audit: _, ...stores } = client.stores;
    const operator = createOperator({ ...client, stores }, by);
    const id = await die(brief, { n: 1 });
    expect(await operator.deadLetters.discard({ ids: [id] })).toMatchObject({ done: 1 });
    expect((await refusal(() => operator.audit())).code).toBe('CONFIG');
  });
});
