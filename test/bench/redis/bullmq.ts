/** BullMQ, with as little beside the work as it allows: completed jobs are removed, nobody looks for stalled ones. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { payload } from '../kit/app.ts';
import type { Opened, Place } from '../kit/contender.ts';
import type { Host } from '../kit/task.ts';

interface Library {
  readonly Queue: new (
    name: string,
    options: object,
  ) => {
    waitUntilReady(): Promise<unknown>;
    add(name: string, data: object): Promise<unknown>;
    addBulk(jobs: readonly { name: string; data: object; opts?: object }[]): Promise<unknown>;
    close(): Promise<void>;
  };
  readonly Worker: new (
    name: string,
    handle: (job: { data: { at: number } }) => Promise<void>,
    options: object,
  ) => {
    waitUntilReady(): Promise<unknown>;
    run(): Promise<void>;
    on(event: string, listener: (...args: unknown[]) => void): void;
    close(force?: boolean): Promise<void>;
  };
}

const name = 'bench';

export async function bullmq({ url, schema }: Place, host: Host): Promise<Opened> {
  const require = createRequire(join(host.folder, 'package.json'));
  const { Queue, Worker } = require('bullmq') as Library;
  const { Redis } = require('ioredis') as {
    Redis: new (url: string, options: object) => { quit(): Promise<unknown> };
  };
  const connections = [0, 1].map(() => new Redis(url, { maxRetriesPerRequest: null }));
  const shared = { prefix: schema };
  const queue = new Queue(name, {
    ...shared,
    connection: connections[0],
    defaultJobOptions: { removeOnComplete: true },
  });
  await queue.waitUntilReady();

  const start = (concurrency: number, handle: (at: number) => void) =>
    new Worker(name, async ({ data }) => handle(data.at), {
      ...shared,
      connection: connections[1],
      concurrency,
      autorun: false,
      skipStalledCheck: true,
    });

  return {
    sendOne: (n, at) => queue.add(name, payload(n, at)),
    sendMany: (from, count, delay) =>
      queue.addBulk(
        Array.from({ length: count }, (_, i) => ({ name, data: payload(from + i), opts: { delay } })),
      ),
    async work({ concurrency, count }, watch) {
      let ran = 0;
      const all = Promise.withResolvers<void>();
      const worker = start(concurrency, () => {});
      worker.on('error', (error) => all.reject(error));
      worker.on('completed', () => {
        if (++ran === count) all.resolve();
      });
      await worker.waitUntilReady();
      watch.start();
      void worker.run();
      await all.promise;
      watch.stop();
      await worker.close();
      return ran;
    },
    async listen(handle) {
      const worker = start(10, handle);
      await worker.waitUntilReady();
      void worker.run();
      return () => worker.close(true);
    },
    async close() {
      await queue.close();
      await Promise.all(connections.map((connection) => connection.quit().catch(() => {})));
    },
  };
}
