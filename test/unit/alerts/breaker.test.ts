/** The condition of an open breaker. */

import { describe, expect, it } from 'vitest';
import { alert } from '../../../core/features/alerts/index.ts';
import { closeBreaker } from '../../../core/features/limits/breaker.ts';
import { pauseJob } from '../../../core/features/limits/pause.ts';
import { job } from '../core/kit.ts';
import { instead, minuteMs, watched, work } from './kit.ts';

describe('breakerOpen', () => {
  const fragile = job({ name: 'mail', breaker: { failures: 2, openMs: minuteMs } });
  const rules = [alert.breakerOpen()];
  const open = async (w: ReturnType<typeof watched>, name: string) => {
    const { limits } = w.client.stores;
    for (const holder of ['a#1', 'b#1'])
      await limits!.take([
        {
          ...{ key: `breaker:${name}:failures`, holder, owner: holder, limit: 100 },
          ...{ holdMs: 60 * minuteMs, rank: 0, queue: 'default' },
        },
      ]);
    await limits!.hold(`breaker:${name}:open`, minuteMs);
  };

  it('is a breaker that has been open for five minutes, also while one job is tried', async () => {
    const w = watched({ rules }, { jobs: [work, fragile] });
    await w.minutes(1);
    await open(w, 'mail');
    await w.minutes(5); // after the first of them it is over, and nobody has tried
    expect(w.told()).toEqual([]);
    await w.minutes(1);
    expect(w.sent.map(({ alert, text, value }) => [alert, text, value])).toEqual([
      ['BreakerOpen', '"mail": its breaker is open, 2 attempts in a row have failed, 0 jobs wait', 2],
    ]);
    w.told();
    await closeBreaker(w.client, 'mail');
    await w.minutes(1);
    expect(w.sent.map(({ state, text }) => [state, text])).toEqual([
      ['resolved', '"mail": its breaker is closed'],
    ]);
  });

  it('is none of a job that is paused, nor of another app', async () => {
    const w = watched({ rules }, { jobs: [work, fragile] });
    await pauseJob(w.client, 'mail');
    await open(w, 'elsewhere');
    await w.minutes(10);
    expect(w.told()).toEqual([]);
  });

  it('asks nothing where no job has a breaker', async () => {
    const failing = ({ client }: ReturnType<typeof watched>) => {
      const { limits } = client.stores;
      const list = () => Promise.reject(new Error('not to be asked'));
      return instead(client, { stores: { limits: { ...limits!, list } } });
    };
    const w = watched({ rules });
    await w.alerts.evaluate(failing(w), 'worker');
    expect(w.eventsOf('alert.unavailable')).toEqual([]);
    const other = watched({ rules }, { jobs: [work, fragile] });
    await other.alerts.evaluate(failing(other), 'worker');
    expect(other.eventsOf('alert.unavailable')).toHaveLength(1);
  });

  it('tells of a job that has none', async () => {
    const w = watched({ rules: [alert.breakerOpen({ job: 'mial' })] }, { jobs: [work, fragile] });
    await w.look();
    expect(w.eventsOf('alert.unavailable')).toMatchObject([
      { message: 'there is no job "mial" with a breaker here' },
    ]);
  });
});
