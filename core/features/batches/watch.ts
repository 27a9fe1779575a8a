import type { Clock } from '../../base/clock.ts';
import type { Batch } from '../../kernel/app/batch.ts';
import type { WatchOptions } from '../../kernel/app/options.ts';
import { changes, gone, lookOften } from '../../kernel/enqueue/watch.ts';

/** Yields the progress of a batch each time it changed, until the batch has ended. */
export const watchBatch = (
  clock: Clock,
  get: (id: string) => Promise<Batch | null>,
  id: string,
  { signal }: WatchOptions = {},
): AsyncGenerator<Batch, void> =>
  changes(
    lookOften(clock, () => get(id), signal),
    {
      // The estimates change with the time.
      factsOf: (batch) => JSON.stringify({ ...batch, perSecond: null, etaMs: null }),
      hasEnded: ({ completedAt }) => completedAt !== null,
      missing: () => gone('batch', id),
    },
  );
