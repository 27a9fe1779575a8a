/** A worker under load while the disk of its server is full. */

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { postgres } from '../../local/backends/postgres/index.ts';
import { until } from '../until.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { jobsOfLoad, keysOfLoad, startLoad } from './load.ts';
import { mountSmallDisk } from './small-disk.ts';

const disk = await mountSmallDisk(160);
/** Only root may mount a disk. Where all tests must run, being unable to is a failure. */
const mayRefuse = !process.env.CI;
const reason = 'refused' in disk ? `not tried, because no disk could be mounted: ${disk.refused}` : '';
/** What is stored while there is no room. */
const moreJobs = 300;

let cluster: Cluster | null = null;
afterAll(async () => {
  await cluster?.remove();
  if (!('refused' in disk)) await disk.remove();
});

/** A server that needs another file of its log and has no room for it stops: that is another story, which operations.md tells. */
async function freshLog(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('SELECT pg_switch_wal()');
  await client.query('CHECKPOINT'); // which writes into the new file, so that it is there
  await client.end();
}

describe.skipIf(mayRefuse && reason !== '')(`a worker whose server has a full disk ${reason}`, () => {
  it('goes on by itself when there is room, and loses nothing', { timeout: 90_000 }, async () => {
    if ('refused' in disk) throw new Error(disk.refused);
    cluster = await startCluster({ under: disk.folder });
    const backend = postgres(cluster.url);
    const load = await startLoad(backend);
    await freshLog(cluster.superuserUrl);
    await disk.fill();
    const producing = load.enqueue(moreJobs);
    const told = () => load.events.filter((event) => event.type === 'backend.failed');
    await until(() => told().some(({ error }) => error.code === 'STORAGE_FULL'));
    await delay(1_000); // the trouble itself
    await disk.free();
    await producing;
    const { doubled: _, ...outcome } = await load.finish();
    expect(outcome).toEqual({
      statuses: { completed: jobsOfLoad + moreJobs },
      deadLetters: 0,
      overlaps: 0,
      ackedPerKey: { 1: keysOfLoad },
      reason: 'stopped',
    });
    await backend.close();
  });
});
