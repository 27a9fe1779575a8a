/** A timer of the cloud's: removes what is past its retention, rolls up numbers and looks at batches, as a polling worker does in its sweep. */

import { lookAtBatches } from '../batches/look.ts';
import type { Client } from '../enqueue/client.ts';

/** Stops after about so long, however much there is: the next call goes on. */
const longestMs = 120_000;

/** Answers how many records and keys it has removed. */
export function createPurgeHandler(client: Client): () => Promise<number> {
  const { app, stores } = client;
  const { clock } = app;
  return async () => {
    const until = clock.now() + longestMs;
    let removed = 0;
    for (let step = 1; step > 0 && clock.now() < until; removed += step) step = await stores.records.purge();
    const { audit } = stores;
    while (audit && clock.now() < until && (await audit.purge(clock.now())) > 0);
    if (stores.metrics) await (await import('../metrics/roll-up.ts')).rollUp(app, stores);
    if (stores.batches) await lookAtBatches(client);
    return removed;
  };
}
