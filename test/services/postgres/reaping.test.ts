/** Jobs whose workers have died come back when their leases end, however they were leased. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { message } from '../sqlite/messages.ts';
import { type Database, freshDatabase } from './schemas.ts';

const jobs = 50;
const leaseMs = 30_000;
const one = { queues: ['default'], max: 1, leaseMs, waitMs: 0 };

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

it('one call reaps every lease that has ended, also those that were given out one by one', async () => {
  const clock = createVirtualClock();
  const backend = postgres({ url: database.url, clock });
  await backend.enqueue(Array.from({ length: jobs }, (_, n) => message({ id: `m${n}` })));
  for (let n = 0; n < jobs; n++) expect(await backend.fetch(one)).toHaveLength(1);
  expect(await backend.reapExpired('default')).toBe(0);
  clock.advance(leaseMs);
  expect(await backend.reapExpired('default')).toBe(jobs);
  expect(await backend.fetch({ ...one, max: jobs })).toHaveLength(jobs);
  await backend.close();
});

it('leases whose jobs were all settled by others hide no expired one behind them', async () => {
  const clock = createVirtualClock();
  const backend = postgres({ url: database.url, schema: 'settled', clock });
  const other = postgres({ url: database.url, schema: 'settled', clock });
  await backend.enqueue(Array.from({ length: jobs }, (_, n) => message({ id: `m${n}` })));
  for (let n = 1; n < jobs; n++) {
    // By a process that did not give the lease out: the row of the lease stays for the reaper.
    const [lease] = await backend.fetch(one);
    expect(await other.ack([{ lease: lease! }])).toEqual([true]);
  }
  expect(await backend.fetch(one)).toHaveLength(1);
  clock.advance(leaseMs);
  expect(await other.reapExpired('default')).toBe(1);
  await other.close();
  await backend.close();
});
