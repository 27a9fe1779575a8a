/** Cancels the unfinished children of a batch, and finds ends of children that no attempt has counted. */

import type { BatchStore, ChildEnd } from '../../contract/derived/batches.ts';
import type { JobRecord } from '../../contract/store.ts';
import { childId } from '../../envelope/flow-ids.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { forgetJobs } from '../../kernel/enqueue/parts.ts';
import { forEach } from '../../kit/parallel.ts';
import { believed } from '../../kit/records/believe.ts';
import { complete } from './complete.ts';

type BatchClient = Pick<Client, 'app' | 'backend' | 'stores'>;

const sliceSize = 1_000;

/** `null` = the job has not ended. */
export function endOfRecord({ status }: JobRecord): { readonly failed: boolean } | null {
  if (status === 'completed') return { failed: false };
  const isOver = status === 'failed' || status === 'cancelled' || status === 'expired';
  return isOver ? { failed: true } : null;
}

/** Cancels all unfinished children. Running ones are aborted and end with their attempt. */
export async function cancelChildren(client: BatchClient, id: string): Promise<void> {
  const store = client.stores.batches!;
  for (let from = 0; ; ) {
    const numbers = await store.unended(id, from, sliceSize);
    if (numbers.length === 0) return;
    await cancelSome(client, store, id, numbers);
    from = numbers.at(-1)! + 1;
  }
}

export async function cancelSome(
  client: BatchClient,
  store: BatchStore,
  batch: string,
  numbers: readonly number[],
): Promise<void> {
  const { records } = client.stores;
  const ends: ChildEnd[] = [];
  await forEach(numbers, async (number) => {
    const id = childId(batch, number);
    const result = await records.cancel(id);
    if (result === 'cancelled') await forgetJobs(client, [id], 'batch');
    // An unknown child was never sent, or was removed.
    const isKnown = result === 'finished' || result === 'cancelling';
    const record = isKnown ? believed(client.app, await records.get(id)) : null;
    const end = record ? endOfRecord(record) : { failed: true };
    if (end) ends.push({ batch, number, ...end });
  });
  for (const done of await store.ended(ends)) await complete(client, done);
}
