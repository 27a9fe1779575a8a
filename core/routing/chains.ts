/** Chains of an app with several backends: each is kept by the one that its jobs belong to. */

import type { App } from '../app/app.ts';
import type { Chains } from '../app/chain.ts';
import type { Job } from '../app/job.ts';
import type { Client } from '../enqueue/client.ts';
import { backendOf } from './belongs.ts';

/** The name of the backend that its first job belongs to. */
export function homeOfChain(app: App, links: readonly unknown[]): string {
  const first = [Array.isArray(links) ? links[0] : null].flat()[0] as { readonly job?: Job } | Job | null;
  const job = typeof first === 'object' && first !== null && 'job' in first ? first.job : (first as Job);
  return typeof job === 'object' && job !== null ? backendOf(app, job) : 'default';
}

export function chainsOfAll(clients: ReadonlyMap<string, Client>): Chains {
  const all = [...clients.values()];
  const keeping = all.filter(({ stores }) => !stores.records.keepsNothing);

  async function keeperOf(id: string): Promise<Client> {
    for (const client of keeping) if (await client.chains.get(id)) return client;
    return keeping[0] ?? all[0]!;
  }

  return {
    get: async (id) => (await keeperOf(id)).chains.get(id),
    cancel: async (id) => (await keeperOf(id)).chains.cancel(id),
  };
}
