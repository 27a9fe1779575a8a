/** What an app asks of a backend that it cannot do is refused at the start, all of it at once. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, createApp, startWorker } from '../../../core/index.ts';
import type { Abilities } from '../../../core/kernel/enqueue/abilities.ts';
import { abilitiesOf } from '../../../core/kernel/enqueue/abilities.ts';
import { clientOf } from '../../../core/kernel/enqueue/connect.ts';
import { knownAbilities } from '../../../core/kernel/enqueue/known-abilities.ts';
import { dynamoStore, lambda, sqs } from '../../../functions/aws/index.ts';
import { azure, serviceBus, tableStore } from '../../../functions/azure/index.ts';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memory, memoryStore } from '../../../local/backends/memory/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { redis } from '../../../local/backends/redis/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { startLocal } from '../../../local/start.ts';
import { job, refusalText, ring } from './kit.ts';

const storage =
  'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=YQ==;EndpointSuffix=core.windows.net';
const bus = 'Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=k;SharedAccessKey=YQ==';
const queueUrl = 'https://sqs.eu-central-1.amazonaws.com/123456789012/jobs-';
const sqsBackend = () => sqs({ queueUrl });

const app = createApp({
  jobs: [
    job({ name: 'pay', transaction: true }),
    job({ name: 'ship', transaction: true }),
    job({ name: 'index', queue: 'quiet', debounce: { key: () => 'k', waitMs: 1_000 } }),
    job({ name: 'plain' }),
  ],
  queues: { quiet: { order: 'group' } },
  signing: ring,
});
const text = (name: string): string => `CONFIG: Backend "${name}" cannot do 4 things that the app asks for:
- Job "pay" has a transaction, but backend "${name}" offers none. Run it on postgres().
- Job "ship" has a transaction, but backend "${name}" offers none. Run it on postgres().
- Job "index" replaces a waiting job, which backend "${name}" cannot do. Use unique with onConflict: 'skip', or a backend that can: docs/backends.md.
- Queue "quiet" has order: 'group' (on a retry: wait), which backend "${name}" does not support. Leave order out, or use another backend: docs/groups.md.`;

describe('all that a backend cannot do', () => {
  const store = memoryStore();
  const starts: Readonly<Record<string, () => unknown>> = {
    'connect()': () => connect(app, sqsBackend(), { store }),
    'startWorker()': () => startWorker(app, { backend: sqsBackend(), store }),
    'startWorker() of several': () =>
      startWorker(app, { backend: { default: sqsBackend() }, store: { default: store } }),
    'lambda()': () => lambda(app, { backend: sqsBackend(), store, log: false }),
    'lambda() beside others': () =>
      lambda(app, {
        backend: sqsBackend(),
        store,
        backendName: 'default',
        otherBackends: { other: null },
        log: false,
      }),
    'startLocal()': () => startLocal(app, { backend: sqsBackend(), store }),
  };
  it.each(Object.entries(starts))('is refused at once by %s', async (_, start) => {
    expect(await refusalText(start)).toBe(text('sqs'));
  });

  it('is refused by a worker whose leases end before its jobs', async () => {
    const jobs = ['pay', 'ship'].map((name) => job({ name, timeoutMs: 60_000 }));
    const start = () =>
      startWorker(createApp({ jobs, signing: ring }), { backend: memory(), renew: false, leaseMs: 1_000 });
    const line = (name: string) =>
      `- Without renewal the lease must outlast every job: leaseMs is 1000, but job "${name}" may run 60000 ms. Raise leaseMs, lower its timeoutMs, or leave renewal on.`;
    expect(await refusalText(start)).toBe(
      `CONFIG: A worker of backend "memory" cannot run these jobs:\n${line('pay')}\n${line('ship')}`,
    );
  });

  it.each([{}, { backendName: 'default', otherBackends: { other: null } }])(
    'is refused by azure(), with %j',
    async (more) => {
      const refused = await refusalText(() =>
        azure(app, { connection: 'BUS', store: () => store, functions: {} as never, ...more }),
      );
      expect(refused).toBe(text('servicebus'));
    },
  );

  it('is asked of the backend of the job alone', () => {
    const several = createApp({
      jobs: [job({ name: 'pay', backend: 'db', transaction: true })],
      signing: ring,
    });
    const db = postgres('postgres://localhost/never-asked');
    onTestFinished(() => db.close());
    connect(several, { default: memory(), db });
  });
});

describe('the table of what backends can do', () => {
  const beside: Readonly<Record<string, object>> = {
    sqs: dynamoStore({ table: 'jobs', region: 'eu-central-1' } as never),
    servicebus: tableStore({ table: 'jobs', connectionString: storage } as never),
  };
  const real = {
    memory,
    sqlite: () => sqlite(':memory:'),
    postgres: () => postgres('postgres://localhost/never-asked'),
    redis: () => redis('redis://localhost:1'),
    beanstalkd: () => beanstalkd('beanstalk://127.0.0.1:1'),
    sqs: () => sqs({ queues: { default: `${queueUrl}default.fifo` }, keys: memoryStore().keys }),
    servicebus: () =>
      serviceBus({ connectionString: bus, sessions: ['default'], queues: ['default'] } as never),
  };

  it('knows every backend', () => expect(Object.keys(knownAbilities)).toEqual(Object.keys(real)));

  it.each(Object.entries(real))('says of %s what the real one says', async (name, open) => {
    const backend = open();
    onTestFinished(() => backend.close());
    const one = createApp({ jobs: [job()], signing: ring });
    const {
      keepsOrder: _,
      mostPerSecond,
      ...own
    } = abilitiesOf(clientOf(one, backend, beside[name] ? { store: beside[name] } : {}));
    const {
      keepsOrder,
      mostPerSecond: knownPerSecond,
      ...known
    }: Abilities = {
      name,
      ...knownAbilities[name as keyof typeof knownAbilities],
    };
    expect(known).toEqual(own);
    for (const slots of [1, 100, 1_000, 2_500]) expect(knownPerSecond(slots)).toBe(mostPerSecond(slots));
    for (const order of ['wait', 'step-aside'] as const)
      expect([order, keepsOrder('default', order)]).toEqual([
        order,
        backend.keepsOrder?.('default', order) === true,
      ]);
  });
});
