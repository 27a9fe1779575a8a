import { expect, it } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { message } from './messages.ts';

it('one call reaps every lease that has ended, in more steps than one', async () => {
  const clock = createVirtualClock();
  const backend = sqlite({ path: ':memory:', clock });
  const jobs = 2_500;
  await backend.enqueue(Array.from({ length: jobs }, (_, n) => message({ id: `m${n}` })));
  await backend.fetch({ queues: ['default'], max: jobs, leaseMs: 30_000, waitMs: 0 });
  expect(await backend.reapExpired('default')).toBe(0);
  clock.advance(30_000);
  expect(await backend.reapExpired('default')).toBe(jobs);
  expect(await backend.admin!.stats('default')).toMatchObject([{ ready: jobs, leased: 0 }]);
  await backend.close();
});
