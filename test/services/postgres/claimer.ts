/**
 * One process of several on a database: `node claimer.ts <url> migrate`, `… put <id>` or
 * `… take <batch> <releaseEvery>`. Prints the answer of its work as JSON. A taker says `ready` on stderr, begins when it
 * is sent a line, and ends when nothing is left.
 */

import { once } from 'node:events';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { message } from '../sqlite/messages.ts';

/** One lease of job `n`, held from after it was given out until before it was settled, in µs of the machine's clock. */
export interface Hold {
  readonly n: number;
  readonly attempt: number;
  readonly fromUs: number;
  readonly toUs: number;
  /** What the settle verb answered. */
  readonly settled: boolean;
}

const nowUs = (): number => Number(process.hrtime.bigint() / 1000n);

/** Every job whose number `releaseEvery` divides is released once, so that it is held more than once. */
async function take(url: string, batch: number, releaseEvery: number): Promise<Hold[]> {
  const backend = postgres(url);
  const holds: Hold[] = [];
  // Longer than any run of the test: no lease may end by itself.
  const request = { queues: ['default'], max: batch, leaseMs: 3_600_000, waitMs: 0 };
  await backend.admin!.stats('default'); // connects
  process.stderr.write('ready\n');
  await once(process.stdin, 'data');
  for (;;) {
    const leases = await backend.fetch(request);
    const fromUs = nowUs();
    if (leases.length === 0) break;
    const held = leases.map((lease) => ({ lease, n: Number(lease.body), attempt: lease.attempt, fromUs }));
    const back = held.filter(({ n, attempt }) => attempt === 1 && n % releaseEvery === 0);
    const done = held.filter((hold) => !back.includes(hold));
    for (const { lease, ...hold } of back) {
      const toUs = nowUs();
      holds.push({ ...hold, toUs, settled: await backend.nack(lease, { delayMs: 0, countAttempt: true }) });
    }
    const toUs = nowUs();
    const answers = await backend.ack(done.map(({ lease }) => ({ lease })));
    done.forEach(({ lease: _, ...hold }, i) => {
      holds.push({ ...hold, toUs, settled: answers[i]! });
    });
  }
  await backend.close();
  return holds;
}

async function migrate(url: string) {
  const backend = postgres(url);
  try {
    return await backend.migrate!();
  } finally {
    await backend.close();
  }
}

async function put(url: string, id: string) {
  const backend = postgres(url);
  try {
    return await backend.enqueue([message({ id })]);
  } finally {
    await backend.close();
  }
}

const [url, verb, ...rest] = process.argv.slice(2);
const verbs: Record<string, () => Promise<unknown>> = {
  migrate: () => migrate(url!),
  put: () => put(url!, rest[0]!),
  take: () => take(url!, Number(rest[0]), Number(rest[1])),
};
process.stdout.write(JSON.stringify(await verbs[verb!]!()));
process.stdin.destroy();
