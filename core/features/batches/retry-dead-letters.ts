import { reportingFailures } from '../../base/failure.ts';
import type { Replacement } from '../../contract/admin.ts';
import { childOf } from '../../envelope/flow-ids.ts';
import { deadLettersOf } from '../../kernel/enqueue/admin-of.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { getDeadLetters } from '../../kit/records/dead-letter-pages.ts';

/** Makes letters ready again, and updates stores that are separate from the queue. Resolves with the number of letters. */
export async function retryDeadLetters(
  client: Pick<Client, 'app' | 'backend' | 'stores'>,
  ids: readonly string[],
  replaced: ReadonlyMap<string, Replacement>,
): Promise<number> {
  if (ids.length === 0) return 0;
  const deadLetters = deadLettersOf(client);
  await reopenBatches(client, ids);
  const count = await deadLetters.retry(ids, replaced.size > 0 ? replaced : undefined);
  const { writer } = client.stores.records;
  if (writer?.retried && count > 0) {
    // If some vanished meanwhile, the retried ones are those that are no longer dead letters.
    const left = count < ids.length ? await getDeadLetters(deadLetters, ids) : new Map();
    const retried = ids.filter((id) => !left.has(id));
    await reportingFailures(client.app.events, 'recording retries', retried, async () =>
      writer.retried!(retried, replaced),
    );
  }
  return count;
}

/**
 * Called before the letters are ready: a child that ends at once must not find the mark of its former end. A child that is not retried after all
 * is marked again.
 */
async function reopenBatches({ stores }: Pick<Client, 'stores'>, ids: readonly string[]): Promise<void> {
  const children = ids.flatMap((id) => childOf(id) ?? []);
  for (const [batch, some] of Map.groupBy(children, (child) => child.batch))
    await stores.batches?.reopen(
      batch,
      some.map(({ number }) => number),
    );
}
