/** Who looks at the alerts: a worker, soon after its start and then once a minute; and the timer of a cloud. */

import { describe, expect, it } from 'vitest';
import { alert } from '../../../core/features/alerts/index.ts';
// Loaded here, because the clock of these tests does not wait for a module.
import '../../../core/features/alerts/evaluate.ts';
import { defineSchedule } from '../../../core/kernel/app/schedule.ts';
import { startWorker } from '../../../core/routing/worker.ts';
import { createScheduleHandler } from '../../../core/serverless/schedule.ts';
import { settle } from '../worker/kit.ts';
import { instead, minuteMs, watched, work } from './kit.ts';

describe('a worker', () => {
  it('looks a second after its start, then once a minute, and no more after its stop', async () => {
    let looks = 0;
    const rules = [alert.custom({ name: 'Looked', when: () => ++looks < 0 })];
    const w = watched({ rules });
    const worker = startWorker(w.app, { backend: w.backend });
    const pass = async (ms: number) => {
      w.clock.advance(ms);
      await settle();
    };
    await settle();
    expect(looks).toBe(0);
    await pass(1_000);
    expect(looks).toBe(1);
    await pass(59_999);
    expect(looks).toBe(1);
    await pass(1);
    expect(looks).toBe(2);
    for (let i = 0; i < 10; i++) await pass(minuteMs);
    expect(looks).toBe(12);
    const stopping = worker.stop();
    await pass(3_000);
    await stopping;
    await pass(10 * minuteMs);
    expect(looks).toBe(12);
  });

  it('runs its jobs while a target hangs', async () => {
    const w = watched({ rules: [alert.backlog({ above: 0, forMs: 0 })], to: hanging });
    await w.client.enqueue(work, {}, { delayMs: 2_000 });
    await w.backlog(1);
    await w.backend.admin!.setPaused('default', true);
    const worker = startWorker(w.app, { backend: w.backend });
    await settle();
    w.clock.advance(1_000);
    await settle();
    expect(w.eventsOf('alert.firing')).toHaveLength(1);
    await w.backend.admin!.setPaused('default', false);
    w.clock.advance(2_000);
    await settle();
    expect(w.eventsOf('job.settled')).toHaveLength(2);
    const stopping = worker.stop();
    for (let i = 0; i < 20; i++) {
      w.clock.advance(1_000);
      await settle();
    }
    expect((await stopping).counts.acked).toBe(2);
  });
});

const hanging = { name: 'hanging', send: () => new Promise(() => {}) };

describe('the timer of a cloud', () => {
  it('looks after its tick, as a function whose jobs need no worker', async () => {
    const schedule = defineSchedule({ name: 'every', everyMs: minuteMs, job: work, payload: {} });
    const rules = [alert.withoutWorker({ forMs: 0 }), alert.backlog({ above: 0, forMs: 0 })];
    const w = watched({ rules }, { schedules: [schedule] });
    const handler = createScheduleHandler(w.client);
    await handler();
    w.clock.advance(minuteMs);
    expect((await handler()).enqueued).toHaveLength(1);
    expect(w.told()).toEqual(['firing QueueBacklogHigh default']);
  });

  it('looks where there is no schedule, and when one fails', async () => {
    const bad = defineSchedule({ name: 'bad', everyMs: minuteMs, job: work, payload: { at: new Date(0) } });
    const w = watched({ rules: [alert.backlog({ above: 0, forMs: 0 })] }, { schedules: [bad] });
    const handler = createScheduleHandler(w.client);
    await handler();
    await w.backlog(1);
    w.clock.advance(minuteMs);
    await expect(handler()).rejects.toThrow('These schedules failed: bad');
    expect(w.told()).toEqual(['firing QueueBacklogHigh default']);
  });

  it('fails when the key store does, so that the alarms of the cloud see it', async () => {
    const w = watched();
    const keys = { ...w.client.stores.keys, claim: () => Promise.reject(new Error('no table')) };
    await expect(createScheduleHandler(instead(w.client, { stores: { keys } }))()).rejects.toThrow(
      'no table',
    );
  });
});
