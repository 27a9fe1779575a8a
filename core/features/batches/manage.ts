/** Operations on batches. */

import { config, LongshoreError } from '../../base/errors.ts';
import { childId } from '../../envelope/flow-ids.ts';
import type { Batch, Batches } from '../../kernel/app/batch.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { forEach } from '../../kit/parallel.ts';
import { cancelChildren } from './cancel.ts';
import { storeOf } from './check.ts';
import { complete } from './complete.ts';
import { retryDeadLetters } from './retry-dead-letters.ts';
import { viewOf } from './view.ts';

type BatchClient = Pick<Client, 'app' | 'backend' | 'stores'>;

const sliceSize = 1_000;

export const batchesOf = (client: BatchClient): Omit<Batches, 'watch'> => ({
  get: (id) => getBatch(client, id),
  list: (page) => listBatches(client, page),
  cancel: (id) => cancelBatch(client, id),
  retryFailed: (id) => retryFailed(client, id),
});

async function getBatch(client: BatchClient, id: string): Promise<Batch | null> {
  const state = await storeOf(client).get(id);
  return state && viewOf(state, client.app.clock.now());
}

async function listBatches(
  client: BatchClient,
  page: { readonly after?: string; readonly max?: number } = {},
): Promise<readonly Batch[]> {
  const now = client.app.clock.now();
  return (await storeOf(client).list(page)).map((state) => viewOf(state, now));
}

async function cancelBatch(client: BatchClient, id: string): Promise<'cancelled' | 'finished' | 'unknown'> {
  const store = storeOf(client);
  if (client.stores.records.recordsDisabled)
    throw config(
      `Backend "${client.backend.name}" keeps no records, so it cannot find children by id. Give it a store.`,
    );
  const state = await store.cancel(id);
  if (!state) return (await store.get(id)) ? 'finished' : 'unknown';
  await cancelChildren(client, id);
  await complete(client, id);
  return 'cancelled';
}

async function retryFailed(client: BatchClient, id: string): Promise<number> {
  const store = storeOf(client);
  const state = await store.get(id);
  if (!state) throw new LongshoreError('NOT_FOUND', `There is no batch ${JSON.stringify(id)} here.`);
  if (!state.sealed)
    throw new LongshoreError(
      'BATCH',
      `Batch ${id} was not sent completely. Finish or cancel it before you retry its children.`,
    );
  let count = 0;
  for (let from = 0; ; ) {
    const failed = await store.failed(id, from, sliceSize);
    if (failed.length === 0) return count;
    from = failed.at(-1)! + 1;
    const dead = await deadOf(client, id, failed);
    // Reopen before the letters are retried: a child that ends at once must not find the mark of its former end.
    await store.reopen(id, dead);
    count += await retryDeadLetters(
      client,
      dead.map((number) => childId(id, number)),
      new Map(),
    );
  }
}

/** The children with a dead letter. Cancelled, expired and discarded children cannot run again. */
async function deadOf(client: BatchClient, batch: string, numbers: readonly number[]): Promise<number[]> {
  const dead: number[] = [];
  await forEach(numbers, async (number) => {
    const record = await client.stores.records.get(childId(batch, number));
    if (record?.status === 'failed') dead.push(number);
  });
  return dead.sort((a, b) => a - b);
}
