/**
 * What a job without limits pays for those of others: the same job in a plain app and in one that declares limits elsewhere, in one
 * process and in turns. CPU time is compared, because the machine may be shared; a second plain app shows how much of a ratio is noise.
 */

import { join } from 'node:path';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { keyRing } from '../../../core/envelope/signing.ts';
import { createApp } from '../../../core/features/table.ts';
import type { App, AppOptions } from '../../../core/kernel/app/app.ts';
import { defineJob } from '../../../core/kernel/app/job.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { connect } from '../../../core/routing/connect.ts';
import { startWorker } from '../../../core/routing/worker.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { enqueueAll, schema as payload } from './app.ts';
import { type Bench, type Pair, type Row, ratioRow } from './bench.ts';

const jobsPerTurn = 200;
const turns = 48;
const warmUpTurns = 8;
const mostRatio = 1.02;

type Way = 'attempt()' | 'worker';
interface Input {
  readonly kind: 'memory' | 'sqlite';
  readonly way: Way;
  readonly folder: string;
  /** Who is set up first: that one stays some percent slower, whoever it is. */
  readonly first: number;
}

const names = ['plain', 'beside', 'again'] as const;
type Name = (typeof names)[number];

function contender(backend: QueueBackend, name: Name, way: Way): () => Promise<number> {
  const queue = `turn-${name}`;
  const job = defineJob({ name: 'bench.noop', queue, payload, handle: async () => {} });
  const limited = defineJob({
    name: 'bench.limited',
    queue: 'elsewhere',
    payload,
    concurrency: { limit: 1, key: ({ n }) => `${n}` },
    rate: { limit: 10, perMs: 1_000 },
    handle: async () => {},
  });
  const beside: Partial<AppOptions> = { queues: { elsewhere: { concurrency: { limit: 5 } } } };
  const app = createApp({
    signing: keyRing([{ kid: 'bench', secret: new Uint8Array(32).fill(7) }]),
    ...(name === 'beside' ? { ...beside, jobs: [job, limited] } : { jobs: [job] }),
  });
  const client = connect(app, backend);
  return async () => {
    await enqueueAll(client, job, jobsPerTurn);
    return way === 'worker' ? drain(app, backend, queue) : attempts(app, backend, queue);
  };
}

/** µs of CPU time per job. */
async function attempts(app: App, backend: QueueBackend, queue: string): Promise<number> {
  const client = connect(app, backend);
  const leases = await backend.fetch({ queues: [queue], max: jobsPerTurn, leaseMs: 60_000, waitMs: 0 });
  const ports = { client, settler: backend };
  return cpuPerJob(async () => {
    for (const lease of leases) await attempt(app, ports, createRun(lease));
  });
}

const drain = (app: App, backend: QueueBackend, queue: string): Promise<number> =>
  cpuPerJob(async () => {
    await startWorker(app, { backend, queues: [queue], concurrency: 20, maxJobs: jobsPerTurn }).done;
  });

async function cpuPerJob(work: () => Promise<void>): Promise<number> {
  globalThis.gc?.();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / jobsPerTurn;
}

/** Runs in a process of its own. Resolves with what each took, by turn. */
export async function unlimitedTurns({ kind, way, folder, first }: Input): Promise<Record<Name, number>[]> {
  const retention = { completedMs: 0 }; // a heap that grows would be what is measured
  const backend =
    kind === 'memory' ? memory({ retention }) : sqlite({ path: join(folder, 'queue.db'), retention });
  const order = [...names.slice(first), ...names.slice(0, first)];
  const all = order.map((name) => ({ name, turn: contender(backend, name, way) }));
  const measured: Record<Name, number>[] = [];
  for (let n = -warmUpTurns; n < turns; n++) {
    const took: Partial<Record<Name, number>> = {};
    for (const { name, turn } of n % 2 === 0 ? all : all.toReversed()) took[name] = await turn();
    if (n >= 0) measured.push(took as Record<Name, number>);
  }
  await backend.close();
  return measured;
}

export async function unlimited(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of ['memory', 'sqlite'] as const)
    for (const way of ['attempt()', 'worker'] as const) {
      const took: Record<Name, number>[] = [];
      for (let round = 0; round < bench.rounds; round++) {
        const input: Input = { kind, way, folder: bench.folder(), first: round % names.length };
        took.push(...(await bench.run<typeof took>('unlimitedTurns', input)));
      }
      const beside: Pair[] = took.map((one) => ({ ours: one.beside, theirs: (one.plain + one.again) / 2 }));
      const again: Pair[] = took.map((one) => ({ ours: one.again, theirs: one.plain }));
      const title = `${way} on ${kind}, limits on other jobs`;
      rows.push(
        ratioRow(title, 'µs CPU/job', beside, { most: mostRatio }, 'plain apps'),
        ratioRow(`${way} on ${kind}, plain app again`, 'µs CPU/job', again, null, 'plain app'),
      );
    }
  return rows;
}
