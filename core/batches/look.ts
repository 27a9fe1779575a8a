/** What a worker asks now and then. What it does for the batches that it finds is loaded with the first of them. */

import type { Client } from '../enqueue/client.ts';

export const lookEveryMs = 60_000;
/** A batch that goes on is left alone. */
const quietMs = 60_000;
const mostBatches = 20;

/** Resolves with how many batches it has looked at. */
export async function lookAtBatches(client: Pick<Client, 'app' | 'backend' | 'stores'>): Promise<number> {
  const request = { quietMs, everyMs: lookEveryMs, max: mostBatches };
  const states = await client.stores.batches!.toCheck(request);
  if (states.length > 0) await (await import('./check-up.ts')).checkUp(client, states);
  return states.length;
}
