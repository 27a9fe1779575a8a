/** bee-queue, with events off and finished jobs removed. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { payload } from '../kit/app.ts';
import type { Opened, Place } from '../kit/contender.ts';
import type { Host } from '../kit/task.ts';

interface Job {
  readonly data: { at: number };
  save(): Promise<unknown>;
}

type Library = new (
  name: string,
  settings: object,
) => {
  ready(): Promise<unknown>;
  createJob(data: object): Job;
  saveAll(jobs: readonly Job[]): Promise<Map<Job, Error>>;
  process(concurrency: number, handle: (job: Job) => Promise<void>): void;
  on(event: string, listener: (...args: unknown[]) => void): void;
  close(timeoutMs?: number): Promise<void>;
};

export async function beeQueue({ url, schema }: Place, host: Host): Promise<Opened> {
  const require = createRequire(join(host.folder, 'package.json'));
  const Queue = require('bee-queue') as Library;
  const open = async (isWorker: boolean) => {
    const queue = new Queue('bench', {
      prefix: schema,
      redis: { url },
      isWorker,
      getEvents: false,
      sendEvents: false,
      storeJobs: false,
      removeOnSuccess: true,
    });
    await queue.ready();
    return queue;
  };
  const sender = await open(false);

  return {
    sendOne: (n, at) => sender.createJob(payload(n, at)).save(),
    async sendMany(from, count) {
      const jobs = Array.from({ length: count }, (_, i) => sender.createJob(payload(from + i)));
      const [failed] = (await sender.saveAll(jobs)).values();
      if (failed) throw failed;
    },
    async work({ concurrency, count }, watch) {
      let ran = 0;
      const all = Promise.withResolvers<void>();
      const worker = await open(true);
      worker.on('error', (error) => all.reject(error));
      worker.on('succeeded', () => {
        if (++ran === count) all.resolve();
      });
      watch.start();
      worker.process(concurrency, async () => {});
      await all.promise;
      watch.stop();
      await worker.close();
      return ran;
    },
    async listen(handle) {
      const worker = await open(true);
      worker.process(10, async ({ data }) => handle(data.at));
      return () => worker.close();
    },
    close: () => sender.close(),
  };
}
