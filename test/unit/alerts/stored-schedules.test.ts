/** Schedules made at run time that are late or fail: one alert for all of them. */

import { expect, it } from 'vitest';
import { alert } from '../../../core/features/alerts/index.ts';
import { connect, tick } from '../../../core/index.ts';
import { watched, work } from './kit.ts';

const rules = [alert.scheduleMissed()];

it('tells of those made at run time with one alert, however many are late, and why they fail', async () => {
  const w = watched({ rules }, { schedules: [] });
  const everyMs = 3_600_000;
  for (const name of ['a', 'b', 'c', 'd'])
    await w.client.schedules.upsert({ name, everyMs, job: work, payload: {} });
  await w.client.schedules.pause('d');
  await w.minutes(70);
  expect(w.sent.map(({ state, subject, text }) => [state, subject, text])).toEqual([
    [
      'firing',
      'made at run time',
      expect.stringMatching(
        /^schedules made at run time that are due for up to \d+ min: 3, [abc], [abc], [abc]$/,
      ),
    ],
  ]);
  w.told();
  await tick(w.app, w.client);
  await w.minutes(1);
  expect(w.told()).toEqual(['resolved ScheduleMissed made at run time']);
  // Its ticks fail: the release that has its job is gone.
  const gone = { ...w.app, jobs: new Map() };
  for (let i = 0; i < 70; i++) {
    await tick(gone, connect(gone, w.client.backend));
    await w.minutes(1);
  }
  expect(w.sent.at(-1)).toMatchObject({
    state: 'firing',
    text: expect.stringMatching(/: 3, [abc] \(UNKNOWN_JOB\)/),
  });
});
