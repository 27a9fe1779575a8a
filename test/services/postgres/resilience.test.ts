/** A worker under load while its server goes away and comes back, in all the ways that servers do. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { jobsOfLoad, keysOfLoad, type Load, runSql, startLoad, terminate } from './load.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ fsync: false });
}, 120_000);
afterAll(() => cluster.remove());

/** Each resolves when the server is there again. How long a worker waits before it looks is a matter of test/unit/worker. */
const disturbances: Record<string, (load: Load) => Promise<void>> = {
  async 'restarts in order'() {
    await cluster.restart('fast');
  },
  async 'crashes and recovers'() {
    await cluster.restart('immediate');
  },
  async 'is away for three seconds'() {
    await cluster.stop();
    await delay(3_000); // the outage itself
    await cluster.start();
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
  },
  async 'lets no statement take longer than a millisecond for a while'() {
    const superuser = new URL(cluster.superuserUrl);
    superuser.pathname = 'longshore';
    await runSql(superuser.href, `ALTER ROLE longshore SET statement_timeout = '1ms'`);
    await terminate(superuser.href);
    await delay(1_000); // the trouble itself
    await runSql(superuser.href, 'ALTER ROLE longshore RESET statement_timeout');
  },
};

describe('a worker under load whose server', () => {
  let schemas = 0;

  it.each(Object.entries(disturbances))('%s goes on and loses nothing', async (_name, disturb) => {
    const backend = postgres({ url: cluster.url, schema: `s${++schemas}` });
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
    expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) expect(failure).toMatchObject({ error: { name: 'LongshoreError' } });
    await backend.close();
  });
});
