/** A worker under load while its server goes away and comes back, in all the ways that servers do. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { jobsOfLoad, keysOfLoad, type Load, runSql, startLoad, terminate } from './load.ts';

/** A worker notices within 1 s that its server is back (its longest pause), and needs a moment to connect. */
const resumedWithinMs = 2_000;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ fsync: false });
}, 60_000);
afterAll(() => cluster.remove());

/** Each resolves with the moment (epoch ms) at which the server was there again. */
const disturbances: Record<string, (load: Load) => Promise<number>> = {
  async 'restarts in order'() {
    await cluster.restart('fast');
    return Date.now();
  },
  async 'crashes and recovers'() {
    await cluster.restart('immediate');
    return Date.now();
  },
  async 'is away for three seconds'() {
    await cluster.stop();
    await delay(3_000); // the outage itself
    await cluster.start();
    return Date.now();
  },
  async 'ends all connections, again and again'(load) {
    for (let i = 0; i < 5; i++) {
      await load.ended(60 * (i + 1));
      expect(await terminate(cluster.url)).toBeGreaterThan(0);
    }
    // By chance none of them may have had a statement under way; one shall.
    await until(async () => {
      await terminate(cluster.url);
      return load.events.some(({ type }) => type === 'backend.failed');
    });
    return Date.now();
  },
  async 'lets no statement take longer than a millisecond for a while'() {
    const superuser = new URL(cluster.superuserUrl);
    superuser.pathname = 'longshore';
    await runSql(superuser.href, `ALTER ROLE longshore SET statement_timeout = '1ms'`);
    await terminate(superuser.href);
    await delay(1_000); // the trouble itself
    await runSql(superuser.href, 'ALTER ROLE longshore RESET statement_timeout');
    return Date.now();
  },
};

describe('a worker under load whose server', () => {
  let schemas = 0;

  it.each(Object.entries(disturbances))(
    '%s goes on and loses nothing',
    { timeout: 60_000 },
    async (_name, disturb) => {
      const backend = postgres({ url: cluster.url, schema: `s${++schemas}` });
      const load = await startLoad(backend);
      const from = Date.now();
      const producing = load.enqueue(100);
      const backAt = await disturb(load);
      const failures = load.events.filter(({ type }) => type === 'backend.failed');
      expect((await load.begunSince(backAt)) - backAt).toBeLessThan(resumedWithinMs);
      await producing;
      const { doubled, ...outcome } = await load.finish();

      expect(outcome).toEqual({
        statuses: { completed: jobsOfLoad + 100 },
        deadLetters: 0,
        overlaps: 0,
        ackedPerKey: { 1: keysOfLoad },
        reason: 'stopped',
      });
      // An ack is tried again while the lease lasts, so what was done before the trouble is not done again.
      if (backAt - from < 1_000) expect(doubled).toBe(0);
      expect(failures.length).toBeGreaterThan(0);
      // At most ten acks at once, a fetch, and the seldom calls: none of them may be tried without a pause.
      expect(failures.length).toBeLessThan(25 + ((backAt - from) / 1000) * 10);
      for (const failure of failures) expect(failure).toMatchObject({ error: { name: 'LongshoreError' } });
      await backend.close();
    },
  );
});
