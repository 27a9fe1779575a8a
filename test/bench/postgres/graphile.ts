/**
 * graphile-worker with its best settings: a local queue, completions grouped per turn of the event loop, no line of
 * log per job. It deletes a job when it is done.
 */

import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { nowMs, type Payload, payload } from '../kit/app.ts';
import type { Opened, Place } from '../kit/contender.ts';
import type { Host } from '../kit/task.ts';
import { drained } from './drained.ts';

interface Graphile {
  readonly Logger: new (factory: () => () => void) => object;
  makeWorkerUtils(options: object): Promise<Utils>;
  run(options: object): Promise<{ readonly promise: Promise<void>; stop(): Promise<void> }>;
}

interface Utils {
  migrate(): Promise<void>;
  addJob(name: string, payload: Payload): Promise<unknown>;
  addJobs(jobs: readonly { identifier: string; payload: Payload; runAt?: Date }[]): Promise<unknown>;
  release(): Promise<void>;
}

/** As shipped. Longer than a drain, so that after the last job nothing uses the pool for a while. */
const pollInterval = 2_000;
const identifier = 'bench';

export async function graphile({ url, schema }: Place, host: Host): Promise<Opened> {
  process.env.NO_LOG_SUCCESS = '1';
  const require = createRequire(join(host.folder, 'package.json'));
  const library = (await import(pathToFileURL(require.resolve('graphile-worker')).href)) as Graphile;
  const { Pool } = require('pg') as typeof import('pg');
  const pool = new Pool({ connectionString: url, max: 10 });
  const fail = (error: Error): never => {
    throw error;
  };
  pool.on('error', fail).on('connect', (client) => void client.on('error', fail));
  const shared = { pgPool: pool, schema, logger: new library.Logger(() => () => {}) };
  const utils = await library.makeWorkerUtils(shared);
  await utils.migrate();

  const start = (
    handle: (payload: Payload) => void,
    concurrency: number,
    settings: object,
    events: EventEmitter,
  ) =>
    library.run({
      ...shared,
      events,
      taskList: { [identifier]: async (data: Payload) => handle(data) },
      noHandleSignals: true,
      preset: { worker: { concurrentJobs: concurrency, pollInterval, ...settings } },
    });

  return {
    sendOne: (n, at) => utils.addJob(identifier, payload(n, at)),
    sendMany(from, count, delayMs) {
      const when = delayMs > 0 ? { runAt: new Date(Date.now() + delayMs) } : {};
      return utils.addJobs(
        Array.from({ length: count }, (_, i) => ({ identifier, payload: payload(from + i), ...when })),
      );
    },
    async work({ concurrency }, watch) {
      const batched = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
      let ran = 0;
      let releasedAt = 0;
      const events = new EventEmitter().once('localQueue:init', watch.start);
      // It does not tell when a job is gone. Its last statement gives a connection back to the pool.
      pool.on('release', () => (releasedAt = nowMs()));
      const runner = await start(() => void ran++, concurrency, batched, events);
      const stopped = runner.promise.then(() => {
        throw new Error('graphile-worker stopped by itself.');
      });
      await Promise.race([drained(require, url, `${schema}._private_jobs`, () => ran), stopped]);
      watch.stop(releasedAt);
      stopped.catch(() => {}); // now it is meant to
      await runner.stop();
      return ran;
    },
    async listen(handle) {
      const runner = await start(({ at }) => handle(at), 10, {}, new EventEmitter());
      return () => runner.stop();
    },
    async close() {
      await utils.release();
      await pool.end();
    },
  };
}
