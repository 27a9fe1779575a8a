/** Measures one tree of Longshore through its public verbs: signature, schema check and fencing are on. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod/mini';
import type * as Longshore from '../../../core/index.ts';
import { median } from '../kit/bench.ts';

export interface Order {
  /** The folder whose package is measured. */
  readonly tree: string;
  readonly backend: string;
  readonly url: string;
  readonly schema: string;
}

/** Microseconds per job, of time that has passed or of CPU. */
export type Measured = Readonly<Record<string, number>>;

process.once('disconnect', () => process.exit(1)); // never outlive the parent
const [order] = (await once(process, 'message')) as [Order];
const { exports } = JSON.parse(readFileSync(join(order.tree, 'package.json'), 'utf8')) as {
  exports: Record<string, string>;
};
const load = (name: string) => import(join(order.tree, exports[name]!));
const { createApp, connect, defineJob, keyRing, startWorker } = (await load('.')) as typeof Longshore;

const text = 'x'.repeat(160);
const signing = keyRing([{ kid: 'bench', secret: new Uint8Array(32).fill(7) }]);
const now = (): number => Number(process.hrtime.bigint()) / 1e3;
const jobs = 10_000;
let seen: (payload: { at: number }) => void = () => {};

async function open(suffix: string): Promise<Longshore.QueueBackend> {
  const { url, schema, backend } = order;
  const retention = { completedMs: 0 };
  const make = (await load(`./local/${backend}`))[backend];
  if (backend === 'memory') return make({ retention });
  if (backend === 'sqlite') return make({ path: `${url}${suffix}`, retention });
  if (backend === 'redis') return make({ url, prefix: `${schema}${suffix}-`, retention });
  if (backend === 'beanstalkd') {
    const { memoryStore } = await load('./local/memory');
    return make({ url, prefix: `${schema}${suffix}-`, store: memoryStore({ retention }) });
  }
  const opened = make({ url, schema: `${schema}${suffix}`, retention });
  await opened.migrate();
  return opened;
}

async function measure(suffix: string): Promise<Measured> {
  const backend = await open(suffix);
  const job = defineJob({
    name: 'bench.noop',
    queue: 'bench',
    payload: z.object({ n: z.number(), at: z.number(), text: z.string() }),
    handle: (payload) => seen(payload),
  });
  const app = createApp({ jobs: [job], signing });
  const client = connect(app, backend);
  const measured: Record<string, number> = {};

  async function timed(name: string, count: number, work: () => Promise<unknown>): Promise<void> {
    globalThis.gc?.();
    const cpu = process.cpuUsage();
    const startedAt = now();
    await work();
    measured[name] = (now() - startedAt) / count;
    const { user, system } = process.cpuUsage(cpu);
    measured[`${name}, CPU`] = (user + system) / count;
  }

  const many = (count: number) =>
    client.enqueueMany(
      job,
      Array.from({ length: count }, (_, n) => ({ n, at: 0, text })),
    );
  await timed('enqueue, 10 in flight', jobs / 5, async () => {
    let n = 0;
    const sender = async () => {
      while (n < jobs / 5) await client.enqueue(job, { n: n++, at: 0, text });
    };
    await Promise.all(Array.from({ length: 10 }, sender));
  });
  await timed('enqueue in chunks of 1000', (jobs * 4) / 5, async () => {
    for (let sent = 0; sent < (jobs * 4) / 5; sent += 1_000) await many(1_000);
  });
  await timed(
    'drain, 10 slots',
    jobs,
    () => startWorker(app, { backend, concurrency: 10, maxJobs: jobs }).done,
  );
  await many(1_000);
  for (let sent = 1_000; sent < jobs; sent += 1_000) await many(1_000);
  await timed(
    'drain, 50 slots',
    jobs,
    () => startWorker(app, { backend, concurrency: 50, maxJobs: jobs }).done,
  );
  measured['latency, idle'] = await latency(backend, app, (at) => client.enqueue(job, { n: 0, at, text }));
  await backend.close();
  return measured;
}

/** The median from the call of `enqueue` to the first line of the handler, 200 times. */
async function latency(
  backend: Longshore.QueueBackend,
  app: Longshore.App,
  send: (at: number) => Promise<unknown>,
): Promise<number> {
  const latencies: number[] = [];
  const worker = startWorker(app, { backend });
  for (let n = 0; n < 200; n++) {
    await delay(5 + ((n * 7) % 11));
    const arrived = new Promise<void>((resolve) => {
      seen = ({ at }) => {
        latencies.push(now() - at);
        resolve();
      };
    });
    await send(now());
    await arrived;
  }
  await worker.stop();
  return median(latencies.slice(50));
}

await measure('_warm'); // compiles what is measured afterwards
const result = await measure('');
process.send!(result, () => process.exit(0));
