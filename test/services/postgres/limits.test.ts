/** Limits in Postgres: in large calls, and in databases of other habits. */

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../core/base/clock.ts';
import type { Contract } from '../../../core/index.ts';
import { postgres, postgresStore } from '../../../local/backends/postgres/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { message } from '../sqlite/messages.ts';
import { type Database, freshDatabase } from './schemas.ts';

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const ask = (holder: string, change: Partial<Contract.SlotRequest> = {}): Contract.SlotRequest => ({
  ...{ key: 'job:send', limit: 1, holder, owner: 'o', holdMs: 3_600_000, rank: 0, queue: 'mail' },
  ...change,
});

describe('limits in Postgres', () => {
  it.each(['serializable', 'repeatable read'])(
    'are kept where transactions are %s by default',
    async (level) => {
      const option = encodeURIComponent(`-c default_transaction_isolation=${level.replace(' ', '\\ ')}`);
      const url = `${database.url}?options=${option}`;
      const stores = Array.from({ length: 3 }, () => postgresStore({ url, schema: level.replace(' ', '_') }));
      await stores[0]!.migrate();
      const name = (n: number) => [`a${n % 3}`, `b${n % 5}`];
      const requests = Array.from({ length: 60 }, (_, n) =>
        name(n).map((key) => ask(`job ${n}`, { key, limit: 4, rank: n })),
      );
      const answers = await Promise.all(requests.map((some, n) => stores[n % 3]!.limits!.take(some)));
      for (const state of await stores[0]!.limits!.list({}))
        expect(state).toMatchObject({ used: 4, limit: 4, waiting: state.key < 'b' ? 16 : 8 });
      expect(answers.flat().filter(({ taken }) => taken)).toHaveLength(8 * 4);
      const slots = requests.flat().filter((_, n) => answers.flat()[n]!.taken);
      expect(await stores[1]!.limits!.extend(slots, 1_000)).toEqual(slots.map(() => true));
      const woken = await Promise.all(slots.map((slot, n) => stores[n % 3]!.limits!.free([slot])));
      const names = woken.flat().map(({ key, holder }) => `${key} ${holder}`);
      expect(new Set(names).size).toBe(8 * 4);
      for (const store of stores) await store.close();
    },
  );

  it('take, extend and free more than the server has room for locks, in one call', async () => {
    const { limits, close } = postgresStore({ url: database.url, clock: createVirtualClock() });
    const many = Array.from({ length: 20_000 }, (_, n) => ask('one', { key: `key ${n}` }));
    expect((await limits!.take(many)).every(({ taken }) => taken)).toBe(true);
    expect((await limits!.extend(many, 1_000)).every((extended) => extended)).toBe(true);
    const twice = [many[0]!, ask('two', { key: 'key 0' }), many[0]!, ask('two', { key: 'key 0' })];
    expect((await limits!.take(twice)).map(({ taken }) => taken)).toEqual([true, false, true, false]);
    expect(await limits!.free(many)).toEqual([{ key: 'key 0', holder: 'two', queue: 'mail' }]);
    expect(await limits!.list({})).toEqual([]);
    await close();
  });

  it('send the jobs of one turn back in one statement, and refuse leases that have ended', async () => {
    const pool = new pg.Pool({ connectionString: database.url });
    const statements: string[] = [];
    pool.on('connect', (connection) => {
      const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
      const counted = (...args: unknown[]) => {
        const [statement] = args as [string | { text: string }];
        statements.push(typeof statement === 'string' ? statement : statement.text);
        return query(...args);
      };
      Object.assign(connection, { query: counted });
    });
    const backend = postgres({ pool, schema: 'together', listen: false, migrate: true });
    await backend.enqueue(Array.from({ length: 30 }, (_, n) => message({ id: `job ${n}`, body: `${n}` })));
    const fetch = () => backend.fetch({ queues: ['default'], max: 30, leaseMs: 60_000, waitMs: 0 });
    const leases = await fetch();
    expect(leases).toHaveLength(30);
    const [stale] = leases;
    expect(await backend.nack(stale!, { delayMs: 0, countAttempt: true })).toBe(true);
    statements.length = 0;
    const how = (n: number) => ({ delayMs: n % 2 === 0 ? 0 : 60_000, countAttempt: n % 3 === 0 });
    const settled = await Promise.all(leases.map((lease, n) => backend.nack(lease, how(n))));
    expect(settled).toEqual(leases.map((lease) => lease !== stale));
    expect(statements.filter((text) => text.includes('nack('))).toHaveLength(1);
    const again = await fetch();
    expect(again).toHaveLength(15);
    const attempts = new Map(again.map(({ body, attempt }) => [body, attempt]));
    for (const [n, { body }] of leases.entries())
      if (n % 2 === 0) expect(attempts.get(body), body).toBe(n % 3 === 0 ? 2 : 1);
    expect(await backend.ack(again.map((lease) => ({ lease })))).toEqual(again.map(() => true));
    expect((await pool.query('SELECT FROM together.leases')).rows).toHaveLength(1); // with the lease that had ended
    await backend.close();
    await pool.end();
  });

  it('tell keys apart that Postgres cannot store, and give them back as they were', async () => {
    const { limits, close } = postgresStore({ url: database.url, clock: createVirtualClock() });
    const keys = ['a\ud800', 'a\ud801', 'a\u0000', 'a\\0;', 'a\\'];
    await limits!.take(keys.map((key) => ask('job \ud800', { key })));
    await limits!.take(keys.map((key) => ask('job \u0000', { key })));
    expect(new Set((await limits!.list({ prefix: 'a' })).map(({ key }) => key))).toEqual(new Set(keys));
    expect(new Set((await limits!.waitsFor(['job \u0000']))[0])).toEqual(new Set(keys));
    const { slots } = (await limits!.list({ prefix: 'a\ud801' }))[0]!;
    expect(slots.map(({ holder }) => holder)).toEqual(['job \ud800']);
    const freed = await limits!.free(keys.map((key) => ({ key, holder: 'job \ud800', owner: 'o' })));
    expect(new Set(freed.map(({ key, holder }) => key + holder))).toEqual(
      new Set(keys.map((key) => `${key}job \u0000`)),
    );
    await close();
  });

  it('go by the clock of the database, whatever the clocks of the hosts say', async () => {
    const stores = [postgresStore(database.url), postgresStore(database.url)];
    const [first, second] = stores.map(({ limits }) => limits!);
    await first!.hold('held', 3_600_000);
    await first!.take([ask('clock', { key: 'clock' })]);
    const wrong = vi.spyOn(systemClock, 'now').mockReturnValue(1);
    expect(await second!.take([ask('other', { key: 'clock' })])).toMatchObject([{ taken: false }]);
    expect(await second!.take([ask('other', { key: 'held' })])).toMatchObject([{ taken: false }]);
    // In the time of this host.
    const [state] = await second!.list({ prefix: 'clock' });
    expect(state!.slots[0]!.until).toBeLessThanOrEqual(3_600_001);
    wrong.mockRestore();
    await first!.reset('clock');
    await first!.reset('held');
    for (const store of stores) await store.close();
  });
});
