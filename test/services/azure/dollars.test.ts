/** What each kind of job costs on Azure, as docs/azure.md says it: operations are counted, prices are those of the page. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { connect, createApp, defineJob, fixed, keyRing } from '../../../core/index.ts';
import { azure, serviceBus, tableStore } from '../../../functions/azure/index.ts';
import { startFunctions } from '../../../local/simulate/functions/host.ts';
import { createServiceBusTrigger } from '../../../local/simulate/functions/service-bus-trigger.ts';
import { createAppQueues, startServiceBus } from '../../../local/simulate/service-bus/server.ts';
import { startAzurite } from '../../kit/servers/azurite.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { common, minute, rate, kinds as shared } from '../dynamo/dollars-kit.ts';

const kinds = {
  ...shared,
  fails: defineJob({
    name: 'fails',
    ...common,
    maxRetries: 20,
    retry: fixed(minute),
    handle() {
      throw new Error('not now');
    },
  }),
};
type Kind = keyof typeof kinds;

/** Table storage behind a server that counts requests: a batch is one. */
async function startCounted() {
  const azurite = await startAzurite();
  const far = new URL(/TableEndpoint=([^;]+)/.exec(azurite.connectionString)![1]!);
  const agent = new Agent({ keepAlive: true });
  let count = 0;
  const server = createServer((asked, answer) => {
    count++;
    const { url: path, method, headers } = asked;
    const onward = request(
      { host: far.hostname, port: far.port, path, method, headers, agent },
      (answered) => {
        answer.writeHead(answered.statusCode!, answered.headers);
        answered.pipe(answer);
      },
    );
    asked.pipe(onward);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    connectionString: azurite.connectionString.replace(
      `TableEndpoint=${far.origin}`,
      `TableEndpoint=http://127.0.0.1:${port}`,
    ),
    counted() {
      const counted = count;
      count = 0;
      return counted;
    },
    async close() {
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await azurite.close();
    },
  };
}

let storage: Awaited<ReturnType<typeof startCounted>>;
beforeAll(async () => {
  storage = await startCounted();
});
afterAll(() => storage.close());

/** Operations of Service Bus and transactions of Table storage. */
interface Spent {
  readonly bus: number;
  readonly table: number;
}

async function open(kind: Kind, purpose: string) {
  const clock = createVirtualClock();
  const server = await startServiceBus({ clock });
  createAppQueues(server, ['mail']);
  let operations = 0;
  for (const name of ['mail', 'mail-failed']) {
    const queue = server.queue(name);
    const { send, take, complete, renew } = queue;
    const counting =
      <Given extends unknown[], R>(call: (...given: Given) => R, countOf: (answer: R) => number) =>
      (...given: Given) => {
        const answer = call(...given);
        operations += countOf(answer);
        return answer;
      };
    Object.assign(queue, {
      send: counting(send, (sent) => sent.length),
      take: counting(take, (taken) => (taken === null ? 0 : 1)),
      complete: counting(complete, () => 1),
      renew: counting(renew, () => 1),
    });
  }
  const { connectionString } = server;
  const where = { table: `dollars${kind}${purpose}`, connectionString: storage.connectionString, clock };
  const { metrics: _, texts: __, ...store } = tableStore(where); // without numbers, which are written at intervals
  await store.migrate!();
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: Object.values(kinds), signing, clock });
  vi.stubEnv('DOLLARS_SERVICEBUS', connectionString);
  const functionTimeoutMs = 10 * minute;
  const host = await startFunctions(() =>
    azure(app, { connection: 'DOLLARS_SERVICEBUS', store, log: false, functionTimeoutMs }),
  );
  const trigger = createServiceBusTrigger({ host, connectionString, clock, functionTimeoutMs });
  const backend = serviceBus({ connectionString, queues: ['mail'], keys: store.keys, clock });
  const client = connect(app, backend, { store });
  let n = 0;
  const t = {
    clock,
    limits: store.limits!,
    enqueue: () => client.enqueue(kinds[kind], { n: ++n }),
    async runNext() {
      let calls = await trigger.poll('mail');
      while (calls.length === 0) calls = await trigger.poll('mail'); // a busy machine is late
      expect(calls.map(({ end }) => end)).toEqual(['completed']);
    },
    spent(): Spent {
      const spent = { bus: operations, table: storage.counted() };
      operations = 0;
      return spent;
    },
    starts: (count: number) =>
      Array.from({ length: count }, () => ({
        ...{
          key: `job:${kind}:rate`,
          limit: rate.limit,
          holdMs: minute,
          holder: `${app.newId()}#${++n}`,
          owner: 'o',
        },
        ...{ rank: 0, queue: 'mail', isStart: true },
      })),
    async close() {
      await trigger.close();
      await host.terminate();
      await client.close();
      await server.stop();
      vi.unstubAllEnvs();
    },
  };
  await t.enqueue();
  await t.runNext(); // the function has started
  t.spent();
  return t;
}

