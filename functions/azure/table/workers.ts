import type { WorkerRegistry } from '../../../core/contract/store.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { forgetWorkerMs, workerRegistry } from '../../../core/kit/worker-registry.ts';
import type { Table } from './api.ts';
import { momentText, workersPartition as partition, safe, textOf, textProperties } from './layout.ts';

/** A list shows no more than these. */
const most = 10_000;
const every = { partition, from: '', to: '\u{fffd}' };

export interface PurgedRegistry extends WorkerRegistry {
  /** Removes some of those not seen for a day. */
  purge(now: number): Promise<void>;
}

export function tableWorkers(table: Table): PurgedRegistry {
  return {
    ...workerRegistry({
      write: ({ id, seenAt }, beat) =>
        table.call('writing a heartbeat', (api) => {
          const row = { partitionKey: partition, rowKey: safe(id), seen: momentText(seenAt) };
          return api.put({ ...row, ...textProperties(beat) });
        }),
      read: (seenSince) =>
        table.call('listing workers', async (api) => {
          const above = ['seen', momentText(seenSince - 1)] as const;
          return (await api.range({ ...every, above, max: most })).map(textOf);
        }),
      remove: (id) => table.call('removing a worker', (api) => api.remove(partition, safe(id))),
    }),
    purge: (now) =>
      table.call('purging', async (api) => {
        const range = { ...every, atMost: ['seen', momentText(now - forgetWorkerMs)] as const, max: 100 };
        await forEach(await api.range(range), ({ rowKey, etag }) => api.remove(partition, rowKey, etag));
      }),
  };
}
