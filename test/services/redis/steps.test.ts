/** Steps in Redis: what a job has left behind ends by itself. */

import { expect, it } from 'vitest';
import { redis } from '../../../local/backends/redis/index.ts';
import { freshRedis } from './database.ts';

it('a text of steps has an end in Redis, which each write moves', async () => {
  const backend = redis({ url: await freshRedis(), prefix: 'steps' });
  const { steps } = backend.stores!;
  const version = await steps!.write('job:a', '1', null, Date.now() + 86_400_000);
  expect(version).not.toBeNull();
  // One that has ended already goes at once.
  const past = 1;
  expect(await steps!.write('job:a', '2', version, past)).not.toBeNull();
  await expect.poll(() => steps!.read('job:a')).toBeNull();
  await backend.close();
});
