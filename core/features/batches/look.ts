/** Looks for stalled batches. The code that repairs them is loaded when the first one is found. */

import { door } from '../../base/lazy.ts';
import type { Client } from '../../kernel/enqueue/client.ts';

export const code = door(() => import('./door.ts'));

/** A batch with recent progress is skipped. With one look per minute, an uncounted end is found within a minute and a half. */
const quietMs = 30_000;
const pageSize = 20;
/** Limits one look. Each batch also counts as some children, because it is read itself. */
const mostChildren = 20_000;
const childrenPerBatch = 20;

/** Resolves with the number of batches checked. The next look starts with other ones. */
export async function lookAtBatches(client: Pick<Client, 'app' | 'backend' | 'stores'>): Promise<number> {
  const request = { quietMs, everyMs: quietMs, max: pageSize };
  let looked = 0;
  for (let children = 0; children < mostChildren; ) {
    const states = await client.stores.batches!.toCheck(request);
    if (states.length === 0) break;
    looked += states.length;
    children += states.length * childrenPerBatch;
    children += await code(({ checkUp }) => checkUp(client, states));
    if (states.length < pageSize) break;
  }
  return looked;
}
