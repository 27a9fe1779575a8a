/** Looks for stalled batches. The code that mends them is loaded with the first of them. */

import { door } from '../../base/lazy.ts';
import type { Client } from '../../kernel/enqueue/client.ts';

export const code = door(() => import('./door.ts'));

/** A batch with progress is left alone. With one look a minute, an uncounted end is found within a minute and a half. */
const quietMs = 30_000;
const pageSize = 20;
/** Bounds one look. Each batch counts as some children beside its own, because it is read too. */
const mostChildren = 20_000;
const childrenPerBatch = 20;

/** Resolves with how many batches it has looked at. Others than these come first in the next look. */
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
