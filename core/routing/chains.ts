/** Chains of an app with several backends: the backend of its jobs keeps a chain. */

import type { App } from '../kernel/app/app.ts';
import type { Chains } from '../kernel/app/chain.ts';
import type { Job } from '../kernel/app/job.ts';
import { backendOf } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { firstOf } from './first-of.ts';

/** The name of the backend of the first job. */
export function homeOfChain(app: App, links: readonly unknown[]): string {
  const first = [Array.isArray(links) ? links[0] : null].flat()[0] as { readonly job?: Job } | Job | null;
  const job = typeof first === 'object' && first !== null && 'job' in first ? first.job : (first as Job);
  return typeof job === 'object' && job !== null ? backendOf(app, job) : 'default';
}

export function chainsOfAll(clients: ReadonlyMap<string, Client>): Chains {
  const all = [...clients.values()];
  const keeping = all.filter(({ stores }) => !stores.records.recordsDisabled);

  return {
    async get(id) {
      // A client without records throws an error that says so.
      if (keeping.length === 0) return all[0]!.chains.get(id);
      return firstOf(
        keeping,
        (client) => client.chains.get(id),
        (chain) => chain !== null,
      );
    },
    async cancel(id) {
      if (keeping.length === 0) return all[0]!.chains.cancel(id);
      return firstOf(
        keeping,
        (client) => client.chains.cancel(id),
        (result) => result !== 'unknown',
      );
    },
  };
}
