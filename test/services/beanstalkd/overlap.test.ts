/** `overlap: 'skip'` asks whether the job of the last moment has ended: only a record says that. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import {
  connect,
  createApp,
  defineJob,
  defineSchedule,
  keyRing,
  type LongshoreEvent,
  tick,
} from '../../../core/index.ts';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { type BeanstalkdServer, startBeanstalkd } from './server.ts';

let server: BeanstalkdServer;
beforeAll(async () => {
  server = await startBeanstalkd();
});
afterAll(() => server.remove());

/** What two moments of a schedule bring, of which the first one's job is not finished. */
async function twoMoments(overlap: 'skip' | 'allow', hasStore: boolean) {
  const clock = createVirtualClock();
  const events: LongshoreEvent[] = [];
  const job = defineJob({ name: 'report', payload: z.object({}), handle: () => {} });
  const app = createApp({
    jobs: [job],
    schedules: [defineSchedule({ name: 'minutely', everyMs: 60_000, job, payload: {}, overlap })],
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    clock,
    on: (event) => events.push(event),
  });
  const client = connect(
    app,
    beanstalkd({ url: server.url, clock, ...(hasStore && { store: memoryStore({ clock }) }) }),
  );
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) {
    ids.push(...(await tick(app, client)));
    clock.advance(60_000);
  }
  await client.close();
  return { count: ids.length, failures: events.filter(({ type }) => type === 'schedule.failed') };
}

it('enqueues no moment while the job of the last one is unfinished', async () => {
  expect(await twoMoments('skip', true)).toEqual({ count: 1, failures: [] });
});

it('is refused where nothing can tell, because the backend has no store', async () => {
  const { count, failures } = await twoMoments('skip', false);
  expect(count).toBe(0);
  expect(failures).toHaveLength(3);
  expect(failures[0]).toMatchObject({
    schedule: 'minutely',
    error: {
      code: 'CONFIG',
      message: expect.stringMatching(/"minutely".*overlap: 'skip'.*beanstalkd.*store/),
    },
  });
});

it('does not concern other schedules there', async () => {
  expect(await twoMoments('allow', false)).toEqual({ count: 2, failures: [] });
});
