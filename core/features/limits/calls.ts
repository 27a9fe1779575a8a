/** Combines the calls of one turn of the event loop into one call of the store: a worker begins and ends many jobs at once. */

import { within } from '../../base/clock.ts';
import { config, LongshoreError } from '../../base/errors.ts';
import type { SlotAnswer, SlotRequest, TakenSlot } from '../../contract/derived/limits.ts';
import { patienceOf } from '../../kernel/attempt/answered.ts';
import type { Attempt } from '../../kernel/attempt/attempt.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { promoteWaiters } from './wake.ts';

type Call<T, R> = (it: Attempt, item: T) => Promise<R>;

interface Calls {
  readonly take: Call<SlotRequest, SlotAnswer>;
  /** Also wakes waiters that may run now. */
  readonly free: Call<readonly TakenSlot[], void>;
  /** The keys for which this name is a waiter. */
  readonly waitsFor: Call<string, readonly string[]>;
}

const callsOf = new WeakMap<Client, Calls>();

/** Each call rejects with `BACKEND` if there is no answer for a third of the lease. */
export function callsTo(client: Client): Calls {
  let calls = callsOf.get(client);
  if (!calls) {
    const { limits } = client.stores;
    // The batch was sent by a process whose store has limits.
    if (!limits)
      throw config(
        `The job has a limit, but backend "${client.backend.name}" keeps none here: give the worker the same store as the sender.`,
      );
    calls = {
      take: gathered((requests) => limits.take(requests)),
      free: gathered(async (groups) => {
        await promoteWaiters(client, await limits.free(groups.flat()));
        return [];
      }),
      waitsFor: gathered((holders) => limits.waitsFor(holders)),
    };
    callsOf.set(client, calls);
  }
  return calls;
}

function gathered<T, R>(call: (items: readonly T[]) => Promise<readonly R[]>): Call<T, R> {
  let items: T[] = [];
  let answers: Promise<readonly R[]> | null = null;
  return async (it, item) => {
    const at = items.push(item) - 1;
    // One timer for all calls: the leases of a worker have the same length.
    answers ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      const all = items;
      items = [];
      answers = null;
      const patienceMs = patienceOf(it);
      return within(it.app.clock, patienceMs, call(all), () => {
        throw new LongshoreError('BACKEND', `The store of limits gave no answer for ${patienceMs} ms.`);
      });
    });
    return (await answers)[at]!;
  };
}
