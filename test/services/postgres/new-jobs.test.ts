/** Jobs whose ids nobody had before are written without looking for copies. Nobody may see the difference. */

import pg from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Contract } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { frozenTimers } from '../../kit/clocks.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { message } from '../sqlite/messages.ts';
import { createSchemas } from './schemas.ts';

const schemas = await createSchemas();
const pool = new pg.Pool({ connectionString: schemas.url });
const look = { queues: ['default'], max: 10, leaseMs: 30_000, waitMs: 0 };
let schema: string;

beforeEach(async () => {
  schema = await schemas.take();
});
afterAll(async () => {
  await pool.end();
  await schemas.drop();
});

const fresh = (id: string, parts: Partial<Contract.OutgoingMessage> = {}) =>
  message({ id, hints: { isNew: true }, ...parts });

/** With a queue that is known: the first job of a queue is written together with its name. */
async function open(options: object = {}) {
  const backend = postgres({ pool, schema, ...options });
  await backend.enqueue([message({ id: 'first', priority: 0 })]);
  return backend;
}

describe('a job that is new', () => {
  const kinds = { priority: 7, tenantId: 'tenant', body: '{"text":"\\"ü\\""}' };
  const rows = async () => {
    const sql = `
      SELECT to_jsonb(j) - '{seq,turn}'::text[] AS job, to_jsonb(r) - 'seq' AS ready, to_jsonb(d) - 'seq' AS put_off,
        j.seq = j.turn AND j.seq = coalesce(r.seq, d.seq) AS same
      FROM ${schema}.jobs j LEFT JOIN ${schema}.ready r ON r.id = j.id LEFT JOIN ${schema}.delayed d ON d.id = j.id
      WHERE j.id <> 'first' ORDER BY j.seq`;
    const found = (await pool.query(sql)).rows;
    await pool.query(`TRUNCATE ${schema}.jobs, ${schema}.ready, ${schema}.delayed`);
    return found;
  };

  it.each([
    ['alone', [kinds]],
    ['alone and delayed', [{ ...kinds, notBefore: 5_000_000_000_000 }]],
    ['among others', [kinds, {}]],
    ['among others like it', [kinds, { ...kinds, body: '[]' }, kinds]],
    ['among others of another tenant', [kinds, { ...kinds, tenantId: null }]],
    ['among delayed ones', [kinds, { notBefore: 5_000_000_000_000 }, {}]],
  ])('%s: is stored as one that may be a copy', async (_name, jobs) => {
    const backend = await open({ clock: createVirtualClock() });
    const written: unknown[] = [];
    for (const isNew of [true, false]) {
      const sent = await backend.enqueue(
        jobs.map((job, i) => fresh(`job-${i}`, { ...job, hints: { isNew } })),
      );
      expect(sent).toEqual(jobs.map((_, i) => ({ ok: true, id: `job-${i}`, duplicate: false })));
      written.push(await rows());
    }
    expect(written[0]).toHaveLength(jobs.length);
    expect(written[0]).toMatchObject(jobs.map(() => ({ same: true })));
    expect(written[0]).toEqual(written[1]);
    await backend.close();
  });

  it('among others like it: may be the first of its queue', async () => {
    const backend = await open();
    await backend.enqueue([fresh('a', { queue: 'unknown' }), fresh('b', { queue: 'unknown' })]);
    expect(await backend.admin!.stats('unknown')).toMatchObject([{ queue: 'unknown', ready: 2 }]);
    await backend.close();
  });

  it('wakes an idle worker of another process, also when it comes alone', async () => {
    // Without timers it does not look by itself: only a notification can end its wait.
    const worker = postgres({ url: schemas.url, schema, clock: frozenTimers });
    const backend = await open();
    expect(await worker.fetch(look)).toHaveLength(1);
    const waiting = worker.fetch({ ...look, waitMs: 3_600_000 });
    await backend.enqueue([fresh('alone')]);
    expect(await waiting).toHaveLength(1);
    await worker.close();
    await backend.close();
  });
});

describe('an idle worker', () => {
  it('asks nothing for jobs of other queues, and is sent nothing that is meant for other processes', async () => {
    const statements: string[] = [];
    const heard: pg.Notification[] = [];
    const mine = new pg.Pool({ connectionString: schemas.url });
    mine.on('connect', (client) => {
      const query = client.query.bind(client) as (...given: unknown[]) => unknown;
      client.query = ((given: string | { text: string }, ...rest: unknown[]) => {
        statements.push(typeof given === 'string' ? given : given.text);
        return query(given, ...rest);
      }) as typeof client.query;
      client.on('notification', (one) => heard.push(one));
    });
    const idle = postgres({ pool: mine, schema, clock: frozenTimers });
    const waiting = idle.fetch({ ...look, waitMs: 3_600_000 });
    const others = Array.from({ length: 3 }, () =>
      postgres({ url: schemas.url, schema, clock: frozenTimers }),
    );
    const theirs = others.map((other) =>
      other.fetch({ ...look, queues: ['other'], max: 1, waitMs: 3_600_000 }),
    );
    // Its own echo is the last that it is sent while it begins to listen.
    await until(() => heard.some(({ channel }) => channel.startsWith('longshore echo ')));
    const backend = await open();
    await waiting;
    expect(heard.filter(({ channel }) => channel.startsWith('longshore echo '))).toHaveLength(1);
    const before = statements.length;
    const next = idle.fetch({ ...look, waitMs: 3_600_000 });
    await until(() => statements.length === before + 1);
    for (const n of theirs.keys()) await backend.enqueue([fresh(`for-others-${n}`, { queue: 'other' })]);
    await Promise.all(theirs);
    await backend.enqueue([fresh('mine')]);
    expect(await next).toHaveLength(1);
    expect(statements.slice(before)).toHaveLength(2);
    for (const one of [idle, backend, ...others]) await one.close();
    await mine.end();
  });
});

describe('a job that was called new and is there', () => {
  it.each([
    ['alone', ['there'], [true]],
    ['among others', ['a', 'there', 'b'], [false, true, false]],
    ['twice in one call', ['a', 'a'], [false, true]],
  ])('%s: is a copy, and its neighbours are stored', async (_name, ids, duplicates) => {
    const backend = await open();
    await backend.enqueue([message({ id: 'there', body: '"there"' })]);
    const sent = await backend.enqueue(ids.map((id) => fresh(id, { body: JSON.stringify(id) })));
    expect(sent).toEqual(ids.map((id, i) => ({ ok: true, id, duplicate: duplicates[i] })));
    const bodies = (await backend.fetch(look)).map(({ body }) => body);
    expect(bodies.sort()).toEqual([...new Set(['{}', '"there"', ...ids.map((id) => `"${id}"`)])].sort());
    await backend.close();
  });
});
