/**
 * pg-boss with its best settings: batches of 500, fetched without a pause while they come back full, no maintenance
 * meanwhile. It keeps completed jobs for days and has no setting that deletes them at once.
 */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { payload } from '../kit/app.ts';
import type { Opened, Place } from '../kit/contender.ts';
import type { Host } from '../kit/task.ts';
import { drained } from './drained.ts';

interface Boss {
  on(event: 'error', listener: (error: Error) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string): Promise<void>;
  send(name: string, data: object): Promise<unknown>;
  insert(name: string, jobs: readonly { data: object; startAfter?: Date }[]): Promise<unknown>;
  work(name: string, options: object, handle: (jobs: readonly unknown[]) => Promise<void>): Promise<string>;
  offWork(name: string): Promise<void>;
  stop(options: object): Promise<void>;
}

interface Library {
  readonly PgBoss: new (options: object) => Boss;
}

const name = 'bench';
/** More fetch side by side, but then steal from one another: this is its best on two cores. */
const localConcurrency = 2;

export async function pgBoss({ url, schema }: Place, host: Host): Promise<Opened> {
  const require = createRequire(join(host.folder, 'package.json'));
  const { PgBoss } = (await import(pathToFileURL(require.resolve('pg-boss')).href)) as Library;
  const boss = new PgBoss({ connectionString: url, schema, supervise: false, schedule: false });
  boss.on('error', (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue(name);
  return {
    sendOne: (n, at) => boss.send(name, payload(n, at)),
    sendMany(from, count, delayMs) {
      const when = delayMs > 0 ? { startAfter: new Date(Date.now() + delayMs) } : {};
      return boss.insert(
        name,
        Array.from({ length: count }, (_, i) => ({ data: payload(from + i), ...when })),
      );
    },
    async work({ count, together }, watch) {
      let ran = 0;
      const all = Promise.withResolvers<void>();
      const options = {
        batchSize: 500,
        localConcurrency,
        pollingIntervalSeconds: 0.5,
        burstWhenBatchFull: true,
      };
      watch.start();
      await boss.work(name, options, async (jobs) => {
        ran += jobs.length;
        if (ran === count) all.resolve();
      });
      const left = `${schema}.job WHERE state < 'completed'`;
      await (together ? drained(require, url, left, () => ran) : all.promise);
      await boss.offWork(name); // waits until the last batch is settled
      watch.stop();
      return ran;
    },
    listen: () => Promise.reject(new Error('The latency of pg-boss is not measured.')),
    close: () => boss.stop({ graceful: false }),
  };
}
