/** A worker under load while the disk of its server is full. */

import { setTimeout as delay } from 'node:timers/promises';
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

describe.skipIf(mayRefuse && reason !== '')(`a worker whose server has a full disk ${reason}`, () => {
  it('goes on by itself when there is room, and loses nothing', { timeout: 90_000 }, async () => {
    if ('refused' in disk) throw new Error(disk.refused);
    cluster = await startCluster({ under: disk.folder });
    const backend = postgres(cluster.url);
    const load = await startLoad(backend);
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
