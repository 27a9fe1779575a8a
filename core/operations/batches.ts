/** Batches in the hands of an operator. */

import { LongshoreError } from '../base/errors.ts';
import type { BatchChildPage, BatchDetail, ChildrenRequest } from '../features/batches/show.ts';
import { audited } from './audited.ts';
import type { OperatorHost } from './host.ts';

/** Throws `NOT_FOUND`. Resolves with `false` when all of its children have ended. */
export async function cancelBatch(host: OperatorHost, id: string): Promise<boolean> {
  await known(host, id);
  return audited(host, 'batch.cancel', id, async (tell) => {
    const result = await host.client.batches.cancel(id);
    if (result === 'cancelled') tell(1);
    else tell(0, 'All of its children had ended.');
    return result === 'cancelled';
  });
}

/** Throws `NOT_FOUND` or `BATCH`. Resolves with how many children run again. */
export async function retryBatch(host: OperatorHost, id: string): Promise<number> {
  await known(host, id);
  return audited(host, 'batch.retry', id, async (tell) => {
    const count = await host.client.batches.retryFailed(id);
    tell(count);
    return count;
  });
}

export async function show({ client }: OperatorHost, id: string): Promise<BatchDetail | null> {
  return (await load()).showBatch(client, id);
}

/** Throws `NOT_FOUND`. */
export async function children(
  { client }: OperatorHost,
  id: string,
  request?: ChildrenRequest,
): Promise<BatchChildPage> {
  const page = await (await load()).batchChildren(client, id, request);
  if (page) return page;
  throw noBatch(id);
}

const load = () => import('../features/batches/show.ts');

async function known({ client }: OperatorHost, id: string): Promise<void> {
  if (!(await client.batches.get(id))) throw noBatch(id);
}

const noBatch = (id: string): LongshoreError =>
  new LongshoreError('NOT_FOUND', `There is no batch ${JSON.stringify(id.slice(0, 96))} here.`);
