import type { WorkerBeat, WorkerRegistry } from '../../../core/contract/store.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import type { Table } from './api.ts';
import { momentText, workersPartition as partition, safe, textOf, textProperties } from './layout.ts';

/** A worker not seen for a day is gone. */
const forgetMs = 86_400_000;
/** More than these are not listed. */
const most = 10_000;
const every = { partition, from: '', to: '\u{fffd}' };

export interface PurgedRegistry extends WorkerRegistry {
  /** Removes some of those not seen for a day. */
  purge(now: number): Promise<void>;
}

export function tableWorkers(table: Table): PurgedRegistry {
  return {
    heartbeat: (beat) =>
      table.call('writing a heartbeat', (api) => {
        const row = { partitionKey: partition, rowKey: safe(beat.id), seen: momentText(beat.seenAt) };
        return api.put({ ...row, ...textProperties(JSON.stringify(beat)) });
      }),
    list: (seenSince) =>
      table.call('listing workers', async (api) => {
        const found = await api.range({ ...every, above: ['seen', momentText(seenSince - 1)], max: most });
        const beats = found.map((entity) => JSON.parse(textOf(entity)) as WorkerBeat);
        return beats.filter(({ seenAt }) => seenAt >= seenSince).sort((a, b) => a.startedAt - b.startedAt);
      }),
    remove: (id) =>
      table.call('removing a worker', async (api) => {
        await api.remove(partition, safe(id));
      }),
    purge: (now) =>
      table.call('purging', async (api) => {
        const range = { ...every, atMost: ['seen', momentText(now - forgetMs)] as const, max: 100 };
        await forEach(await api.range(range), ({ rowKey, etag }) => api.remove(partition, rowKey, etag));
      }),
  };
}
