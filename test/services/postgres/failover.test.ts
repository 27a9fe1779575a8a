/** A worker under load whose server is lost for good, and a standby takes its place. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { startProxy } from '../../kit/network/proxy.ts';
import { until } from '../../kit/until.ts';
import { type Cluster, standbySettings, startCluster } from './cluster.ts';
import { jobsOfLoad, keysOfLoad, runSql, startLoad } from './load.ts';

let primary: Cluster | undefined;
let standby: Cluster | undefined;
/** Stands for the name or address that a failover moves. */
let address: Awaited<ReturnType<typeof startProxy>> | undefined;
beforeAll(async () => {
  primary = await startCluster({ fsync: false, settings: standbySettings });
  standby = await startCluster({ fsync: false, settings: standbySettings, standbyOf: primary });
  address = await startProxy(primary.url);
});
afterAll(async () => {
  await address?.close();
  await standby?.remove();
  await primary?.remove();
});

/** From now on a commit counts when the standby has it: else nobody could ask for nothing to be lost. */
async function waitForStandby({ superuserUrl }: Cluster): Promise<void> {
  await runSql(superuserUrl, `ALTER SYSTEM SET synchronous_standby_names = '*'`);
  await runSql(superuserUrl, 'SELECT pg_reload_conf()');
  const sql = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`;
  await until(async () => (await runSql(superuserUrl, sql)).length === 1);
}

it('a worker goes on with the standby, and loses nothing', async () => {
  await waitForStandby(primary!);
  const backend = postgres({ url: address!.url });
  const load = await startLoad(backend);
  const producing = load.enqueue(100);
  await primary!.stop('immediate');
  address!.lead(standby!.url);
  await runSql(standby!.superuserUrl, 'SELECT pg_promote()'); // answers when it is done
  await load.enqueue(1); // to be run there, whatever has been run before
  await producing;
  // Runs whose claims had not reached the standby are begun again there, so here some may be doubled.
  const { doubled: _, overlaps: __, interrupted: ___, ...outcome } = await load.finish();
  expect(outcome).toEqual({
    statuses: { completed: jobsOfLoad + 101 },
    deadLetters: 0,
    ackedPerKey: { 1: keysOfLoad },
    reason: 'stopped',
  });
  expect(load.events).toContainEqual(expect.objectContaining({ type: 'backend.failed' }));
  await backend.close();
});
