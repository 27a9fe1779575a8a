/** Unique jobs of many senders at the same moment, in every place where keys are kept. */

import { afterAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import type { Clock } from '../../../core/base/clock.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { connect, createApp, defineJob, type EnqueueOptions } from '../../../core/index.ts';
import { createDynamoTable, dynamoStore } from '../../../functions/aws/index.ts';
import { tableStore } from '../../../functions/azure/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { startDynamo } from '../../kit/servers/dynamo-server.ts';
import { shared } from '../../kit/shared/shared.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { databasesWith, type Open } from '../databases.ts';
import { signing } from './sender.ts';

const after: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of after.splice(0)) await undo();
});
let tables = 0;

/** One queue, of which all have the same opening, with the keys in a store of their own. */
function beside(store: (clock: Clock) => Stores): Open {
  let queue: ReturnType<Open> | null = null;
  return (clock) => {
    queue ??= memory({ clock });
    return { ...queue, stores: { ...store(clock), records: queue.stores!.records } };
  };
}

const places = {
  ...databasesWith(after),
  async memory(): Promise<Open> {
    let queue: ReturnType<Open> | null = null;
    return (clock) => {
      queue ??= memory({ clock });
      return queue;
    };
  },
  async dynamoStore() {
    // Of nobody: the server takes any, but the SDK will not send without them.
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
    const server = await startDynamo();
    after.push(() => server.close());
    const where = { table: 'unique', endpoint: server.endpoint, region: 'eu-central-1' };
    await createDynamoTable(where);
    return beside((clock) => dynamoStore({ ...where, clock }));
  },
  async tableStore() {
    const { connectionString } = await shared('azurite');
    const where = { table: `unique${++tables}`, connectionString };
    await tableStore(where).migrate();
    return beside((clock) => tableStore({ ...where, clock }));
  },
};

const work = defineJob({ name: 'work', payload: z.number(), async handle() {} });

/** Processes with connections of their own, and the jobs that their queue has. */
async function start(place: keyof typeof places) {
  const open = await places[place]();
  const clock = createVirtualClock();
  const clients = Array.from({ length: 3 }, () =>
    connect(createApp({ jobs: [work], signing, clock }), open(clock)),
  );
  const [first] = clients;
  /** All at once, each call with a payload of its own: their ids, and how many of them are new. Emulators of clouds are slow: they get few. */
  async function race(options: EnqueueOptions, each = place.endsWith('Store') ? 1 : 4) {
    const calls = clients.flatMap((client, host) =>
      Array.from({ length: each }, (_, i) => client.enqueue(work, host * each + i, options)),
    );
    const jobs = await Promise.all(calls);
    return {
      ids: new Set(jobs.map(({ id }) => id)),
      added: jobs.filter(({ duplicate }) => !duplicate).length,
    };
  }
  async function take() {
    const leases = await first!.backend.fetch({ queues: ['default'], max: 9, leaseMs: 60_000, waitMs: 0 });
    const payloads = leases.map(
      ({ body }) => readEnvelope(body, { ring: signing, now: clock.now(), maxBytes: 9e9 }).payload,
    );
    return { leases, payloads };
  }
  const close = () => Promise.all(clients.map((client) => client.close()));
  return { clock, first: first!, race, take, close };
}

const unique = (rest: Partial<EnqueueOptions['unique'] & object>): EnqueueOptions => ({
  unique: { key: 'k'.repeat(256), during: 'either', ...rest },
});

describe.each(Object.keys(places) as (keyof typeof places)[])('senders that share %s', (place) => {
  it('enqueue one job until it has ended, and then one again', async () => {
    const t = await start(place);
    for (let round = 0; round < 2; round++) {
      const { ids, added } = await t.race(unique({}));
      expect([ids.size, added]).toEqual([1, 1]);
      const { leases } = await t.take();
      expect(leases).toHaveLength(1);
      expect(await t.race(unique({}), 1)).toEqual({ ids, added: 0 });
      await t.first.backend.ack(leases.map((lease) => ({ lease })));
    }
    await t.close();
  });

  it('enqueue one job per length of time', async () => {
    const t = await start(place);
    const options = unique({ during: { forMs: 60_000 } });
    expect((await t.race(options)).added).toBe(1);
    t.clock.advance(60_000);
    expect((await t.race(options)).added).toBe(1);
    expect((await t.take()).leases).toHaveLength(2);
    await t.close();
  });

  it('replace one another in one job that waits', async () => {
    const t = await start(place);
    const { ids, added } = await t.race(unique({ during: 'waiting', onConflict: 'replace' }));
    expect([ids.size, added]).toEqual([1, 1]);
    await t.first.enqueue(work, 99, unique({ during: 'waiting', onConflict: 'replace' }));
    expect((await t.take()).payloads).toEqual([99]);
    await t.close();
  });

  it('debounce one job', async () => {
    const t = await start(place);
    const options = { debounce: { key: 'k', waitMs: 1_000, maxWaitMs: 1_500 } };
    expect(await t.race(options)).toMatchObject({ added: 1 });
    t.clock.advance(900);
    await t.first.enqueue(work, 99, options);
    t.clock.advance(599);
    expect((await t.take()).leases).toEqual([]);
    t.clock.advance(1);
    expect((await t.take()).payloads).toEqual([99]);
    await t.close();
  });
});
