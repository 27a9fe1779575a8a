/**
 * A job that ends its process (out of memory, `process.exit`) takes the others of its event with it. Lambda brings all of them again, at the
 * same moment and with an attempt less, so one such job would kill healthy ones. So a message that came before, and of which no end was
 * recorded, runs alone.
 */

import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { receiptOf } from '../sqs/leases.ts';
import type { Item } from './batch.ts';

/** Finds the messages that may have ended their process, or lost their time, when they ran last. */
export async function suspectsAmong(client: Client, items: readonly Item[]): Promise<Item[]> {
  const found = await Promise.all(
    items.map(async (item) => receiptOf(item.lease).suspect === true && !(await isExcused(client, item))),
  );
  return items.filter((_, i) => found[i]);
}

/** Its record says that the attempt before has ended, or that none has begun. What is not known is no excuse. */
async function isExcused({ stores }: Client, { lease }: Item): Promise<boolean> {
  const record = await stores.records.get(receiptOf(lease).id).catch(() => null);
  return record !== null && record.status !== 'processing';
}
