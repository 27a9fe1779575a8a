/** `client.chain()`: enqueues the first link, which carries all others. */

import { idsOf } from '../../envelope/flow-ids.ts';
import type { ChainOptions, StartedChain } from '../../kernel/app/chain.ts';
import { currentContext } from '../../kernel/app/context.ts';
import { complete } from '../batches/complete.ts';
import { startLink } from '../batches/start-link.ts';
import { type ChainClient, checkedLinks } from './check.ts';

export async function sendChain(
  client: ChainClient,
  given: readonly unknown[],
  payload: unknown,
  options: ChainOptions = {},
): Promise<StartedChain> {
  const links = checkedLinks(client, given, options);
  const id = options.id ?? client.app.newId();
  const context = options.context ?? currentContext() ?? null;
  const started = await startLink(client, { id, link: 1, links }, payload, context, options.tx);
  if (started.complete !== null) await complete(client, started.complete);
  const ids = links.map((link, i) => {
    const all = idsOf(id, i + 1, link);
    return Array.isArray(link) ? all : all[0]!;
  });
  return { id, ids, ...(started.duplicate && { duplicate: true }) } as StartedChain;
}
