/** The queues whose workers are crashed, by name, so that a worker process can be told which to open. */

import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { sqs } from '../../../functions/aws/index.ts';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { redis } from '../../../local/backends/redis/index.ts';
import { sqlite, sqliteStore } from '../../../local/backends/sqlite/index.ts';

interface Opened {
  readonly backend: QueueBackend;
  /** Beside a queue that keeps no state: never part of the backend, whose ack would then have to complete the keys too. */
  readonly store?: Stores;
}

/** Each takes its address: a path or a URL. */
export const openers = {
  sqlite: (path: string): Opened => ({ backend: sqlite(path) }),
  postgres: (url: string): Opened => ({ backend: postgres(url) }),
  /** Endpoint, queue and the file of the store that stands beside it, as JSON. */
  sqs: (address: string): Opened => {
    const { endpoint, url, state } = JSON.parse(address) as Record<'endpoint' | 'url' | 'state', string>;
    const backend = sqs({ endpoint, queues: { default: url }, longPollMs: 1_000 });
    return { backend, store: sqliteStore(state) };
  },
  /** URL and the file of the store that stands beside it, as JSON. */
  beanstalkd: (address: string): Opened => {
    const { url, state } = JSON.parse(address) as Record<'url' | 'state', string>;
    return { backend: beanstalkd({ url, store: sqliteStore(state) }) };
  },
  redis: (url: string): Opened => ({ backend: redis(url) }),
};

export type BackendName = keyof typeof openers;
