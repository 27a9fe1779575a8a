/**
 * Regular work for batches: enqueues callbacks that a dead process did not, and finds children whose end no attempt has counted. Such children
 * were cancelled or expired while they waited, were removed, or their worker died between two writes.
 */

import type { BatchState, ChildEnd } from '../../contract/derived/batches.ts';
import { childId } from '../../envelope/flow-ids.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { forEach } from '../../kit/parallel.ts';
import { believed } from '../../kit/records/believe.ts';
import { cancelSome, endOfRecord } from './cancel.ts';
import { complete } from './complete.ts';

type BatchClient = Pick<Client, 'app' | 'backend' | 'stores'>;

/** A child without a record may be in the queue if its record was not written. After this time it counts as gone. */
const goneMs = 3_600_000;
/** The most children of a batch that one pass checks. */
const mostChildren = 1_000;

/** Where the next pass over a batch continues. */
const nextFrom = new Map<string, number>();

/** Resolves with the number of children checked. If one of the batches could not be checked, it rejects after it has checked the others. */
export async function checkUp(client: BatchClient, states: readonly BatchState[]): Promise<number> {
  let children = 0;
  const errors: unknown[] = [];
  for (const state of states) {
    try {
      if (state.completedAt !== null) await complete(client, state.id);
      else children += await findEnds(client, state);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
  return children;
}

async function findEnds(client: BatchClient, state: BatchState): Promise<number> {
  const { id: batch } = state;
  const { records, batches } = client.stores;
  if (records.recordsDisabled) return 0;
  const from = nextFrom.get(batch) ?? 0;
  const numbers = await batches!.unended(batch, from, mostChildren);
  nextFrom.delete(batch);
  if (numbers.length === mostChildren) nextFrom.set(batch, numbers.at(-1)! + 1);
  if (state.cancelledAt !== null) {
    await cancelSome(client, batches!, batch, numbers);
    return numbers.length;
  }
  const isLongQuiet = client.app.clock.now() - state.changedAt >= goneMs;
  const ends: ChildEnd[] = [];
  await forEach(numbers, async (number) => {
    const record = believed(client.app, await records.get(childId(batch, number)));
    const isGone = record === null && isLongQuiet && number < state.sent;
    const end = record ? endOfRecord(record) : isGone ? { failed: true } : null;
    if (end) ends.push({ batch, number, ...end });
  });
  if (ends.length > 0) for (const done of await batches!.ended(ends)) await complete(client, done);
  return numbers.length;
}
