/** What the alerts know of the whole: the dead letters of all queues together, and who runs the jobs. */

import { expect, it } from 'vitest';
import { alert } from '../../../core/features/alerts/index.ts';
import { look, saying, stats, watched } from './kit.ts';

it('dead letters of all queues are added up', async () => {
  for (const [above, told] of [
    [1_001, ['1,002 dead letters in all queues, more than 1,001']],
    [1_002, []],
  ] as const) {
    const w = watched({ rules: [alert.allDeadLetters({ above, forMs: 0 })] });
    const client = saying(w.client, ...['a', 'b', 'c'].map((queue) => stats({ queue, dead: 334 })));
    await look({ alerts: w.alerts, client });
    expect(w.sent.map(({ text }) => text)).toEqual(told);
  }
});

it('that no worker is seen is not told for a day after a function has looked, by no host', async () => {
  const w = watched({ rules: [alert.withoutWorker({ forMs: 0 })] });
  await w.look('function');
  await w.minutes(1_439);
  expect(w.told()).toEqual([]);
  await w.minutes(2);
  expect(w.told()).toEqual(['firing QueueWithoutWorker default']);
});