const perJob = ({ bus, table }: Spent, jobs: number): Spent => ({ bus: bus / jobs, table: table / jobs });

/** Per job, of jobs that run one after the other. */
async function spentBy(kind: Kind): Promise<Spent> {
  const t = await open(kind, 'runs');
  if (kind === 'rate') {
    for (let second = 0; second < 58; second++) {
      await t.limits.take(t.starts(17));
      t.clock.advance(1_000);
    }
    t.spent();
  }
  for (let i = 0; i < 10; i++) {
    t.clock.advance(100);
    await t.enqueue();
    await t.runNext();
  }
  const spent = perJob(t.spent(), 10);
  await t.close();
  return spent;
}

/** Of a job that runs again and again, per time. */
async function spentAgain(kind: Kind): Promise<Spent> {
  const t = await open(kind, 'again');
  if (kind === 'concurrency') {
    const held = {
      key: `job:${kind}:concurrency`,
      limit: 10,
      holdMs: 100 * minute,
      owner: 'o',
      rank: 0,
      queue: 'mail',
    };
    await t.limits.take(Array.from({ length: 10 }, (_, i) => ({ ...held, holder: `other ${i}` })));
    await t.enqueue();
    await t.runNext();
  }
  t.spent();
  for (let i = 0; i < 5; i++) {
    t.clock.advance(minute);
    await t.runNext();
  }
  const spent = perJob(t.spent(), 5);
  await t.close();
  return spent;
}

const page = readFileSync(join(import.meta.dirname, '../../../docs/azure.md'), 'utf8');
const price = (of: string) => Number(new RegExp(`\\| ${of} \\| \\$(\\S+) \\|`).exec(page)?.[1]);
const rowOf = (label: string) => page.split('\n').find((line) => line.startsWith(`| ${label} |`));

function row(label: string, { bus, table }: Spent): string {
  const dollars =
    bus * price('an operation of Service Bus') + table * price('a transaction of Table storage');
  return `| ${label} | ${bus} | ${table} | ${dollars.toFixed(2)} |`;
}

it.each([
  ['a job that succeeds', 'plain'],
  ['with an `idempotencyKey`', 'key'],
  ['`unique`', 'unique'],
  ['at a limit of `concurrency` that has room', 'concurrency'],
  ['at a smooth `rate` that has room', 'smooth'],
  ['at a `rate` of 1,000 a minute, nearly used up', 'rate'],
  ['with 3 steps', 'steps'],
] as const)('the page tells the dollars of %s', async (label, kind) => {
  expect(rowOf(label)).toBe(row(label, await spentBy(kind)));
});

it.each([
  ['each retry', 'fails'],
  ['each time that it goes back because its limit is still full', 'concurrency'],
] as const)('the page tells the dollars of %s', async (label, kind) => {
  expect(rowOf(label)).toBe(row(label, await spentAgain(kind)));
});
