import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { message } from '../sqlite/messages.ts';
import type { Hold } from './claimer.ts';
import { startCluster } from './cluster.ts';
import { type Database, freshDatabase } from './schemas.ts';

const jobs = 20_000;
const releaseEvery = 100;
/** Sixteen processes: as many as eight of each of two workers. */
const batches = [1, 2, 3, 5, 7, 10, 20, 50].flatMap((batch) => [batch, batch]);

const databases: Database[] = [];
afterAll(async () => {
  for (const database of databases) await database.drop();
});

async function newUrl(): Promise<string> {
  const database = await freshDatabase();
  databases.push(database);
  return database.url;
}

interface Process {
  readonly ready: Promise<void>;
  begin(): void;
  /** What it printed; rejects with what it complained about. */
  readonly answer: Promise<unknown>;
}

function start(url: string, ...args: (string | number)[]): Process {
  const script = join(import.meta.dirname, 'claimer.ts');
  const child = spawn(process.execPath, [script, url, ...args.map(String)]);
  const ended = once(child, 'exit');
  const complaints = text(child.stderr);
  const answer = text(child.stdout).then(async (printed) => {
    const [code] = await ended;
    if (code !== 0) throw new Error(`The process ended with code ${code}:\n${await complaints}`);
    return JSON.parse(printed) as unknown;
  });
  const ready = Promise.race([once(child.stderr, 'data'), answer]).then(() => {});
  return { ready, begin: () => void child.stdin.write('begin\n'), answer };
}

describe('several processes on one database', () => {
  it(`give each of ${jobs} jobs to one of ${batches.length} at a time`, { timeout: 120_000 }, async () => {
    const url = await newUrl();
    const backend = postgres(url);
    for (let n = 0; n < jobs; n += 5_000) {
      const some = Array.from({ length: 5_000 }, (_, i) => message({ id: `m${n + i}`, body: String(n + i) }));
      const results = await backend.enqueue(some);
      expect(results.every(({ ok }) => ok)).toBe(true);
    }
    const takers = batches.map((batch) => start(url, 'take', batch, releaseEvery));
    await Promise.all(takers.map(({ ready }) => ready));
    for (const taker of takers) taker.begin();
    const taken = (await Promise.all(takers.map(({ answer }) => answer))) as Hold[][];

    expect(taken.filter((holds) => holds.length === 0)).toEqual([]);
    expect(taken.flat().filter(({ settled }) => !settled)).toEqual([]);
    const byJob = Map.groupBy(taken.flat(), ({ n }) => n);
    expect(byJob.size).toBe(jobs);
    const wrong: Hold[][] = [];
    for (const [n, holds] of byJob) {
      holds.sort((a, b) => a.attempt - b.attempt);
      const times = n % releaseEvery === 0 ? 2 : 1;
      const numbered = holds.every(({ attempt }, i) => attempt === i + 1);
      const apart = holds.every(({ fromUs }, i) => i === 0 || fromUs > holds[i - 1]!.toUs);
      if (holds.length !== times || !numbered || !apart) wrong.push(holds);
    }
    expect(wrong).toEqual([]);
    expect(await backend.admin!.stats('default')).toMatchObject([
      { ready: 0, delayed: 0, leased: 0, dead: 0 },
    ]);
    await backend.close();
  });

  it('migrate an empty one once, though they begin together', { timeout: 120_000 }, async () => {
    const url = await newUrl();
    const answers = (await Promise.all(Array.from({ length: 6 }, () => start(url, 'migrate').answer))) as {
      from: number | null;
      to: number;
    }[];
    const [first, ...others] = answers.sort((a, b) => (a.from ?? 0) - (b.from ?? 0));
    expect(first!.from).toBe(null);
    for (const { from, to } of others) expect([from, to]).toEqual([first!.to, first!.to]);
  });

  it('hear of a message of another one', async () => {
    const url = await newUrl();
    // Without timers nobody looks by himself: only a notification can end the wait.
    const backend = postgres({ url, clock: { now: Date.now, after: () => () => {} } });
    const waiting = backend.fetch({ queues: ['default'], max: 1, leaseMs: 1_000, waitMs: 3_600_000 });
    await start(url, 'put', 'm').answer;
    expect(await waiting).toHaveLength(1);
    await backend.close();
  });
});

describe('a server that crashes', () => {
  it('has kept all that it confirmed, leases included', { timeout: 120_000 }, async () => {
    const cluster = await startCluster();
    try {
      const backend = postgres(cluster.url);
      await backend.enqueue(['a', 'b', 'c'].map((id) => message({ id, body: id })));
      const request = { queues: ['default'], leaseMs: 3_600_000, waitMs: 0 };
      const [done, held] = await backend.fetch({ ...request, max: 2 });
      expect(await backend.ack([{ lease: done! }])).toEqual([true]);
      await cluster.restart('immediate');
      expect(await backend.admin!.stats('default')).toMatchObject([{ ready: 1, leased: 1 }]);
      expect(await backend.ack([{ lease: done! }, { lease: held! }])).toEqual([false, true]);
      expect((await backend.fetch({ ...request, max: 9 })).map(({ body }) => body)).toEqual(['c']);
      await backend.close();
    } finally {
      await cluster.remove();
    }
  });
});
