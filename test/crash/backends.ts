/** The queues whose workers are crashed, by name, so that a worker process can be told which to open. */

import type { QueueBackend } from '../../core/contract.ts';
import { postgres } from '../../local/backends/postgres/index.ts';
import { sqlite } from '../../local/backends/sqlite/index.ts';

/** Each takes its address: a path or a URL. */
export const openers = {
  sqlite: (path: string): QueueBackend => sqlite(path),
  postgres: (url: string): QueueBackend => postgres(url),
};

export type BackendName = keyof typeof openers;
