/** A schedule that one host pauses is paused for all hosts, in every place where keys are kept. */

import { afterAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import type { Clock } from '../../core/base/clock.ts';
import type { Stores } from '../../core/contract/store.ts';
import { scheduleHistory } from '../../core/features/schedules/history.ts';
import { pauseSchedule, resumeSchedule } from '../../core/features/schedules/pause.ts';
import { connect, createApp, defineJob, defineSchedule, keyRing, tick } from '../../core/index.ts';
import { createDynamoTable, dynamoStore } from '../../functions/aws/index.ts';
import { tableStore } from '../../functions/azure/index.ts';
import { memory } from '../../local/backends/memory/index.ts';
import { startDynamo } from '../kit/servers/dynamo-server.ts';
import { shared } from '../kit/shared/shared.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';
import { databasesWith, type Open } from './databases.ts';

const minuteMs = 60_000;
let tables = 0;
const after: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of after.splice(0)) await undo();
});

/** A queue of all hosts, with the keys in a store of their own. */
function beside(store: (clock: Clock) => Stores): Open {
  let queue: ReturnType<Open> | null = null;
  return (clock) => {
    queue ??= memory({ clock });
    return { ...queue, stores: store(clock) };
  };
}

const places = {
  ...databasesWith(after),
  async dynamoStore() {
    // Of nobody: the server takes any, but the SDK will not send without them.
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
    const server = await startDynamo();
    after.push(() => server.close());
    const where = { table: 'schedules', endpoint: server.endpoint, region: 'eu-central-1' };
    await createDynamoTable(where);
    return beside((clock) => dynamoStore({ ...where, clock }));
  },
  async tableStore() {
    const { connectionString } = await shared('azurite');
    const where = { table: `schedules${++tables}`, connectionString };
    await tableStore(where).migrate();
    return beside((clock) => tableStore({ ...where, clock }));
  },
};

const work = defineJob({ name: 'work', payload: z.null(), async handle() {} });

/** A process: its own connection, its own app. */
function startHost(open: Open, clock: Clock) {
  const schedules = [
    defineSchedule({ name: 'report', everyMs: minuteMs, job: work, payload: null, missed: 'all' }),
  ];
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: [work], schedules, signing, clock });
  const client = connect(app, open(clock));
  return { client, tick: () => tick(app, client) };
}

describe.each(Object.keys(places) as (keyof typeof places)[])('hosts that share %s', (place) => {
  it('enqueue nothing of a schedule that one of them has paused, until another one resumes it', async () => {
    const clock = createVirtualClock();
    const open = await places[place]();
    const [one, two, three] = [startHost(open, clock), startHost(open, clock), startHost(open, clock)];
    const tickAll = async () => (await Promise.all([one.tick(), two.tick(), three.tick()])).flat().length;
    await tickAll();
    clock.advance(minuteMs);
    expect(await tickAll()).toBe(1);

    expect(await pauseSchedule(one.client, 'report')).toBe(true);
    expect(await pauseSchedule(two.client, 'report')).toBe(false);
    expect((await scheduleHistory(three.client, 'report')).pausedAt !== null).toBe(true);
    for (let i = 0; i < 3; i++) {
      clock.advance(minuteMs);
      expect(await tickAll()).toBe(0);
    }
    const { pausedAt, nextAt, entries } = await scheduleHistory(two.client, 'report', { max: 1 });
    expect([pausedAt, nextAt]).toEqual([clock.now() - 3 * minuteMs, null]);
    expect(entries).toMatchObject([{ kind: 'skipped', reason: 'paused', count: 3 }]);

    // Nobody ticks for a while, and nothing of that is made up for either.
    clock.advance(5 * minuteMs);
    expect(await resumeSchedule(three.client, 'report')).toBe(true);
    expect((await scheduleHistory(one.client, 'report')).pausedAt !== null).toBe(false);
    expect(await tickAll()).toBe(0);
    clock.advance(minuteMs);
    expect(await tickAll()).toBe(1);
    for (const { client } of [one, two, three]) await client.close();
  });

  it('agree which one of them has paused and resumed it, when all do at once', async () => {
    const clock = createVirtualClock();
    const open = await places[place]();
    const hosts = [startHost(open, clock), startHost(open, clock), startHost(open, clock)];
    await hosts[0]!.tick();
    clock.advance(minuteMs);
    for (const verb of [pauseSchedule, resumeSchedule]) {
      const work = hosts.map(({ client }) => verb(client, 'report'));
      const [done] = await Promise.all([Promise.all(work), ...hosts.map(({ tick }) => tick())]);
      expect(done.filter(Boolean)).toHaveLength(1);
    }
    expect((await scheduleHistory(hosts[0]!.client, 'report')).pausedAt !== null).toBe(false);
    for (const { client } of hosts) await client.close();
  });
});
