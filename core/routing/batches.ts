/** Batches of an app with several backends: the backend of its jobs keeps a batch. */

import { endNames } from '../envelope/flow-ids.ts';
import type { AnyBatchOptions } from '../features/batches/check.ts';
import type { App } from '../kernel/app/app.ts';
import type { Batch, Batches } from '../kernel/app/batch.ts';
import type { Job } from '../kernel/app/job.ts';
import { backendOf } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { firstOf } from './first-of.ts';

/** The name of the backend that keeps the batch: the backend of its job, else of its first callback, else `default`. */
export function homeOfBatch(app: App, options: AnyBatchOptions): string {
  const jobs = [options?.job, ...endNames.map((end) => options?.[end])] as (Job | undefined)[];
  const first = jobs.find((job) => typeof job === 'object' && job !== null);
  return first ? backendOf(app, first) : 'default';
}

export function batchesOfAll(clients: ReadonlyMap<string, Client>): Omit<Batches, 'watch'> {
  const all = [...clients.values()].filter(({ stores }) => stores.batches);

  async function keeperOf(id: string): Promise<Client> {
    const keeps = async (client: Client) => ((await client.batches.get(id)) ? client : null);
    const keeper = all.length > 0 ? await firstOf(all, keeps, (found) => found !== null) : null;
    return keeper ?? all[0] ?? [...clients.values()][0]!;
  }

  return {
    get: async (id) => (await keeperOf(id)).batches.get(id),
    async list({ after, max = 100 } = {}) {
      const last = after === undefined ? null : await (await keeperOf(after)).batches.get(after);
      const before = last?.createdAt ?? Infinity;
      const some = await Promise.all(all.map((client) => olderOf(client.batches, before, max, after)));
      return some
        .flat()
        .sort((a, b) => b.createdAt - a.createdAt)
        .slice(0, max);
    },
    cancel: async (id) => (await keeperOf(id)).batches.cancel(id),
    retryFailed: async (id) => (await keeperOf(id)).batches.retryFailed(id),
  };
}

/** The batches of one backend that are older than the last batch of the previous page, which another backend may keep. */
async function olderOf(batches: Batches, before: number, max: number, last?: string): Promise<Batch[]> {
  const found: Batch[] = [];
  for (let after: string | undefined; ; ) {
    const page = await batches.list({ ...(after !== undefined && { after }), max });
    found.push(...page.filter(({ id, createdAt }) => createdAt <= before && id !== last));
    after = page.at(-1)?.id;
    if (page.length < max || found.length >= max) return found;
  }
}
