/** Marks children as ended. Marks of one turn of the event loop, and those made during the previous call, share one call of the store. */

import { reportingFailures } from '../../base/failure.ts';
import type { ChildEnd } from '../../contract/derived/batches.ts';
import { childOf } from '../../envelope/flow-ids.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import type { CallingClient } from './calls.ts';
import { complete } from './complete.ts';

type Mark = (end: ChildEnd) => Promise<void>;

const marksOf = new WeakMap<Client, Mark>();

/** Also enqueues the callbacks of a batch that this completes. Rejects if the store does. */
export function markEnded(client: Client, end: ChildEnd): Promise<void> {
  let mark = marksOf.get(client);
  if (!mark) {
    mark = grouped(client);
    marksOf.set(client, mark);
  }
  return mark(end);
}

export async function markAllEnded(client: CallingClient, ends: readonly ChildEnd[]): Promise<void> {
  for (const id of await client.stores.batches!.ended(ends)) await complete(client, id);
}

/** A child that never runs has failed. */
export async function markGone(client: CallingClient, ids: readonly string[]): Promise<void> {
  const ends = ids.flatMap((id) => childOf(id) ?? []).map((child) => ({ ...child, failed: true }));
  const write = () => markAllEnded(client, ends);
  await reportingFailures(client.app.events, 'counting children of batches', ids, write, 'batch');
}

interface Group {
  readonly ends: ChildEnd[];
  readonly done: PromiseWithResolvers<void>;
}

function grouped(client: Client): Mark {
  let group: Group | null = null;
  let isBusy = false;

  async function flush(): Promise<void> {
    const { ends, done } = group!;
    group = null;
    try {
      await markAllEnded(client, ends);
      done.resolve();
    } catch (error) {
      done.reject(error);
    }
    isBusy = group !== null;
    if (isBusy) setImmediate(flush);
  }

  return (end) => {
    group ??= { ends: [], done: Promise.withResolvers() };
    group.ends.push(end);
    if (!isBusy) {
      isBusy = true;
      setImmediate(flush);
    }
    return group.done.promise;
  };
}
