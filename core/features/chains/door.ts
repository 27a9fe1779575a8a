/** Loaded with the first chain. */

import { linkId } from '../../envelope/flow-ids.ts';
import type { Chain, Chains } from '../../kernel/app/chain.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { chainOf } from './view.ts';

export { handOn } from './hand-on.ts';
export { isolatedChain } from './isolated.ts';
export { sendChain } from './send.ts';
export { linkBefore } from './view.ts';

type ChainsClient = Pick<Client, 'app' | 'stores' | 'backend' | 'cancel' | 'batches'>;

export const chainsOf = (client: ChainsClient): Chains => ({
  get: (id) => getChain(client, id),
  cancel: (id) => cancelChain(client, id),
});

const getChain = ({ app, stores, backend }: ChainsClient, id: string): Promise<Chain | null> =>
  chainOf(app, stores.records, backend.name, id);

/** Cancels the chain. Repeats for a link that was started meanwhile. */
async function cancelChain(
  client: ChainsClient,
  id: string,
): Promise<'cancelled' | 'cancelling' | 'finished' | 'unknown'> {
  for (let before = 0; ; ) {
    const chain = await getChain(client, id);
    if (!chain) return 'unknown';
    const { state, link, links } = chain;
    if (state === 'cancelled') return 'cancelled';
    if (state !== 'running') return before > 0 && state !== 'completed' ? 'cancelled' : 'finished';
    if (link === before) return 'cancelling';
    before = link;
    const { jobs } = links[link - 1]!;
    if (jobs.length > 1 || jobs[0]!.id.startsWith('batch.')) await client.batches.cancel(linkId(id, link));
    else await client.cancel(jobs[0]!.id);
  }
}
