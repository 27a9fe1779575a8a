/** The queues whose workers are crashed, by name, so that a worker process can be told which to open. */

import type { QueueBackend } from '../../core/contract.ts';
import { sqs } from '../../functions/aws/index.ts';
import { beanstalkd } from '../../local/backends/beanstalkd/index.ts';
import { postgres } from '../../local/backends/postgres/index.ts';
import { redis } from '../../local/backends/redis/index.ts';
import { sqlite, sqliteStore } from '../../local/backends/sqlite/index.ts';

/** Each takes its address: a path or a URL. */
export const openers = {
  sqlite: (path: string): QueueBackend => sqlite(path),
  postgres: (url: string): QueueBackend => postgres(url),
  /** Endpoint, queue and the file of the store that stands beside it, as JSON. */
  sqs: (address: string): QueueBackend => {
    const { endpoint, url, state } = JSON.parse(address) as Record<'endpoint' | 'url' | 'state', string>;
    const backend = sqs({ endpoint, queues: { default: url }, longPollMs: 1_000 });
    return { ...backend, stores: sqliteStore(state) };
  },
  /** URL and the file of the store that stands beside it, as JSON. */
  beanstalkd: (address: string): QueueBackend => {
    const { url, state } = JSON.parse(address) as Record<'url' | 'state', string>;
    return beanstalkd({ url, store: sqliteStore(state) });
  },
  redis: (url: string): QueueBackend => redis(url),
};

export type BackendName = keyof typeof openers;
