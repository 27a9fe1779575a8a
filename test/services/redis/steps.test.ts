/** Texts in Redis: what a job has left behind goes with a purge when it has ended. */

import { expect, it } from 'vitest';
import { redis } from '../../../local/backends/redis/index.ts';
import { freshRedis } from './database.ts';

it('a text of steps has an end in Redis, which each write moves', async () => {
  const backend = redis({ url: await freshRedis(), prefix: 'steps' });
  const { steps, records } = backend.stores!;
  const past = 1;
  const version = await steps!.write('job:a', '1', null, past);
  expect(version).not.toBeNull();
  const later = await steps!.write('job:a', '2', version, Date.now() + 86_400_000);
  expect(await records.purge()).toBe(0);
  expect(await steps!.read('job:a')).toMatchObject({ text: '2' });
  expect(await steps!.write('job:a', '3', later, past)).not.toBeNull();
  expect(await records.purge()).toBe(1);
  expect(await steps!.read('job:a')).toBeNull();
  await backend.close();
});
