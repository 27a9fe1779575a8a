/** The queues whose workers are crashed, by name, so that a worker process can be told which to open. */

import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';

interface Opened {
  readonly backend: QueueBackend;
  /** Beside a queue that keeps no state: never part of the backend, whose ack would then have to complete the keys too. */
  readonly store?: Stores;
}

/** Each takes its address: a path or a URL. A worker loads its own alone, because many are started. */
export const openers = {
  async sqlite(path: string): Promise<Opened> {
    const { sqlite } = await import('../../../local/backends/sqlite/index.ts');
    return { backend: sqlite(path) };
  },
  async postgres(url: string): Promise<Opened> {
    const { postgres } = await import('../../../local/backends/postgres/index.ts');
    return { backend: postgres(url) };
  },
  /** Endpoint, queue and the file of the store that stands beside it, as JSON. */
  async sqs(address: string): Promise<Opened> {
    const { sqs } = await import('../../../functions/aws/index.ts');
    const { endpoint, url, state } = JSON.parse(address) as Record<'endpoint' | 'url' | 'state', string>;
    const backend = sqs({ endpoint, queues: { default: url }, longPollMs: 1_000 });
    return { backend, store: await storeAt(state) };
  },
  /** URL and the file of the store that stands beside it, as JSON. */
  async beanstalkd(address: string): Promise<Opened> {
    const { beanstalkd } = await import('../../../local/backends/beanstalkd/index.ts');
    const { url, state } = JSON.parse(address) as Record<'url' | 'state', string>;
    return { backend: beanstalkd({ url, store: await storeAt(state) }) };
  },
  async redis(url: string): Promise<Opened> {
    const { redis } = await import('../../../local/backends/redis/index.ts');
    return { backend: redis(url) };
  },
};

export type BackendName = keyof typeof openers;

async function storeAt(path: string): Promise<Stores> {
  const { sqliteStore } = await import('../../../local/backends/sqlite/index.ts');
  return sqliteStore(path);
}
