/** A timer of the cloud's: removes what is past its retention and rolls up numbers, as a polling worker does in its sweep. */

import { rollUp } from '../features/metrics/roll-up.ts';
import type { Client } from '../kernel/enqueue/client.ts';

/** Stops after about so long, however much there is: the next call goes on. */
const longestMs = 120_000;

/** Answers how many records and keys it has removed. */
export function createPurgeHandler({ app, stores }: Client): () => Promise<number> {
  const { clock } = app;
  return async () => {
    const until = clock.now() + longestMs;
    let removed = 0;
    for (let step = 1; step > 0 && clock.now() < until; removed += step) step = await stores.records.purge();
    const { audit } = stores;
    while (audit && clock.now() < until && (await audit.purge(clock.now())) > 0);
    if (stores.metrics) await rollUp(app, stores);
    return removed;
  };
}
