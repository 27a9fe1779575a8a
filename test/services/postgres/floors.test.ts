/** Floors of fetches in random interleavings of transactions that enqueue. Time is a number that the test passes to the database. */

import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSchemas, type Schemas } from './schemas.ts';

let schemas: Schemas;
let schema: string;
let clients: pg.Client[];
const senders = 3;
/** A transaction that is open for longer may commit below a floor. */
const promptMs = 250;

beforeAll(async () => {
  schemas = await createSchemas();
  schema = await schemas.take();
  clients = Array.from({ length: senders + 1 }, () => new pg.Client(schemas.url));
  for (const client of clients) await client.connect();
});

afterAll(async () => {
  for (const client of clients) await client.end();
  await schemas.drop();
});

type Step =
  | { readonly does: 'send'; readonly sender: number; readonly queue: string; readonly priority: number }
  | { readonly does: 'commit'; readonly sender: number }
  | { readonly does: 'pass'; readonly ms: number }
  | { readonly does: 'fetch'; readonly most: number };

const sender = fc.nat({ max: senders - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    does: fc.constant('send' as const),
    sender,
    queue: fc.constantFrom('a', 'b'),
    priority: fc.nat({ max: 9 }),
  }),
  fc.record({ does: fc.constant('commit' as const), sender }),
  fc.record({ does: fc.constant('pass' as const), ms: fc.constantFrom(1, 100, 200, 2_000) }),
  fc.record({
    does: fc.constant('fetch' as const),
    most: fc.integer({ min: 1, max: 4 }),
  }),
);

interface Sent {
  readonly rank: number;
  readonly at: number;
  committedAt: number | null;
}

/** @param ageing how much later a job is ranked per priority, ms */
async function run(steps: readonly Step[], ageing: number, queues: readonly string[]): Promise<void> {
  const fetcher = clients.at(-1)!;
  await fetcher.query(`DELETE FROM ${schema}.ready`);
  const jobs = new Map<string, Sent>();
  const open = new Map<number, Sent[]>();
  let now = 1_000_000_000_000;
  let floor: string | null = null;

  async function commit(n: number): Promise<void> {
    if (!open.has(n)) return;
    await clients[n]!.query('COMMIT');
    for (const job of open.get(n)!) job.committedAt = now;
    open.delete(n);
  }

  async function fetch(most: number, used: string | null): Promise<void> {
    const { rows } = await fetcher.query(
      `WITH taken AS MATERIALIZED (SELECT * FROM ${schema}.front($1, $2, $3, $4, $5)),
       gone AS (DELETE FROM ${schema}.ready WHERE ctid = ANY ((SELECT spots FROM taken)::tid[]) RETURNING id)
       SELECT ids, ${schema}.next_floor($3, cardinality($1::text[]), $5, cardinality(ids), $2, last)::text AS floor, (SELECT count(*)::int FROM gone)
       FROM taken`,
      [queues, most, now, ageing, used],
    );
    const [{ ids, floor: next, count }] = rows as [{ ids: string[]; floor: string; count: number }];
    floor = next;
    expect(count).toBe(ids.length);
    const ranks = ids.map((id) => jobs.get(id)!.rank);
    for (const id of ids) expect(jobs.delete(id)).toBe(true);
    for (const { rank, at, committedAt } of jobs.values()) {
      if (committedAt === null || (used !== null && committedAt - at > promptMs)) continue;
      expect(ids).toHaveLength(most);
      expect(rank).toBeGreaterThanOrEqual(Math.max(...ranks));
    }
  }

  try {
    for (const [n, one] of steps.entries()) {
      if (one.does === 'pass') now += one.ms;
      else if (one.does === 'commit') await commit(one.sender);
      else if (one.does === 'fetch') await fetch(one.most, floor);
      else if (queues.includes(one.queue)) {
        if (!open.has(one.sender)) await clients[one.sender]!.query('BEGIN');
        const job: Sent = { rank: now + one.priority * ageing, at: now, committedAt: null };
        jobs.set(`${n}`, job);
        open.set(one.sender, [...(open.get(one.sender) ?? []), job]);
        await clients[one.sender]!.query(
          `INSERT INTO ${schema}.ready (queue, rank, seq, ready_at, id) VALUES ($1, $2, $3, $4, $5)`,
          [one.queue, job.rank, n, now, `${n}`],
        );
      }
    }
  } finally {
    for (let n = 0; n < senders; n++) await commit(n);
  }
  await fetch(1_000, null); // a whole scan finds what came late
  expect(jobs.size).toBe(0);
}

it.each([
  ['an hour per priority, one queue', 3_600_000, ['a']],
  ['an hour per priority, two queues', 3_600_000, ['a', 'b']],
  ['2 s per priority', 2_000, ['a', 'b']],
  ['no priorities', 0, ['a']],
])(
  'A floor hides no job that commits in time: %s',
  async (_, ageing, queues) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), (steps) =>
        run(steps, ageing, queues),
      ),
      { numRuns: 60, seed: 7 },
    );
  },
  60_000,
);
