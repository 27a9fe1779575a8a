/** A worker under load while its server goes away and comes back, in all the ways that servers do. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { redis } from '../../../local/backends/redis/index.ts';
import { jobsOfLoad, keysOfLoad, type Load, startLoad } from '../postgres/load.ts';
import { type RedisServer, startRedis } from './server.ts';

/** Shorter than in life, so that a server which falls silent is given up while the test looks on. */
const silenceMs = 500;

let server: RedisServer;
beforeEach(async () => {
  server = await startRedis({ appendOnly: true, settings: { 'lua-time-limit': '50' } });
});
afterEach(() => server.remove());

const setting = (name: string, value: string) => server.command('CONFIG', 'SET', name, value);

/** A connection that ends between two calls is replaced before anybody has seen an error. */
const perhapsUnnoticed = 'ends all connections, again and again';

/** Each resolves when the server is there again. How long a worker waits before it looks is a matter of test/unit/worker. */
const disturbances: Record<string, (load: Load) => Promise<void>> = {
  async 'restarts in order'() {
    await server.stop();
    await delay(50); // some servers are back before any slot has ended its job
    await server.start();
  },
  async 'is away for three seconds'() {
    await server.stop();
    await delay(3_000); // the outage itself
    await server.start();
  },
  async [perhapsUnnoticed](load) {
    for (let i = 0; i < 5; i++) {
      await load.ended(60 * (i + 1));
      expect(await server.command('CLIENT', 'KILL', 'TYPE', 'normal')).toBeGreaterThan(0);
      await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    }
  },
  async 'is a replica for a while, as after a failover'() {
    await server.command('REPLICAOF', '127.0.0.1', '1');
    await delay(1_000); // the trouble itself
    await server.command('REPLICAOF', 'NO', 'ONE');
  },
  async 'is kept busy by a script of somebody else'() {
    const busy = server.command('EVAL', 'while true do end', '0').catch(() => {});
    await delay(1_000); // the trouble itself
    await server.command('SCRIPT', 'KILL');
    await busy;
  },
  async 'falls silent and keeps its connections'() {
    server.signal('SIGSTOP');
    await delay(3 * silenceMs); // the trouble itself
    server.signal('SIGCONT');
  },
};

/** None of these may even be noticed by the worker. */
const noises: Record<string, (load: Load) => Promise<void>> = {
  async 'forgets all scripts'() {
    await server.command('SCRIPT', 'FLUSH');
  },
  async 'is full, though what is new is refused'(load) {
    await setting('maxmemory', '100000');
    const backend = redis({ url: server.url });
    const refused = await backend.enqueue([
      { ...message, id: 'one too many', body: `{"text":"${'x'.repeat(10_000)}"}` },
    ]);
    expect(refused).toMatchObject([{ ok: false, error: { code: 'STORAGE_FULL' } }]);
    await backend.close();
    await load.endedMore(100); // what is claimed and settled meanwhile
    await setting('maxmemory', '0');
  },
};

const message = {
  queue: 'default',
  job: 'plain',
  priority: 5,
  notBefore: null,
  group: null,
  tenantId: null,
};

const cases = [
  ...Object.entries(disturbances).map(([name, disturb]) => ({ name, disturb, noticed: true })),
  ...Object.entries(noises).map(([name, disturb]) => ({ name, disturb, noticed: false })),
];

describe('a worker under load whose server', () => {
  it.each(cases)('$name goes on and loses nothing', async ({ name, disturb, noticed }) => {
    const backend = redis({ url: server.url, silenceMs });
    const load = await startLoad(backend);
    const producing = load.enqueue(100);
    await disturb(load);
    const failures = load.events.filter(({ type }) => type === 'backend.failed');
    await load.enqueue(1); // to be run afterwards, whatever has been run before
    await producing;
    const { doubled, interrupted, ...outcome } = await load.finish();

    expect(outcome).toEqual({
      statuses: { completed: jobsOfLoad + 101 },
      deadLetters: 0,
      overlaps: 0,
      ackedPerKey: { 1: keysOfLoad },
      reason: 'stopped',
    });
    expect(doubled, 'what was done in time is not done again').toBeLessThanOrEqual(interrupted);
    if (noticed && name !== perhapsUnnoticed) expect(failures.length).toBeGreaterThan(0);
    if (!noticed) expect(failures).toEqual([]);
    for (const failure of failures) expect(failure).toMatchObject({ error: { name: 'LongshoreError' } });
    await backend.close();
  });
});
