/** A worker under load while the disk of its server is full. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { jobsOfLoad, keysOfLoad, runSql, startLoad } from './load.ts';
import { mountSmallDisk } from './small-disk.ts';

const disk = await mountSmallDisk(160);
/** What is stored while there is no room. */
const moreJobs = 300;

let cluster: Cluster | null = null;
afterAll(async () => {
  await cluster?.remove();
  await disk.remove();
});

/** While there is room for it: so that the server does not need another file of its log as soon as the disk is full. */
async function freshLog(url: string): Promise<void> {
  await runSql(url, 'SELECT pg_switch_wal()');
  await runSql(url, 'CHECKPOINT'); // which writes into the new file, so that it is there
}

interface Trouble {
  /** When there is no room. */
  during(cluster: Cluster): Promise<void>;
  readonly code: string;
  /** When there is room again. */
  after(cluster: Cluster): Promise<void>;
}

const troubles: Record<string, Trouble> = {
  'goes on by itself when there is room': {
    during: () => delay(1_000), // the trouble itself
    code: 'STORAGE_FULL',
    after: async () => {},
  },
  'goes on when a server has been started again that had no room for its log': {
    async during({ superuserUrl }) {
      // Every one needs another file. The server dies of the first for which there is no room, and cannot recover.
      const next = () => runSql(superuserUrl, 'SELECT pg_switch_wal(), txid_current()');
      const isGone = ({ code }: { code?: string }) => code === 'ECONNREFUSED';
      await until(() => next().then(() => false, isGone));
    },
    code: 'BACKEND',
    after: (dead) => dead.restart('immediate'),
  },
};

describe('a worker whose server has a full disk', () => {
  it.for(Object.entries(troubles))('%s, and loses nothing', async ([name, trouble]) => {
    cluster ??= await startCluster({ under: disk.folder });
    const backend = postgres({ url: cluster.url, schema: `s${Object.keys(troubles).indexOf(name)}` });
    const load = await startLoad(backend);
    // So that the worker has jobs left when the disk is full: one without would be told nothing.
    await backend.admin!.setPaused('default', true);
    await freshLog(cluster.superuserUrl);
    await disk.fill();
    await backend.admin!.setPaused('default', false);
    const producing = load.enqueue(moreJobs);
    try {
      await trouble.during(cluster);
      const told = () => load.events.filter((event) => event.type === 'backend.failed');
      await until(async () => {
        await disk.fill(); // again, because the server may have given some of it back
        return told().some(({ error }) => error.code === trouble.code);
      });
    } finally {
      await disk.free();
    }
    await trouble.after(cluster);
    await producing;
    const { doubled: _, interrupted: __, ...outcome } = await load.finish();
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
