/** What Postgres keeps of groups, and how those who change them at the same time get along. */

import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobLease, QueueBackend } from '../../../core/contract/queue.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { groupsAtOnce } from '../sqlite/groups-at-once.ts';
import { message } from '../sqlite/messages.ts';
import { createSchemas } from './schemas.ts';

const schemas = await createSchemas();
const client = new pg.Client(schemas.url);
await client.connect();
afterAll(async () => {
  await client.end();
  await schemas.drop();
});

let schema: string;
let openings: QueueBackend[];
let backend: QueueBackend;
beforeEach(async () => {
  schema = await schemas.take();
  openings = Array.from({ length: 3 }, () => postgres({ url: schemas.url, schema }));
  backend = openings[0]!;
});
afterEach(async () => {
  for (const opening of openings) await opening.close();
  schemas.release(schema);
});

const queue = 'default';
const ordered = { group: 'a', order: 'wait' } as const;
const fetch = (max: number, from = backend) =>
  from.fetch({ queues: [queue], max, leaseMs: 60_000, waitMs: 0 });
const bodiesOf = (leases: readonly JobLease[]) => leases.map(({ body }) => body);
const count = async (table: string) =>
  Number((await client.query(`SELECT count(*) FROM "${schema}".${table}`)).rows[0].count);

describe('groups in Postgres', () => {
  it('keep nothing of jobs without a group, and nothing of jobs that are done', async () => {
    await backend.enqueue([message({ id: 'plain' }), message({ id: 'one', group: 'a' })]);
    expect(await count('grouped')).toBe(1);
    await backend.ack((await fetch(2)).map((lease) => ({ lease })));
    expect(await count('grouped')).toBe(0);
  });

  it('wait for nobody while a transaction that enqueues into them is open, and see it when it commits', async () => {
    await backend.enqueue([message({ id: 'before', body: 'before', ...ordered })]);
    await client.query('BEGIN');
    await backend.enqueueIn!(client, [message({ id: 'inside', body: 'inside', ...ordered })]);
    const [first] = await fetch(5);
    expect(first!.body).toBe('before');
    await backend.enqueue([message({ id: 'beside', body: 'beside', ...ordered })]);
    expect(await backend.ack([{ lease: first! }])).toEqual([true]);
    expect(bodiesOf(await fetch(5))).toEqual(['beside']);
    await client.query('COMMIT');
    const [beside] = (await backend.stores!.records.page({ status: 'processing' })).records;
    expect(beside!.id).toBe('beside');
    expect(await fetch(5)).toEqual([]);
    expect(await count('grouped')).toBe(2);
  });

  it('forget what a transaction that is rolled back has enqueued', async () => {
    await client.query('BEGIN');
    await backend.enqueueIn!(client, [message({ id: 'inside', ...ordered })]);
    await client.query('ROLLBACK');
    expect(await fetch(5)).toEqual([]);
    expect(await count('grouped')).toBe(0);
  });

  it.each([
    ['whose head was deleted', 0],
    ['whose running job was deleted', 1],
  ])('that are left without a head, %s, get one when the queue is reaped', async (_, running) => {
    await backend.enqueue([
      message({ id: 'first', ...ordered }),
      message({ id: 'next', body: 'next', ...ordered }),
    ]);
    await fetch(running);
    await client.query(
      `DELETE FROM "${schema}".ready; DELETE FROM "${schema}".leases; DELETE FROM "${schema}".jobs WHERE id = 'first'`,
    );
    expect(await fetch(5)).toEqual([]);
    await backend.reapExpired(queue);
    expect(bodiesOf(await fetch(5))).toEqual(['next']);
  });

  it('are run one at a time and never stuck while all change them at once', async () => {
    await groupsAtOnce(openings);
    expect(await count('grouped')).toBe(0);
    expect(await count('jobs')).toBe(0);
  }, 60_000);
});
