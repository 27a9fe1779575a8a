/** Workers of two hosts beside a queue whose limit is full, on every queue that hosts share. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../../core/base/clock.ts';
import {
  type Contract,
  connect,
  createApp,
  defineJob,
  keyRing,
  startWorker,
  type WorkerOptions,
} from '../../../core/index.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { until } from '../../kit/until.ts';
import { startBeanstalkd } from '../beanstalkd/server.ts';
import { databasesWith, type Open } from '../databases.ts';

const after: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of after.splice(0)) await undo();
});
const queues = {
  ...databasesWith(after),
  async beanstalkd(): Promise<Open> {
    const server = await startBeanstalkd();
    after.push(() => server.remove());
    const store = memoryStore();
    return (clock) => beanstalkd({ url: server.url, clock, store });
  },
};
const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
const slots = 8;

function createJobs(limit: number) {
  const begun: string[] = [];
  const open = new Map<number, () => void>();
  let most = 0;
  let isQuick = false;
  const row = defineJob({
    name: 'import',
    queue: 'import',
    payload: z.number(),
    concurrency: { limit },
    async handle(n) {
      begun.push(`import ${n}`);
      const ended = new Promise<void>((resolve) => void open.set(n, resolve));
      most = Math.max(most, open.size);
      await (isQuick ? delay(10) : ended);
      open.delete(n);
    },
  });
  const mail = defineJob({
    name: 'mail',
    queue: 'mail',
    payload: z.number(),
    handle: (n) => void begun.push(`mail ${n}`),
  });
  return {
    row,
    mail,
    begun,
    app: createApp({ jobs: [row, mail], signing }),
    /** The most jobs of `import` at the same time. */
    most: () => most,
    end: (n: number) => open.get(n)!(),
    /** Lets all jobs of `import` end, those that wait after 10 ms. */
    quicken() {
      isQuick = true;
      for (const end of open.values()) end();
    },
    countOf: (queue: string) => begun.filter((name) => name.startsWith(queue)).length,
  };
}

describe.each(['sqlite', 'postgres', 'redis', 'beanstalkd'] as const)('hosts that share %s', (name) => {
  async function host(limit: number) {
    const open = await queues[name]();
    const jobs = createJobs(limit);
    let released = 0;
    const counted = (): Contract.QueueBackend => {
      const backend = open(systemClock);
      return {
        ...backend,
        nack(lease, how) {
          released++;
          return backend.nack(lease, how);
        },
      };
    };
    const client = connect(jobs.app, counted());
    const start = (options: Partial<WorkerOptions> = {}) =>
      startWorker(jobs.app, { backend: counted(), concurrency: slots, ...options });
    return { ...jobs, client, start, released: () => released };
  }

  it('fill a limit together, send few jobs back, and run all of them', async () => {
    const t = await host(4);
    await t.client.enqueueMany(
      t.row,
      Array.from({ length: 120 }, (_, n) => n),
    );
    t.quicken();
    const workers = [t.start(), t.start()];
    for (let n = 0; n < 20; n++) {
      await t.client.enqueue(t.mail, n);
      await until(() => t.begun.includes(`mail ${n}`));
    }
    await until(() => t.countOf('import') === 120);
    expect(t.most()).toBe(4);
    expect(t.released()).toBeLessThan(60); // 120 jobs went back before
    await until(async () => (await t.client.stores.limits!.list({})).length === 0);
    for (const worker of workers) await worker.stop();
    await t.client.close();
  });

  it('take over the slots of a host that has died', async () => {
    const t = await host(2);
    const dead = {
      key: 'job:import:concurrency',
      limit: 2,
      owner: 'dead',
      holdMs: 3_000,
      rank: 0,
      queue: 'import',
    };
    await t.client.stores.limits!.take(['a', 'b'].map((holder) => ({ ...dead, holder })));
    await t.client.enqueueMany(t.row, [0, 1, 2, 3, 4, 5]);
    const worker = t.start();
    await t.client.enqueue(t.mail, 0);
    await until(() => t.countOf('mail') === 1);
    await until(() => t.countOf('import') === 2);
    t.quicken();
    await until(() => t.countOf('import') === 6);
    expect(t.most()).toBe(2);
    await worker.stop();
    await t.client.close();
  });

  it('go on after a reset, a cancellation and a pause', async () => {
    const t = await host(2);
    const sent = await t.client.enqueueMany(t.row, [0, 1, 2, 3, 4, 5, 6, 7]);
    const worker = t.start();
    await until(() => t.countOf('import') === 2);
    await t.client.cancel((sent[2] as { id: string }).id);
    await t.client.backend.admin!.setPaused('import', true);
    t.end(0);
    await t.client.enqueue(t.mail, 0);
    await until(() => t.countOf('mail') === 1);
    expect(t.countOf('import')).toBe(2);
    await t.client.backend.admin!.setPaused('import', false);
    await until(() => t.countOf('import') === 3);
    expect(t.begun).not.toContain('import 2');
    await createOperator(t.client, { actor: 'ann', from: 'a test' }).limits.reset('job:import:concurrency');
    await until(() => t.countOf('import') === 4); // beside the two that have begun
    t.quicken();
    await until(() => t.countOf('import') === 7);
    await worker.stop();
    await t.client.close();
  });
});

describe.each(['sqlite', 'postgres', 'redis'] as const)('a worker of %s', (name) => {
  it('asks once for all jobs of a fetch that wait for one key, and checks them in one call', async () => {
    const open = await queues[name]();
    const backend = open(systemClock);
    const limits = backend.stores!.limits!;
    const asked: number[] = [];
    const checked: number[] = [];
    const counting: Contract.LimitStore = {
      ...limits,
      take(requests) {
        asked.push(requests.length);
        return limits.take(requests);
      },
      waitsFor(holders) {
        checked.push(holders.length);
        return limits.waitsFor(holders);
      },
    };
    const ends: (() => void)[] = [];
    const sync = defineJob({
      name: 'sync',
      payload: z.string(),
      concurrency: { limit: 1, key: (customer) => customer },
      handle: () => new Promise<void>((resolve) => void ends.push(resolve)),
    });
    const app = createApp({ jobs: [sync], signing });
    const client = connect(app, backend);
    await client.enqueueMany(
      sync,
      Array.from({ length: 20 }, () => 'c-7'),
    );
    const stores = { ...backend.stores!, limits: counting };
    const worker = startWorker(app, { backend: { ...backend, stores }, concurrency: 20, prefetch: 0 });
    await until(async () => (await limits.list({}))[0]?.waiting === 19);
    await until(() => checked.reduce((sum, count) => sum + count, 0) === 19);
    expect(asked.length).toBeLessThanOrEqual(4);
    expect(checked.length).toBeLessThanOrEqual(asked.length);
    for (let n = 0; n < 20; n++) {
      await until(() => ends.length === n + 1);
      ends[n]!();
    }
    await until(async () => (await limits.list({})).length === 0);
    await worker.stop();
    await client.close();
  });
});
