/** Batches: jobs that belong together, and the jobs that are enqueued when they have ended. */

import type { Clock } from '../../base/clock.ts';
import { verbsOf } from '../../base/lazy.ts';
import { childOf } from '../../envelope/flow-ids.ts';
import type { Batches } from '../../kernel/app/batch.ts';
import type { EndStep } from '../../kernel/attempt/attempt.ts';
import type { Feature } from '../feature.ts';
import { code, lookAtBatches } from './look.ts';

export const batchVerbs = ['get', 'list', 'cancel', 'retryFailed'] as const;

type BatchVerbs = Pick<Batches, (typeof batchVerbs)[number]>;

/** Adds the verb that is not a promise. */
export const watchable = (clock: Clock, batches: BatchVerbs): Batches => ({
  ...batches,
  async *watch(id, options) {
    yield* await code(({ watchBatch }) => watchBatch(clock, batches.get, id, options));
  },
});

const counted: EndStep = {
  for: ({ envelope, ports }) =>
    envelope?.identifier.startsWith('batch.') === true && ports.client.stores.batches !== undefined,
  settle: (it, end, next) => code(({ markEnd }) => markEnd(it, end, next)),
};

export const batches = {
  end: { count: counted },
  chores: [
    {
      name: 'looking at batches',
      scope: 'backend',
      everyMs: 60_000,
      onTimer: 'batch',
      for: ({ stores }) => stores.batches !== undefined,
      load:
        ({ client }) =>
        () =>
          lookAtBatches(client),
    },
  ],
  client: (client) => ({
    batch: (...batch) => code(({ sendBatch }) => sendBatch(client, ...batch)),
    batches: watchable(
      client.app.clock,
      verbsOf<BatchVerbs>(batchVerbs, async () => code(({ batchesOf }) => batchesOf(client))),
    ),
  }),
  async forget(client, ids, by) {
    const mayBeChildren = by !== 'batch' && client.stores.batches && ids.some((id) => childOf(id) !== null);
    if (mayBeChildren) await code(({ markGone }) => markGone(client, ids));
  },
  context: {
    batch: {
      of:
        (it, ctx) =>
        (...batch) =>
          code(({ batchInJob }) => batchInJob(it, ctx.context, ...batch)),
      isolated: () => code(({ isolatedBatch }) => isolatedBatch),
    },
    waitForBatch: {
      of:
        (it) =>
        (...wait) =>
          code(({ waitForBatch }) => waitForBatch(it, ...wait) as never),
      isolated: () => code(({ isolatedWaitForBatch }) => isolatedWaitForBatch),
    },
  },
} satisfies Feature;
