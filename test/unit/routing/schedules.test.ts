/** Schedules and alerts of an app with several backends. */

import { describe, expect, it } from 'vitest';
import { alert, defineAlerts } from '../../../core/features/alerts/index.ts';
import { scheduleHistory } from '../../../core/features/schedules/history.ts';
import { pauseSchedule, resumeSchedule } from '../../../core/features/schedules/pause.ts';
import { connect, defineSchedule, startWorker, tick } from '../../../core/index.ts';
import { createScheduleHandler } from '../../../core/serverless/schedule.ts';
import { startLocal } from '../../../local/start.ts';
import { until } from '../../kit/until.ts';
import { refusalText } from '../core/kit.ts';
import { settle } from '../worker/kit.ts';
import { createBench, readyOn } from './kit.ts';

const minuteMs = 60_000;

function createScheduled(options: Parameters<typeof createBench>[0] = {}) {
  const plain = createBench();
  const [mail, thumb] = [plain.mail, plain.thumb];
  const every = { everyMs: minuteMs, payload: { n: 0 } };
  const schedules = [
    defineSchedule({ name: 'letters', job: mail, ...every }),
    defineSchedule({ name: 'thumbs', job: thumb, ...every }),
  ];
  return { ...createBench({ jobs: [mail, thumb], queues: {}, schedules, ...options }), ran: plain.ran };
}

describe('a schedule', () => {
  it('ticks on the backend of its job, which remembers it', async () => {
    const { app, backends, clock } = createScheduled();
    const client = connect(app, backends);
    await tick(app, client);
    clock.advance(minuteMs);
    expect(await tick(app, client)).toHaveLength(2);
    expect(await readyOn(backends.default)).toEqual(['mail in default']);
    expect(await readyOn(backends.fast)).toEqual(['thumb in default']);
    for (const name of ['letters', 'thumbs'])
      expect((await scheduleHistory(client, name)).entries).toMatchObject([{ kind: 'run' }]);
    expect((await scheduleHistory(client.backends.get('default')!, 'thumbs')).entries).toEqual([]);
  });

  it('is left to other processes where its backend is not used', async () => {
    const { app, backends, clock } = createScheduled();
    const client = connect(app, { default: null, fast: backends.fast });
    await tick(app, client);
    clock.advance(minuteMs);
    expect(await tick(app, client)).toHaveLength(1);
    expect(await readyOn(backends.fast)).toEqual(['thumb in default']);
    const other = connect(app, backends).backends.get('default')!;
    await tick(app, other);
    clock.advance(minuteMs);
    expect(await tick(app, other)).toHaveLength(1);
  });

  it('is paused and resumed there', async () => {
    const { app, backends, clock } = createScheduled();
    const client = connect(app, backends);
    await tick(app, client);
    expect(await pauseSchedule(client, 'thumbs')).toBe(true);
    clock.advance(minuteMs);
    expect(await tick(app, client)).toHaveLength(1);
    expect((await scheduleHistory(client.backends.get('fast')!, 'thumbs')).pausedAt !== null).toBe(true);
    expect((await scheduleHistory(client, 'letters')).pausedAt !== null).toBe(false);
    expect(await resumeSchedule(client, 'thumbs')).toBe(true);
    expect(await refusalText(() => pauseSchedule(client.backends.get('default')!, 'thumbs'))).toBe(
      'OPTION: Schedule "thumbs" belongs to another backend than "default". Name that backend.',
    );
  });

  it('is enqueued by startLocal(), which works all backends and ends when they have', async () => {
    const { app, backends, clock, ran, eventsOf } = createScheduled();
    const client = connect(app, backends);
    await tick(app, client);
    clock.advance(minuteMs);
    const local = await startLocal(app, { backend: backends, untilIdle: true, logger: false, signals: [] });
    expect(await local.done).toMatchObject({ reason: 'idle', counts: { acked: 2 } });
    expect(ran.toSorted()).toEqual(['mail 0', 'thumb 0']);
    expect(eventsOf('worker.stopped')).toHaveLength(2);
    await expect(backends.fast.stores!.records.get('a')).rejects.toThrow();
  });

  it('and its alerts are looked at where it is kept, by workers and by the timer of a cloud', async () => {
    const alerts = defineAlerts({ to: [], rules: [alert.scheduleMissed({ forMs: 0 })] });
    const { app, backends, clock, eventsOf } = createScheduled({ alerts });
    const client = connect(app, backends);
    await createScheduleHandler(client)();
    expect(eventsOf('alert.firing')).toEqual([]);
    clock.advance(60 * minuteMs);
    const worker = await startWorker(app, { backend: backends });
    await until(async () => {
      clock.advance(1_000);
      await settle();
      return eventsOf('alert.firing').length === 2;
    });
    await worker.stop();
    expect(
      eventsOf('alert.firing')
        .map(({ subject }) => subject)
        .toSorted(),
    ).toEqual(['letters', 'thumbs']);
    clock.advance(minuteMs); // one host looks once a minute
    await createScheduleHandler(client)();
    expect(eventsOf('alert.resolved')).toHaveLength(2);
  });
});
