/** Calls of one turn of the event loop as one call of the store: a worker begins and ends many jobs at once. */

import type { LimitStore, SlotAnswer, SlotRequest, SlotWaiter, TakenSlot } from '../contract/limits.ts';

interface Calls {
  take(request: SlotRequest): Promise<SlotAnswer>;
  /** Resolves with the waiters of all that were freed with it; one of the callers gets them. */
  free(slots: readonly TakenSlot[]): Promise<readonly SlotWaiter[]>;
}

const callsOf = new WeakMap<LimitStore, Calls>();

export function callsTo(store: LimitStore): Calls {
  let calls = callsOf.get(store);
  if (!calls) {
    calls = {
      take: gathered((requests: readonly SlotRequest[]) => store.take(requests)),
      free: gathered(async (groups: readonly (readonly TakenSlot[])[]) => {
        const waiters = await store.free(groups.flat());
        return groups.map((_, i) => (i === 0 ? waiters : []));
      }),
    };
    callsOf.set(store, calls);
  }
  return calls;
}

function gathered<T, R>(call: (items: readonly T[]) => Promise<readonly R[]>): (item: T) => Promise<R> {
  let items: T[] = [];
  let answers: Promise<readonly R[]> | null = null;
  return async (item) => {
    const at = items.push(item) - 1;
    answers ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      const all = items;
      items = [];
      answers = null;
      return call(all);
    });
    return (await answers)[at]!;
  };
}
