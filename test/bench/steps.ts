/**
 * `node test/bench/steps.ts memory|sqlite|postgres|redis|dynamo|table`: what a step takes that does nothing, among the first 100 of a job, the
 * next to 1,000 and the next to 10,000, and the bytes that it writes: docs/decisions/steps-are-pieces.md. The first 100 are those of many jobs, so
 * that they pay for checkpoints of the database too.
 * DynamoDB and Table storage are emulators in other processes or this one: only the ratios say something.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../core/base/clock.ts';
import type { StepStore } from '../../core/contract/derived/steps.ts';
import { keyRing } from '../../core/envelope/signing.ts';
import { StepLog } from '../../core/features/steps/log.ts';
import { sealedSteps } from '../../core/features/steps/seal.ts';
import { median } from './kit/bench.ts';

type Use = (steps: StepStore) => Promise<void>;

const opens: Record<string, (use: Use) => Promise<void>> = {
  async memory(use) {
    const { memory } = await import('../../local/backends/memory/index.ts');
    await use(memory().stores!.steps!);
  },
  async sqlite(use) {
    const { sqlite } = await import('../../local/backends/sqlite/index.ts');
    const folder = mkdtempSync(join(tmpdir(), 'longshore-steps-'));
    const backend = sqlite({ path: join(folder, 'jobs.db') });
    await use(backend.stores!.steps!);
    await backend.close();
    rmSync(folder, { recursive: true });
  },
  async postgres(use) {
    const { postgres } = await import('../../local/backends/postgres/index.ts');
    const server = await (await import('./postgres/server.ts')).startServer();
    await server
      .at(async ({ url, schema }) => {
        const backend = postgres({ url, schema });
        await use(backend.stores!.steps!);
        await backend.close();
      })
      .finally(server.stop);
  },
  async redis(use) {
    const { redis } = await import('../../local/backends/redis/index.ts');
    const server = await (await import('./redis/server.ts')).startServer();
    await server
      .at(async ({ url }) => {
        const backend = redis(url);
        await use(backend.stores!.steps!);
        await backend.close();
      })
      .finally(server.stop);
  },
  async dynamo(use) {
    const { DynamoDBClient } = await import('@aws-sdk/client-dynamodb');
    const { createDynamoTable, dynamoStore } = await import('../../functions/aws/dynamo/index.ts');
    const { startDynamo } = await import('../kit/servers/dynamo-server.ts');
    const { endpoint, close } = await startDynamo();
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }; // the server takes any
    const client = new DynamoDBClient({ endpoint, region: 'eu-central-1', credentials });
    const where = { table: 'steps', client };
    await createDynamoTable(where);
    await use(dynamoStore(where).steps!);
    client.destroy();
    await close();
  },
  async table(use) {
    const { tableStore } = await import('../../functions/azure/table/index.ts');
    const { startAzurite } = await import('../kit/servers/azurite.ts');
    const server = await startAzurite();
    const store = tableStore({ table: 'steps', connectionString: server.connectionString });
    await store.migrate();
    await use(store.steps!);
    await server.close();
  },
};

const ring = keyRing([{ kid: 'k1', secret: new Uint8Array(32).fill(1) }]);
const marks = [100, 1_000, 10_000];
/** Jobs of 100 steps beside each job of 10,000. */
const shortJobs = 20;
const rounds = 3;

interface Figures {
  readonly us: number;
  readonly bytes: number;
  readonly calls: number;
}

async function measure(name: string, store: StepStore): Promise<void> {
  let bytes = 0;
  let calls = 0;
  const counted: StepStore = {
    ...store,
    write(name, text, ...rest) {
      bytes += Buffer.byteLength(text);
      calls++;
      return store.write(name, text, ...rest);
    },
    remove(...given) {
      calls++;
      return store.remove(...given);
    },
  };
  const sealed = sealedSteps(counted, { keyRing: () => ring, clock: systemClock });
  const found: Figures[][] = marks.map(() => []);
  const reads: number[] = [];
  let jobs = 0;
  const open = async () => {
    const who = { id: `j-${++jobs}`, owner: `owner ${jobs}`, attempt: 1, leaseUntil: Date.now() + 1e9 };
    return { who, log: (await StepLog.open(sealed, systemClock, who))! };
  };
  async function put(log: StepLog, from: number, to: number) {
    [bytes, calls] = [0, 0];
    const begin = performance.now();
    for (let n = from; n < to; n++) {
      const step = { name: `step-${n}`, at: Date.now() };
      await log.put(step.name, () => step);
    }
    const count = to - from;
    return { us: ((performance.now() - begin) * 1_000) / count, bytes: bytes / count, calls: calls / count };
  }
  const mean = (all: readonly Figures[], part: keyof Figures): number =>
    all.reduce((sum, one) => sum + one[part], 0) / all.length;
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const short: Figures[] = [];
    for (let job = 0; job < shortJobs; job++) short.push(await put((await open()).log, 0, marks[0]!));
    const { who, log } = await open();
    await put(log, 0, marks[0]!);
    for (const [i, mark] of marks.entries()) {
      const figures =
        i === 0
          ? { us: mean(short, 'us'), bytes: mean(short, 'bytes'), calls: mean(short, 'calls') }
          : await put(log, marks[i - 1]!, mark);
      if (round > 0) found[i]!.push(figures);
    }
    const n = marks.at(-1)!;
    const begin = performance.now();
    const next = await StepLog.open(sealed, systemClock, { ...who, owner: 'next', attempt: 2 });
    if (next?.steps.length !== n) throw new Error(`Expected ${n} steps, got ${next?.steps.length}.`);
    if (round > 0) reads.push(performance.now() - begin);
    await next.forget();
  }
  const first = median(found[0]!.map(({ us }) => us));
  for (const [i, mark] of marks.entries()) {
    const [us, wrote, made] = (['us', 'bytes', 'calls'] as const).map((part) =>
      median(found[i]!.map((one) => one[part])),
    ) as [number, number, number];
    console.log(
      `${name} to ${mark}: ${us.toFixed(0)} µs a step (${(us / first).toFixed(2)} of the first 100), ${wrote.toFixed(0)} bytes, ${made.toFixed(2)} writes and removals`,
    );
  }
  console.log(`${name}: the next attempt reads all in ${median(reads).toFixed(0)} ms`);
}

const [name = 'sqlite'] = process.argv.slice(2);
const open = opens[name];
if (!open) throw new Error(`Expected one of ${Object.keys(opens).join(', ')}, got ${name}.`);
await open((steps) => measure(name, steps));
